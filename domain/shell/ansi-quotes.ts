/** Escapes in `$'…'` that stand for another character. */
const ANSI: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

/** What stands between `$'` and the next `'`, and where that is over. `from` is behind the opening quote. */
export function ansiQuoted(text: string, from: number): { readonly inside: string; readonly end: number } {
  let at = from;
  let out = '';
  while (at < text.length && text[at] !== "'") {
    if (text[at] !== '\\') {
      out += text[at];
      at += 1;
      continue;
    }
    const code = text[at + 1] ?? '';
    if (code === 'x' || code === 'u' || code === 'U') {
      const digits = /^[0-9a-f]{1,8}/i.exec(text.slice(at + 2, at + 2 + (code === 'x' ? 2 : code === 'u' ? 4 : 8)));
      const point = Number.parseInt(digits?.[0] ?? '20', 16);
      out += point <= 0x10ffff ? String.fromCodePoint(point) : ' ';
      at += 2 + (digits?.[0].length ?? 0);
    } else if (code >= '0' && code <= '7') {
      const digits = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4)) as RegExpExecArray;
      out += String.fromCharCode(Number.parseInt(digits[0], 8));
      at += 1 + digits[0].length;
    } else {
      out += ANSI[code] ?? code;
      at += 2;
    }
  }
  return { inside: out, end: at + 1 };
}
