import { type Member, scalarsIn, unpacked } from '../argument-texts.js';

/** Whether a text begins with the name of a known program. */
export type StartsCommand = (text: string) => boolean;

/** The first words of a command in which its program is looked for; before it are only `sudo -u root` and the like. */
const HEAD = 8;
/** The longest text of a member that is taken for a program, with words of its own: `git push`. */
const LONGEST_PROGRAM = 256;
/** Programs read among the members of one object. */
const PROGRAMS = 8;

/** Joins a list of words into the command line that passes them to its program one by one. */
const commandLine = (items: readonly string[]): string =>
  items.map((item) => (/[\s'"|&;<>()$`\\]/.test(item) ? `'${item.replaceAll("'", `'\\''`)}'` : item)).join(' ');

/**
 * The command lines that a tool may make of a list: each item one word, and all of them one text. None for plain data, so that it costs no
 * more than a look at each item.
 */
export function linesOfList(items: readonly string[], startsCommand: StartsCommand): readonly string[] {
  const plain = !items.some((item) => hasSigns(item));
  if (plain && !items.slice(0, HEAD).some(startsCommand)) return [];
  const [passed, joined] = [commandLine(items), items.join(' ')];
  return passed === joined ? [joined] : [passed, joined];
}

/** Whether an item means more to a shell than a word does. A sentence is read on its own; here only what joins it to its neighbours counts. */
const hasSigns = (item: string): boolean =>
  /\s/.test(item)
    ? /[;|&`\n]|\$\(/.test(item) || /^[^\s\w]/.test(item)
    : /[^\w.,:/@~+#-]/.test(item) && !isAddress(item);
const isAddress = (item: string): boolean =>
  /^https?:\/\//.test(item) && !/[^\w.~:/?#@!*+,;=%&-]|[;&](?!\w{1,64}=)/.test(item);

const names = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));
/** Names of members that hold a program, without separators and in lower case. */
const NAMES_PROGRAM = names(
  `command cmd program exe executable exec binary bin run shell process entrypoint commandname commandline programname file argv0
  interpreter utility`,
);
/** Names of members that hold the arguments of a program. */
const NAMES_ARGUMENTS = names(
  `args argv arguments argument arg params parameters options opts flags switches commandargs cmdargs programargs extraargs arglist
  argumentlist operands`,
);
/** Members beside a program that are none of its arguments. */
const NAMES_OTHER = names(
  `cwd workingdirectory workdir workingdir dir directory folder root timeout timeoutms timeoutsecs timeoutseconds env environment user
  username host hostname description reason explanation purpose title comment note id session sessionid background async wait encoding`,
);

export interface MembersLine {
  /** The name of the member that holds the program. */
  readonly name: string;
  readonly line: string;
}

/**
 * The command lines that a tool may make of several members of an object: `{"command": "rm", "args": ["-rf", "/"]}`. A member holds a
 * program by its name, or where it is nothing but the name of one beside a member that holds arguments: by its name, or because they are
 * options. Null for an object with more programs than are read.
 */
export function linesOfMembers(
  members: readonly Member[],
  startsCommand: StartsCommand,
): readonly MembersLine[] | null {
  const programs = members.flatMap(([name, value], at) => {
    const program = programIn(value);
    return program !== null && startsCommand(program)
      ? [{ at, name, program, isNamed: NAMES_PROGRAM.has(plain(name)), isWord: !/\s/.test(program.trim()) }]
      : [];
  });
  if (programs.length === 0) return [];
  const given = members.map(([name, value]) => ({ kind: kindOf(name), words: wordsIn(value) }));
  const isGiven = given.some(({ kind, words }) => kind === 'arguments' && words.length > 0);
  const hasOption = given.some(({ words }) => words.some((word) => /^--?[A-Za-z]/.test(word)));
  const wanted = programs.filter(({ isNamed, isWord }) => isNamed || (isWord && (isGiven || hasOption)));
  if (wanted.length > PROGRAMS) return null;
  return wanted.flatMap(({ at, name, program }) => {
    const beside = given.filter(({ kind }, place) => place !== at && kind !== 'other');
    const named = beside.filter(({ kind }) => kind === 'arguments' || (isGiven && kind === 'program'));
    const words = (isGiven ? named : beside).flatMap((one) => one.words);
    if (words.length === 0) return [];
    const lines = new Set([commandLine(words), words.join(' ')]);
    return [...lines].map((line) => ({ name, line: `${program} ${line}` }));
  });
}

const kindOf = (name: string): 'program' | 'arguments' | 'other' | 'any' => {
  const known = plain(name);
  if (NAMES_ARGUMENTS.has(known)) return 'arguments';
  if (NAMES_PROGRAM.has(known)) return 'program';
  return NAMES_OTHER.has(known) ? 'other' : 'any';
};

/** A text, or a short list of words, that may name a program. */
function programIn(value: unknown): string | null {
  if (typeof value === 'string') return value.length <= LONGEST_PROGRAM ? value : null;
  if (!Array.isArray(value) || value.length === 0 || value.length > HEAD) return null;
  const line = scalarsIn(value).join(' ');
  return line.length <= LONGEST_PROGRAM ? line : null;
}

const plain = (name: string): string => (name.length > 32 ? '' : name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));

/** The words of a member's value; of an object, those of its members in order. */
function wordsIn(value: unknown): readonly string[] {
  const here = typeof value === 'string' ? (unpacked(value) ?? value) : value;
  return scalarsIn(typeof here === 'object' && here !== null && !Array.isArray(here) ? Object.values(here) : [here]);
}
