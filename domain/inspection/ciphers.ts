/** How much of a text is decoded. Within `most` characters in all, and what came out once more where `levels` is 2. */
export interface DecodingBounds {
  readonly most: number;
  readonly levels: 1 | 2;
}

const SHORTEST_BASE64 = /[a-z0-9+/_-]{16,}={0,2}/gi;
/** What is left of lines for the last one. */
const LAST_LINE = /\r?\n([a-z0-9+/_-]{1,15}={0,2})(?![a-z0-9+/_-])/iy;
/** Twelve bytes in hex, with or without something between them; shorter runs say nothing. */
const SHORTEST_HEX_BYTES = 12;

/** The texts that are written in base64, in hex or in ROT13 in a text. What does not decode to readable text is data and hides nothing. */
export function deciphered(text: string, { most, levels }: DecodingBounds): string[] {
  const found: string[] = [];
  let left = most;
  const take = (source: string): string[] => {
    const inside = [...base64In(source, left), ...hexIn(source, left), ...rot13In(source, left)];
    for (const one of inside) left -= one.length;
    found.push(...inside);
    return inside;
  };
  const first = take(text);
  if (levels === 2) for (const one of first) if (left > 0) take(one);
  return found;
}

/**
 * What runs of base64 and base64url say, within so many characters: each by itself, and lines of one (RFC 2045) together. Linear: each run is decoded twice at most.
 */
export function base64In(text: string, most = text.length): string[] {
  const decoded: string[] = [];
  let left = most;
  let lines: string[] = [];
  const read = (run: string): void => {
    const candidate = Buffer.from(run, 'base64').toString('utf8');
    if (isReadable(candidate)) decoded.push(candidate);
  };
  let end = -1;
  const readLines = (): void => {
    LAST_LINE.lastIndex = end;
    const rest = lines.length > 0 ? LAST_LINE.exec(text)?.[1] : undefined;
    if (rest !== undefined) lines.push(rest);
    if (lines.length > 1) read(lines.join(''));
    lines = [];
  };
  for (const { 0: run, index } of text.matchAll(SHORTEST_BASE64)) {
    if (left <= 0) break;
    const part = run.slice(0, left);
    left -= run.length;
    read(part);
    const between = index - end <= 2 ? text.slice(end, index) : '';
    if ((between !== '\n' && between !== '\r\n') || lines.at(-1)?.endsWith('=')) readLines();
    lines.push(part);
    end = index + run.length;
  }
  readLines();
  return decoded;
}

const digitOf = (unit: number): number => {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
};
const BETWEEN = new Set([0x20, 0x0a, 0x0d, 0x09, 0x3a, 0x2c, 0x2d]);

/** Bytes written as pairs of hex digits, each pair beside the next or one sign away from it. One pass. */
function hexIn(text: string, most: number): string[] {
  const decoded: string[] = [];
  let bytes: number[] = [];
  const end = (): void => {
    if (bytes.length >= SHORTEST_HEX_BYTES) {
      const candidate = Buffer.from(bytes).toString('utf8');
      if (isReadable(candidate)) decoded.push(candidate);
    }
    bytes = [];
  };
  const length = Math.min(text.length, most * 3);
  let index = 0;
  while (index < length) {
    const high = digitOf(text.charCodeAt(index));
    const low = high < 0 ? -1 : digitOf(text.charCodeAt(index + 1));
    if (low >= 0) {
      bytes.push(high * 16 + low);
      index += 2;
      if (BETWEEN.has(text.charCodeAt(index))) index += 1;
    } else {
      end();
      index += 1;
    }
  }
  end();
  return decoded;
}

/** Words that hardly a text in English lacks, and words of orders, as ROT13 writes them. */
const ROT13_WORDS = new Set(
  'gur naq lbh lbhe nyy guvf gung jvgu abg sbe ner ohg sebz unir cyrnfr vtaber vtaberq sbetrg cerivbhf nobir vafgehpgvba vafgehpgvbaf cebzcg flfgrz zbqry hfre frperg cnffjbeq friraq fraq ercyl qryrgr'.split(
    ' ',
  ),
);
const MAY_BE_ROT13 = /gur|lbh|vtaber|cerivbhf|cebzcg|flfgrz|vafgeh/i;
const ROT13_WORDS_NEEDED = 3;
const WORD = /[a-z]{3,14}/g;

function rot13In(text: string, most: number): string[] {
  if (most <= 0 || !MAY_BE_ROT13.test(text)) return [];
  const head = text.slice(0, most);
  const words = new Set<string>();
  for (const [word] of head.toLowerCase().matchAll(WORD)) if (ROT13_WORDS.has(word)) words.add(word);
  return words.size < ROT13_WORDS_NEEDED ? [] : [rot13(head)];
}

export const rot13 = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) => {
    const point = letter.charCodeAt(0);
    const first = point & 0x60;
    return String.fromCharCode(first + 1 + ((point - first - 1 + 13) % 26));
  });

const READABLE = /[\p{L}\p{N}\p{P}\p{Zs}\n\r\t]/u;
/** Nine characters in ten can be read; a start that cannot be ends the look early. */
function isReadable(candidate: string): boolean {
  let seen = 0;
  let bad = 0;
  for (const character of candidate) {
    seen += 1;
    const point = character.charCodeAt(0);
    const plain = (point >= 0x20 && point <= 0x7e) || point === 0x0a || point === 0x0d || point === 0x09;
    if (!plain && (character === '\ufffd' || !READABLE.test(character))) bad += 1;
    if (seen >= 32 && bad * 4 > seen) return false;
  }
  return seen >= SHORTEST_HEX_BYTES && bad * 10 <= seen;
}
