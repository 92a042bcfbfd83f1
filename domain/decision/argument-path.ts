/**
 * The place of an argument as people read and write it: its keys with dots between them, `limits.max`. A key that could be read as anything
 * else stands in quotes, as a text of JSON: `"limits.max"` is one key, and `limits."a b"` two.
 */
export const pathText = (path: readonly string[]): string =>
  path.map((key) => (key === '' || OTHER.test(key) ? JSON.stringify(key) : key)).join('.');

/** Whatever could be read as more than a letter of a key. */
const OTHER = /[^\p{L}\p{N}_$@:-]/u;

/** Reads `path=value`, with the path as `pathText` writes it; other keys without a dot, `=` or a quote before them need no quotes. */
export function assigned(text: string): { readonly path: string[]; readonly value: string } | null {
  const path: string[] = [];
  for (let at = 0; ; ) {
    const end = text[at] === '"' ? afterQuotes(text, at) : afterKey(text, at);
    const key = keyIn(text.slice(at, end));
    if (key === null) return null;
    path.push(key);
    if (text[end] === '=') return { path, value: text.slice(end + 1) };
    if (text[end] !== '.') return null;
    at = end + 1;
  }
}

function keyIn(text: string): string | null {
  if (!text.startsWith('"')) return text === '' ? null : text;
  try {
    return JSON.parse(text) as string;
  } catch {
    return null;
  }
}

function afterKey(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '.' && text[at] !== '=') at += 1;
  return at;
}

function afterQuotes(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
