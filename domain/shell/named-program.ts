import { decodeEscapes } from '../inspection/escapes.js';
import { Allowance } from './allowance.js';
import type { Word } from './command.js';
import { readCommands } from './lexer.js';

/** Whether a text begins with the name of a known program. */
export type StartsCommand = (text: string) => boolean;

/** What a text makes of the words that stand beside it. */
export interface NamedProgram {
  /** What the words are put behind. */
  readonly heads: readonly string[];
  /** Only a shell knows which program runs: `r?`, `${X}rm`, `$(cat x)`. */
  readonly isHidden: boolean;
}

/** Only a shell says which program these name: `\\rm`, `'rm'`, `FOO=1 rm`, `cd / && rm`, `$(which rm)`, `{ rm`. */
const SIGNS = /[\\'"`$=;&|(){}<>!*?[%#\n^]/;
/** The longest text that stands before the words beside it as it is written; of a longer one only what its end names. */
const LONGEST_AS_WRITTEN = 1_024;

/** Joins words into the command line that passes them to a program one by one. */
export const commandLine = (words: readonly string[]): string =>
  words.map((word) => (/[\s'"|&;<>()`$\\]/.test(word) ? `'${word.replaceAll("'", `'\\''`)}'` : word)).join(' ');

/** Whether a text goes on with what stands behind it: a quote, a pipe or a bracket at its end. */
const GOES_ON = /[;&|({`'"\\]$/;

/**
 * The program that a text under a name for programs gives to the words beside it. The text alone is read elsewhere; here its last command
 * counts, since that is the one that gets the words.
 */
export function programNamed(text: string, startsCommand: StartsCommand): NamedProgram | null {
  const written = text.trim();
  const asWritten = written.length <= LONGEST_AS_WRITTEN ? [written] : [];
  if (written === '') return null;
  if (!SIGNS.test(written) && !written.includes('/'))
    return startsCommand(written) ? { heads: [written], isHidden: false } : null;
  const words = lastWords(written);
  const isHidden = nameIsHidden(words, startsCommand);
  const last = commandLineOf(words, startsCommand);
  if (isHidden || words.some((word) => startsCommand(placed(word, startsCommand))))
    return { heads: [...new Set([...asWritten, last])], isHidden };
  if (!SIGNS.test(written)) return null;
  return asWritten.length > 0
    ? { heads: asWritten, isHidden }
    : GOES_ON.test(written)
      ? { heads: [''], isHidden }
      : null;
}

/** The program that a text under any other name gives to arguments beside it: where nothing but programs stand in its last command. */
export function programAlone(text: string, startsCommand: StartsCommand): NamedProgram | null {
  const written = text.trim();
  if (written === '') return null;
  if (!SIGNS.test(written)) {
    if (!startsCommand(written) || (/\s/.test(written) && !written.split(/\s+/).every(startsCommand))) return null;
    return { heads: [written], isHidden: false };
  }
  const words = lastWords(written);
  const isProgram = words.every(
    (word) => startsCommand(word.text) || runsProgram(word, startsCommand) || /^[!{(]$/.test(word.text),
  );
  return isProgram && words.length > 0 ? { heads: [commandLineOf(words, startsCommand)], isHidden: false } : null;
}

/** The words of the last command, as a shell reads them. */
function lastWords(text: string): readonly Word[] {
  const read = /[%&]|\\[ux]/.test(text) ? decodeEscapes(text) : text;
  return readCommands(read, () => true, new Allowance()).commands.at(-1)?.words ?? [];
}

const commandLineOf = (words: readonly Word[], startsCommand: StartsCommand): string =>
  words.map((word) => (word.runs.length > 0 ? word.raw : commandLine([placed(word, startsCommand)]))).join(' ');

/** `bin/rm` is a file anywhere else, and `docs/rm` everywhere; where a program is named it is one, and so is the `rm` of `!rm`. */
const placed = ({ text }: Word, startsCommand: StartsCommand): string => {
  const bare = text.replace(/^[!@]{1,4}(?=\w|\/)/, '');
  return /(?:^|\/)s?bin\//.test(bare) && !/[\s=]/.test(bare) && startsCommand(`./${bare}`) ? `./${bare}` : bare;
};

/** `$(which rm)`. */
const runsProgram = ({ text, runs }: Word, startsCommand: StartsCommand): boolean =>
  runs.length > 0 && (text === '' || text === '.') && startsCommand(runs.at(-1)?.words.at(-1)?.text ?? '');

function nameIsHidden(words: readonly Word[], startsCommand: StartsCommand): boolean {
  const head = words.find(({ text, runs }) => runs.length > 0 || !/^[!{(]?$/.test(text));
  if (head === undefined || head.text.includes('://')) return false;
  // A quote that nothing closes is none, and `which` without a name prints nothing.
  if (head.runs.length > 0)
    return /[)`"]$/.test(head.raw) && !head.runs.every(({ words: [, ...args] }) => args.length === 0);
  const name = head.text.slice(head.text.lastIndexOf('/') + 1);
  if (startsCommand(name)) return false;
  return /\$[A-Za-z_@*]|%[A-Za-z_]\w{0,64}%/.test(name) || (!head.quoted && /[*?]|\[[^\]]/.test(name));
}
