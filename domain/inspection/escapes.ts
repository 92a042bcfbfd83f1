/** Two rounds decode escapes inside percent-encoding inside escapes. Nobody reads a third level by accident. */
const DECODING_ROUNDS = 2;

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const SPACE = 0x20;
const ENTITIES: Readonly<Record<string, string>> = {
  nbsp: ' ',
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  shy: '',
  zwj: '',
  zwnj: '',
};

/** The text an escape stands for, and its length in characters. */
interface Decoded {
  readonly text: string;
  readonly length: number;
}

/**
 * Decodes escapes of JSON and JavaScript (`\u0069`, `\u{69}`, `\x69`, `\n`), percent-encoding (RFC 3986) and HTML character references.
 * Invalid escapes stay unchanged. Linear: one pass per round, at most two rounds.
 */
export function decodeEscapes(text: string): string {
  let decoded = text;
  for (let round = 0; round < DECODING_ROUNDS; round += 1) {
    const before = decoded;
    decoded = decodeOnce(before);
    if (decoded === before) break;
  }
  return decoded;
}

function decodeOnce(text: string): string {
  if (!text.includes('\\') && !text.includes('%') && !text.includes('&')) return text;
  const out = new Uint16Array(text.length);
  let end = 0;
  const write = (decoded: string): void => {
    for (let index = 0; index < decoded.length; index += 1) out[end++] = decoded.charCodeAt(index);
  };
  let index = 0;
  while (index < text.length) {
    const unit = text.charCodeAt(index);
    const decoded =
      unit === BACKSLASH
        ? backslash(text, index)
        : unit === PERCENT
          ? percent(text, index)
          : unit === AMPERSAND
            ? entity(text, index)
            : null;
    if (decoded === null) {
      out[end++] = unit;
      index += 1;
    } else {
      write(decoded.text);
      index += decoded.length;
    }
  }
  return Buffer.from(out.buffer, 0, end * 2).toString('utf16le');
}

function backslash(text: string, at: number): Decoded | null {
  switch (text[at + 1]) {
    case 'u':
    case 'U': {
      if (text[at + 2] !== '{') return hexEscape(text, at + 2, 4, at);
      // At most six digits come before the brace. Searching to the end of the text for every escape would be quadratic.
      const close = text.slice(at + 3, at + 10).indexOf('}') + at + 3;
      if (close <= at + 3) return null;
      const braced = hexEscape(text, at + 3, close - at - 3, at);
      return braced && { text: braced.text, length: braced.length + 1 };
    }
    case 'x':
    case 'X':
      return hexEscape(text, at + 2, 2, at);
    case 'n':
    case 'r':
    case 't':
    case 'b':
    case 'f':
      return { text: ' ', length: 2 };
    default:
      return null;
  }
}

function hexEscape(text: string, from: number, digits: number, at: number): Decoded | null {
  const point = hex(text, from, digits);
  return point < 0 ? null : { text: character(point), length: from + digits - at };
}

/** A run of percent-encoded bytes, read as UTF-8. */
function percent(text: string, at: number): Decoded | null {
  const bytes: number[] = [];
  let index = at;
  while (text.charCodeAt(index) === PERCENT) {
    const byte = hex(text, index + 1, 2);
    if (byte < 0) break;
    bytes.push(byte);
    index += 3;
  }
  if (bytes.length === 0) return null;
  const ascii = bytes.every((byte) => byte < 0x80);
  return {
    text: ascii && bytes.length === 1 ? String.fromCharCode(bytes[0] as number) : Buffer.from(bytes).toString('utf8'),
    length: index - at,
  };
}

function entity(text: string, at: number): Decoded | null {
  const found = /^&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,4}));?/i.exec(text.slice(at, at + 10));
  if (found === null) return null;
  const [match, hexDigits, decimals, name] = found;
  const known = name === undefined ? undefined : ENTITIES[name.toLowerCase()];
  if (name !== undefined && known === undefined) return null;
  const decoded = known ?? character(hexDigits === undefined ? Number(decimals) : Number.parseInt(hexDigits, 16));
  return { text: decoded, length: match.length };
}

/** The value of `digits` hex digits; -1 when one of them is not a hex digit. */
function hex(text: string, from: number, digits: number): number {
  let value = 0;
  for (let index = from; index < from + digits; index += 1) {
    const unit = text.charCodeAt(index) | SPACE;
    if (unit >= 0x30 && unit <= 0x39) value = value * 16 + unit - 0x30;
    else if (unit >= 0x61 && unit <= 0x66) value = value * 16 + unit - 0x57;
    else return -1;
  }
  return value;
}

const character = (point: number): string => (point <= 0x10ffff ? String.fromCodePoint(point) : ' ');

/** The characters of a text in reverse order; surrogate pairs stay whole. */
export function reversed(text: string): string {
  const out = new Uint16Array(text.length);
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    const next = text.charCodeAt(index + 1);
    if (unit >= 0xd800 && unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) {
      out[text.length - index - 2] = unit;
      out[text.length - index - 1] = next;
      index += 1;
    } else out[text.length - index - 1] = unit;
  }
  return Buffer.from(out.buffer).toString('utf16le');
}
