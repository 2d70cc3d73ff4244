export type Unit = 'piece' | 'kilogram' | 'metre';

const symbols: Record<Unit, string> = { piece: 'pc', kilogram: 'kg', metre: 'm' };

/** `2 kg`, `1 pc`. */
export function quantity(amount: number, unit: Unit): string {
  return `${amount} ${symbols[unit]}`;
}
