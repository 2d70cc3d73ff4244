export declare const words: Record<'en' | 'de', { total: string; each: string }>;
