import { quoted } from '../printable.js';

/**
 * A line of why a call waits that is about the definition of a tool. `tool` is named in the lines of a batch, as the line shows it, and `null` in
 * those of a call of one tool. `words` of `says` are the tool's own, as JSON; those of `definition` are Gate's.
 */
export type DefinitionLine = { readonly tool: string | null; readonly words: string } & (
  | { readonly kind: 'says' }
  /** `digest`: the beginning of the definition's digest; `null` where no definition is known. */
  | { readonly kind: 'definition'; readonly digest: string | null }
);

export const OF_ITSELF = 'the tool says of itself: ';
export const DEFINITION = 'definition of the tool ';
const SHOWN_DIGITS = 16;
const FEWEST_DIGITS = 8;
const TOOL_UNITS = 100;

/** The beginning of a digest, as people see it. */
export const shownDigest = (sha256: string): string => sha256.slice(0, SHOWN_DIGITS);

export const saysLine = (description: string): string => `${OF_ITSELF}${JSON.stringify(description)}`;
export const definedLine = (sha256: string, words: string): string => `${DEFINITION}${shownDigest(sha256)}${words}`;
export const unlistedLine = (words: string): string => `${DEFINITION}UNLISTED${words}`;
/** Nobody knows whether it is listed. */
export const unansweredLine = (words: string): string => `${DEFINITION}UNKNOWN${words}`;
/** The line of one tool of a batch: it begins with its name, which is none of Gate's words. */
export const lineOf = (tool: string, line: string): string => `${quoted(tool, TOOL_UNITS)}: ${line}`;

/** What a line says, where one of these functions made it, also those of a Gate of before; `null` for any other line. */
export function definitionIn(text: string): DefinitionLine | null {
  const { tool, line } = ofOneTool(text);
  if (line.startsWith(OF_ITSELF)) return { kind: 'says', tool, words: line.slice(OF_ITSELF.length) };
  if (!line.startsWith(DEFINITION)) return null;
  const said = line.slice(DEFINITION.length);
  const [word = ''] = said.split(' ', 1);
  const digest = word.length >= FEWEST_DIGITS && word.split('').every((digit) => HEX.includes(digit)) ? word : null;
  return { kind: 'definition', tool, digest, words: digest === null ? said : said.slice(digest.length) };
}
const HEX = '0123456789abcdef';

/** A line without the name of the tool that it begins with. */
function ofOneTool(text: string): { readonly tool: string | null; readonly line: string } {
  const whole = { tool: null, line: text };
  if (text.startsWith('`')) {
    const end = text.indexOf('`', 1);
    return end === -1 || !text.startsWith(': ', end + 1)
      ? whole
      : { tool: text.slice(1, end), line: text.slice(end + 3) };
  }
  // Of a Gate of before: its name as JSON.
  if (!text.startsWith('"')) return whole;
  let at = 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  const tool = text.slice(0, at + 1);
  return text.startsWith(': ', at + 1) && isJson(tool) ? { tool, line: text.slice(at + 3) } : whole;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
