import { foreignText } from '../text.js';

/**
 * A line of why a call waits that is about the definition of a tool. `tool` is named in the lines of a batch, and `null` in those of a call of
 * one tool. `words` of `says` are the tool's own, as JSON; those of `definition` are Gate's.
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
/** The name of a tool, as lines of a batch begin with it. */
export const toolNamed = (tool: string): string => JSON.stringify(foreignText(tool, TOOL_UNITS));
/** The line of one tool of a batch. */
export const lineOf = (tool: string, line: string): string => `${toolNamed(tool)}: ${line}`;

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
  if (!text.startsWith('"')) return whole;
  let at = 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  if (!text.startsWith(': ', at + 1)) return whole;
  try {
    return { tool: String(JSON.parse(text.slice(0, at + 1))), line: text.slice(at + 3) };
  } catch {
    return whole;
  }
}
