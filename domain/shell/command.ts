/** One word of a command, as a shell passes it to the program. */
export interface Word {
  /** The word without quotes and escapes, and with substitutes for blanks replaced. */
  readonly text: string;
  /** The word as written. */
  readonly raw: string;
  /** Part of the word was quoted or escaped. */
  readonly quoted: boolean;
  /** What the shell runs to build the word: `$(...)`, backticks, `<(...)`. */
  readonly runs: readonly Command[];
  /** The name of the first expansion whose value the text does not tell; empty when there is none. */
  readonly unknown: string;
  /** Such an expansion does more than insert: `${0##x}`, `${a[1]}`. */
  readonly operated: boolean;
  /** The word as it is where such expansions are empty. */
  readonly bare: string;
}

export interface Redirect {
  readonly operator: string;
  readonly target: Word | null;
}

/** One simple command: a program, its arguments, and where its input comes from and its output goes. */
export interface Command {
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
  /** The command whose output this one reads. */
  readonly reads: Command | null;
  /** The command is between backticks, which Markdown shows as code. */
  readonly ticked: boolean;
  /** The variables that the text sets for this command, or for those behind it where it has no program. */
  readonly assigned: readonly Assignment[];
  /** Braces make more words of it than are read. */
  readonly isCut: boolean;
}
export interface Assignment {
  readonly name: string;
  readonly value: string;
  /** The name stands in quotes, which a shell takes for a program: `"A="b`. */
  readonly isQuoted: boolean;
}
