// Random numbers that a seed repeats (xorshift over 64 bits, scrambled).

const MASK = (1n << 64n) - 1n;

export class Random {
  constructor(seed) {
    this.state = (BigInt(seed) * 0x9e3779b97f4a7c15n + 0x2545f4914f6cdd1dn) & MASK || 1n;
    for (let i = 0; i < 8; i++) this.next();
  }
  next() {
    let s = this.state;
    s ^= s >> 12n;
    s ^= (s << 25n) & MASK;
    s ^= s >> 27n;
    this.state = s;
    return Number(((s * 0x2545f4914f6cdd1dn) & MASK) >> 33n);
  }
  /** 0 … n - 1. */
  below(n) {
    return this.next() % n;
  }
  chance(percent) {
    return this.below(100) < percent;
  }
  pick(list) {
    return list[this.below(list.length)];
  }
  /** A subset that keeps the order. */
  some(list, percent = 50) {
    return list.filter(() => this.chance(percent));
  }
  /** One of [[weight, value], …]. */
  weighted(table) {
    let at = this.below(table.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of table) if ((at -= weight) < 0) return value;
    return table[0][1];
  }
}
