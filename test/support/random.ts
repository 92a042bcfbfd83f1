/** Of a whole test file. */
let drawn: number | undefined;

/** A seed for a random test, printed so that a failure can be run again with `GATE_TEST_SEED`: all of a file have the same. Mulberry32. */
export function seededRandom(name: string): { readonly seed: number; next(): number; pick<T>(from: readonly T[]): T } {
  const seed = Number(process.env['GATE_TEST_SEED'] ?? (drawn ??= Math.floor(Math.random() * 2 ** 32))) >>> 0;
  process.stderr.write(`${name}: GATE_TEST_SEED=${seed}\n`);
  // By its name too, so that two of a file do not draw alike.
  let state = seed;
  for (const letter of name) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x0100_0193) >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { seed, next, pick: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number] };
}
