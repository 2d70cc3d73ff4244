import { line, type Price } from '@example/money';
import { column } from '@example/text';

export interface Item {
  name: string;
  price: Price;
}

export const items: Item[] = [
  { name: 'apples', price: { cents: 199, per: 'kilogram' } },
  { name: 'rope', price: { cents: 450, per: 'metre' } },
  { name: 'bag', price: { cents: 20, per: 'piece' } },
];

export function describe(name: string, amount: number): { text: string; cents: number } {
  const item = items.find((candidate) => candidate.name === name);
  if (!item) throw new Error(`no item called ${name}`);
  const { text, cents } = line(item.price, amount);
  return { text: `${column(item.name, 8)}${text}`, cents };
}
