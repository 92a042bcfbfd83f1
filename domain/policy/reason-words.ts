/** Which of these words a line of a verdict says; `null` for none of them. */
export function wordsIn(words: readonly string[]): (line: string) => string | null {
  const patterns = [...new Set(words)]
    .map((text) => ({ text, parts: text.split('%s') }))
    .toSorted((one, other) => literalLength(other.parts) - literalLength(one.parts));
  return (line) => patterns.find(({ parts }) => fits(line, parts))?.text ?? null;
}

const literalLength = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + part.length, 0);

/** Whether a line is these parts in their order, with anything between them. */
function fits(line: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return line === first;
  if (!line.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = line.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return line.length - last.length >= at && line.endsWith(last);
}
