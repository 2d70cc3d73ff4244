import { words } from '@example/locale';

export type Language = keyof typeof words;

export function label(language: Language, word: 'total' | 'each'): string {
  return words[language][word];
}

/** Pads on the right so that columns line up. */
export function column(text: string, width: number): string {
  return text.padEnd(width, ' ');
}
