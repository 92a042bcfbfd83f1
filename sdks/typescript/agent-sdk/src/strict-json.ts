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

/** One token and the blanks before it. Sticky, so that it is looked for at one place and never further on. */
const TOKEN = /[ \t\r\n]*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:])/y;

/** Why parsers may differ on a text that is JSON. */
function disputed(text: string): string | undefined {
  TOKEN.lastIndex = 0;
  /** Names so far of each object that is open; of an array, none. */
  const open: (Set<string> | null)[] = [];
  let before = '';
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    const [, word = ''] = found;
    const names = open.at(-1);
    if (word === '{') open.push(new Set());
    else if (word === '[') open.push(null);
    else if (word === '}' || word === ']') open.pop();
    else if (word.startsWith('"') && names && (before === '{' || before === ',')) {
      const name = JSON.parse(word) as string;
      if (names.has(name)) return `the name ${JSON.stringify(name)} stands twice in one object`;
      names.add(name);
    } else if (/^-?\d+$/.test(word) && !Number.isSafeInteger(Number(word)))
      return `the integer ${word.slice(0, 40)} is larger than all parsers can hold`;
    before = word;
  }
  return undefined;
}
