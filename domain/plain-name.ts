import { skeletonsOf } from './skeleton.js';

/** Longer names are read as they stand. */
export const LONGEST_READ = 512;
/** A name encoded in itself more often than this stays encoded; `%` and `\` make no word. */
const ENCODED = 8;
const NOT_ASCII = /[^\0-\x7f]/;

/**
 * A name as somebody reads it who decodes it and looks at its letters: `delete%5Ffile`, `delete\u005ffile`, `delete&#95;file`, `dеlete_file`
 * with a letter of another alphabet and one with an invisible character are `delete_file`. A name that hides nothing is returned as it is.
 */
export function plainReading(name: string): string {
  if (name.length > LONGEST_READ) return name;
  let plain = name;
  for (let time = 0; time < ENCODED; time += 1) {
    const before = plain;
    if (/[%\\&]/.test(plain)) plain = decoded(plain);
    // A `＼` or `％` that was encoded is one of these only when it is read as a letter.
    if (NOT_ASCII.test(plain)) plain = skeletonsOf([plain]).plain.trim();
    if (plain === before) break;
  }
  return plain;
}

const decoded = (name: string): string =>
  name
    .replaceAll(/(?:%[0-9a-f]{2}){1,512}/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'))
    .replaceAll(/\\u([0-9a-f]{4})|\\x([0-9a-f]{2})/gi, (_, four?: string, two?: string) => pointOf(four ?? two, 16))
    .replaceAll(/&#x([0-9a-f]{1,6});|&#([0-9]{1,7});/gi, (_, hex?: string, digits?: string) =>
      hex === undefined ? pointOf(digits, 10) : pointOf(hex, 16),
    );
function pointOf(digits: string | undefined, base: 10 | 16): string {
  const point = Number.parseInt(digits ?? '', base);
  return point <= 0x10ffff ? String.fromCodePoint(point) : '';
}
