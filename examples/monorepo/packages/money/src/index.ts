import { quantity, type Unit } from '@example/units';

/** Amounts are whole cents: sums stay exact. */
export interface Price {
  cents: number;
  per: Unit;
}

export function format(cents: number): string {
  const whole = Math.trunc(cents / 100);
  return `${whole}.${String(Math.abs(cents % 100)).padStart(2, '0')}`;
}

export function line(price: Price, amount: number): { text: string; cents: number } {
  const cents = Math.round(price.cents * amount);
  return { text: `${quantity(amount, price.per)} at ${format(price.cents)}: ${format(cents)}`, cents };
}
