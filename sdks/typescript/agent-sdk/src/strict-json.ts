/**
 * Arguments that a model wrote as text, read so that every other reader reads the same. Two parsers may differ on names that stand twice and
 * on integers that a double cannot hold (RFC 7493, sections 2.2 and 2.3), and then another call would run than was judged.
 *
 * @returns the value, or why the text has none that all agree on
 */
export function strictJson(text: string): { readonly value: unknown } | { readonly fault: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: 'they are no JSON' };
  }
  const fault = disputed(text);
  return fault === undefined ? { value } : { fault };
}

/** Where a string of JSON that begins at this place ends, its quote included. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

const IN_NUMBER = '0123456789+-.eE';
function endOfNumber(text: string, from: number): number {
  let at = from;
  while (at < text.length && IN_NUMBER.includes(text[at] as string)) at += 1;
  return at;
}

/** Why parsers may differ on a text that is JSON. */
function disputed(text: string): string | undefined {
  /** Names so far of each object that is open; of an array, none. */
  const open: (Set<string> | null)[] = [];
  let at = 0;
  let before = '';
  while (at < text.length) {
    const first = text[at] as string;
    let end = at + 1;
    if (first === '{') open.push(new Set());
    else if (first === '[') open.push(null);
    else if (first === '}' || first === ']') open.pop();
    else if (first === '"') {
      end = endOfString(text, at);
      const names = open.at(-1);
      if (names && (before === '{' || before === ',')) {
        const name = JSON.parse(text.slice(at, end)) as string;
        if (names.has(name)) return `the name ${JSON.stringify(name)} stands twice in one object`;
        names.add(name);
      }
    } else if (first === '-' || (first >= '0' && first <= '9')) {
      end = endOfNumber(text, at);
      const number = text.slice(at, end);
      if (!/[.eE]/.test(number) && !Number.isSafeInteger(Number(number)))
        return `the integer ${number.slice(0, 40)} is larger than all parsers can hold`;
    }
    if (first > ' ') before = first;
    at = end;
  }
  return undefined;
}
