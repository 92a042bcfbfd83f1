/**
 * Whether a text holds a GraphQL document with a mutation: the word at the level of operations, an optional name, then what such an operation
 * goes on with. Comments and strings are skipped as GraphQL skips them, in linear time.
 */
export function holdsMutation(text: string): boolean {
  if (!text.includes('mutation') || !text.includes('{')) return false;
  let depth = 0;
  /** Words since `mutation`, itself included; 0 where none is open. */
  let words = 0;
  for (const [token] of text.matchAll(GRAPHQL_TOKEN)) {
    if (token.startsWith('#') || token.startsWith('"')) continue;
    if (token === '{' || token === '(' || token === '@') {
      if (words > 0) return true;
      if (token === '{') depth += 1;
    } else if (token === '}') depth = Math.max(0, depth - 1);
    else if (token === 'mutation' && depth === 0) words = 1;
    else if (/^\w/.test(token)) words = words === 1 ? 2 : 0;
    else words = 0;
  }
  return false;
}

/**
 * A comment, a block string (which `\"""` does not close), a string, a word or a sign. White space and commas mean nothing between them. A
 * quote that nothing closes ends with its line.
 */
export const GRAPHQL_TOKEN =
  /#[^\n\r]*|"""(?:[^"\\]|\\"""|\\(?!""")|"(?!""))*(?:"""|$)|"(?:[^"\\\n\r]|\\.)*"?|\w+|[^\s\w,\ufeff]/g;
