/** What a command of a database's client does, said as the kind of a statement. */
export type ClientAct = 'a client command that runs a program' | 'a client command that reads a file of statements';

const RUNS: ClientAct = 'a client command that runs a program';
const READS: ClientAct = 'a client command that reads a file of statements';

interface Command {
  readonly begins: RegExp;
  /** What has to stand in the line too: anywhere, or behind the beginning. */
  readonly with?: RegExp;
  readonly behind?: RegExp;
  readonly act: ClientAct;
}

/**
 * Commands that psql and mysql run themselves wherever they stand outside of a string: `\!`, `\g |`, `\copy ... program`, words in backquotes
 * behind a command of psql; and the ones that read statements nobody has seen: `\i`, `\.`, `\gexec`.
 */
const ANYWHERE: readonly Command[] = [
  { begins: /\\!/, act: RUNS },
  // A program may stand in quotes.
  { begins: /\\(?:o|out|g|gx|w|write)(?=[\s|])/, with: /\|/, act: RUNS },
  { begins: /\\copy\s/i, with: /\bprogram\b/i, act: RUNS },
  { begins: /\\(?:P|pager|e|edit|ef|ev|setenv)(?:\s|$)/, act: RUNS },
  { begins: /\\[a-z_]{1,32}\s/i, with: /`/, act: RUNS },
  { begins: /\\(?:gexec\b|(?:i|ir|include|include_relative|\.)\s)/, act: READS },
];
/** Those of sqlite3, at the beginning of a line, as short as it takes them: `.shell`, `.once |`, `.read`, `.load`. */
const DOTTED: readonly Command[] = [
  { begins: /^\.(?:sh|sy)[a-z]{0,16}\s/i, act: RUNS },
  { begins: /^\.(?:o|e|im?)[a-z]{0,16}\s/i, with: /\|/, act: RUNS },
  { begins: /^\.(?:rea|lo(?!g))[a-z]{0,16}\s/i, act: READS },
];
/** Those that are plain words or signs, and commands only where a statement may begin: of SQL*Plus, sqlcmd and mysql. */
const AT_A_START: readonly Command[] = [
  { begins: /^(?:!(?!=|~\*?(?:\s|'))|:!!)/, act: RUNS },
  {
    begins: /^(?:host|ho|system|pager)\s/i,
    behind: /^\s*(?!(?:as|is|in|not|like|between|and|or|from|asc|desc)\b)[^\s=<>!,)]/i,
    act: RUNS,
  },
  { begins: /^@@?/, behind: /^\s*[^\s=,;:()]+(?:\s*;?$|\s+(?![=:]))/, act: READS },
  { begins: /^(?:source|:r|start)\s/i, behind: /^[^./]*[./]\S*\s*;?$/, act: READS },
];
/** A line that the next one goes on: no command of a client begins there. An empty one, and `/` or `go` alone, ends what stands before it. */
const UNFINISHED =
  /(?:[,(=<>+*/|&~-]|\b(?:select|distinct|where|and|or|by|on|not|case|when|then|else|set|as|in|from|join|having|i?like|between|declare|exec|execute|values))$/i;
const ENDS = /^(?:\/|go|;)?$/i;
const MAY_BE_ONE = /[\\.!@:`|]|\b(?:host|ho|system|pager|source|start)\b/i;

/**
 * The first command of a database's client in a text, or null. `isStatement` where the place holds SQL by its name, or the text is one: what is
 * an English word too counts only there.
 */
export function clientActOf(text: string, isStatement: boolean): ClientAct | null {
  if (!MAY_BE_ONE.test(text)) return null;
  let unfinished = false;
  for (const whole of text.split(/[\n\r]/)) {
    const line = whole.trim();
    const act =
      actIn(line, withoutStrings(line), ANYWHERE) ??
      actIn(line, line, DOTTED) ??
      (isStatement && !unfinished ? actIn(line, line, AT_A_START) : null);
    if (act) return act;
    const [said = ''] = line.split('--', 1);
    unfinished = !ENDS.test(line) && (said.trim() === '' ? unfinished : UNFINISHED.test(said.trim().slice(-64)));
  }
  return null;
}

/** What is a command in no client. A line with an escaped quote stays as it is: where its strings end depends on who reads it. */
const withoutStrings = (line: string): string => (line.includes("\\'") ? line : line.replaceAll(/'[^']*'/g, "''"));

function actIn(whole: string, line: string, commands: readonly Command[]): ClientAct | null {
  for (const { begins, with: beside, behind, act } of commands) {
    const begun = begins.exec(line);
    if (!begun || !(beside?.test(whole) ?? true)) continue;
    if (behind?.test(line.slice(begun[0].length)) ?? true) return act;
  }
  return null;
}
