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

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\],:]/g;

/** Why parsers may differ on a text that is JSON. */
function disputed(text: string): string | undefined {
  const names: (Set<string> | null)[] = [];
  let previous = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') names.push(new Set());
    else if (token === '[') names.push(null);
    else if (token === '}' || token === ']') names.pop();
    else if (token[0] === '"') {
      const open = names.at(-1);
      if (open !== null && open !== undefined && (previous === '{' || previous === ',')) {
        const name = JSON.parse(token) as string;
        if (open.has(name)) return `the name ${JSON.stringify(name)} stands twice in one object`;
        open.add(name);
      }
    } else if (token !== ',' && token !== ':' && /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)))
      return `the integer ${token.slice(0, 40)} is larger than all parsers can hold`;
    previous = token;
  }
  return undefined;
}
