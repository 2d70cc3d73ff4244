import { describe } from '@example/catalog';
import { format } from '@example/money';
import { column, label, type Language } from '@example/text';

export function receipt(cart: [name: string, amount: number][], language: Language): string {
  const lines = cart.map(([name, amount]) => describe(name, amount));
  const total = lines.reduce((sum, line) => sum + line.cents, 0);
  return [...lines.map((line) => line.text), `${column(label(language, 'total'), 8)}${format(total)}`].join('\n');
}
