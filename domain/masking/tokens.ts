/** A token whose shape alone tells it, in UTF-16 units. */
export interface Token {
  readonly type: 'JWT' | 'TOKEN';
  readonly start: number;
  readonly end: number;
}

const BEHIND_SCHEME = /\b(?:bearer|basic)\s{1,64}(?=[\w.~+/=-]{8})/gi;
const OF_TOKEN = /[\w.~+/=-]/;
/** `Basic training` is none: a token has digits, or capitals behind small letters. */
const DRAWN = /\d|[a-z][A-Z]/;
const RUN = /[\w.-]{1,65536}/g;
const BEGINS_JWT = /(?<![A-Za-z0-9])eyJ[\w-]{4}/;
const PART = 4;

/** Web tokens (RFC 7519), and what stands behind `Bearer` and `Basic`. In order of each kind, in time linear in the text. */
export function* tokensIn(text: string): Generator<Token> {
  let from = 0;
  for (const { 0: scheme, index } of text.matchAll(BEHIND_SCHEME)) {
    const start = index + scheme.length;
    if (start < from) continue;
    let end = start;
    while (end < text.length && OF_TOKEN.test(text[end] as string)) end += 1;
    from = end;
    if (DRAWN.test(text.slice(start, end))) yield { type: 'TOKEN', start, end };
  }
  if (!text.includes('eyJ')) return;
  for (const { 0: run, index } of text.matchAll(RUN)) yield* webTokensIn(run, index);
}

/** Three parts with points between them, of which the first is an object of JSON. */
function* webTokensIn(run: string, offset: number): Generator<Token> {
  const parts = run.split('.');
  let at = 0;
  for (let index = 0; index + 2 < parts.length; index += 1) {
    const part = parts[index] as string;
    const begins = part.search(BEGINS_JWT);
    const end = at + part.length + 1 + (parts[index + 1] as string).length + 1 + (parts[index + 2] as string).length;
    if (begins !== -1 && (parts[index + 1] as string).length >= PART) {
      yield { type: 'JWT', start: offset + at + begins, end: offset + end };
      at = end + 1;
      index += 2;
    } else at += part.length + 1;
  }
}
