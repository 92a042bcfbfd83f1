/** A million of them are a unit of the currency. */
const MICROS = 1_000_000;
const SUM = /^(\d{1,10})(?:\.(\d{1,6}))?$/;

/** The micro-units of a sum that a person types, as `12.50`; `undefined` for any other text. */
export function microsOf(sum: string): number | undefined {
  const [, units, parts = ''] = SUM.exec(sum) ?? [];
  if (units === undefined) return undefined;
  const micros = Number(units) * MICROS + Number(parts.padEnd(6, '0'));
  return Number.isSafeInteger(micros) ? micros : undefined;
}

/** The same for a person to read: two decimals, or as many as it has. */
export function toldMicros(micros: number): string {
  const [whole, part] = [Math.floor(Math.abs(micros) / MICROS), Math.abs(micros) % MICROS];
  const decimals = String(part)
    .padStart(6, '0')
    .replace(/0{1,4}$/, '');
  return `${micros < 0 ? '-' : ''}${whole}.${decimals}`;
}
