import { type Member, numberOf, scalarsIn, unpacked } from '../argument-texts.js';

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
/** Names of members that hold the word behind a program: `delete`. */
const NAMES_VERB = names('subcommand verb action operation op');
/** Members beside a program that no tool hands to it. */
const NAMES_OTHER = names(
  `cwd workingdirectory workdir workingdir timeout timeoutms timeoutsecs timeoutseconds env environment user username description reason
  explanation purpose justification rationale title comment note message summary prompt thought intent id session sessionid background
  async wait encoding`,
);

export interface MembersLine {
  /** The name of the member that holds the program. */
  readonly name: string;
  readonly line: string;
}

type Kind = 'program' | 'verb' | 'arguments' | 'other' | 'any';
interface Piece {
  readonly name: string;
  readonly kind: Kind;
  readonly value: unknown;
  readonly words: readonly string[];
  /** The member is an object with a program of its own: `{"program": "rm"}`. */
  readonly holdsProgram: boolean;
}
interface Program {
  readonly at: number;
  readonly program: string;
  /** What the member holds beside the program. */
  readonly own: readonly string[];
  readonly isNamed: boolean;
  readonly isWord: boolean;
}

/**
 * The command lines that a tool may make of the members of an object: `{"command": "rm", "args": ["-rf"], "path": "/"}`. The author of a call
 * chooses the order of its members, and a tool may know them by name, so they are read as written, and as a command line has them: a verb,
 * arguments, options, the rest, by their numbers. A member holds a program by its name, or where it is nothing but the name of one beside
 * arguments: a member named so, or options. Null for an object with more programs than are read.
 */
export function linesOfMembers(
  members: readonly Member[],
  startsCommand: StartsCommand,
): readonly MembersLine[] | null {
  const byName = members.flatMap(([name, value]) => linesOfName(name, value, startsCommand));
  const programs = members.flatMap(([name, value], at) => {
    const isNamed = NAMES_PROGRAM.has(plain(name));
    return [...new Set(programsIn(value, isNamed))]
      .filter((program) => startsCommand(program) || (isNamed && SHELL_SIGNS.test(program)))
      .map((program) => ({ at, program }));
  });
  if (programs.length === 0 || members.length + byName.length < 2) return byName;
  const holders = new Set(programs.flatMap(({ at }) => (isObject(opened(members[at]?.[1])) ? [at] : [])));
  const pieces = members.map(([name, value], at): Piece => {
    const kind = kindOf(name);
    return { name, kind, value, words: kind === 'other' ? [] : wordsIn(value), holdsProgram: holders.has(at) };
  });
  const given = pieces.filter(({ holdsProgram }) => !holdsProgram);
  const isGiven = given.some(({ kind, words }) => kind === 'arguments' && words.length > 0);
  const hasOption = given.some(({ words }) => words.some(isOption));
  const wanted = programs.flatMap(({ at, program }): Program[] => {
    const { name, words, holdsProgram } = pieces[at] as Piece;
    const own = holdsProgram ? words.toSpliced(words.indexOf(program), 1) : [];
    const isNamed = NAMES_PROGRAM.has(plain(name));
    const isWord = !/\s/.test(program.trim());
    return isNamed || (isWord && (isGiven || hasOption || own.some(isOption)))
      ? [{ at, program, own, isNamed, isWord }]
      : [];
  });
  if (wanted.length > PROGRAMS) return null;
  return [...byName, ...wanted.flatMap((one) => linesOfProgram(one, pieces, isGiven, hasOption))];
}

function linesOfProgram(one: Program, pieces: readonly Piece[], isGiven: boolean, hasOption: boolean): MembersLine[] {
  const { at, program, own, isNamed } = one;
  const beside = pieces.filter(({ kind, holdsProgram }, place) => place !== at && kind !== 'other' && !holdsProgram);
  const named = beside.filter(({ kind }) => kind === 'arguments' || kind === 'program');
  const orders: (readonly string[])[] = isGiven ? [wordsOf(named)] : [];
  // A search has options and a path too: {"pattern": "rm", "options": {...}, "path": "/src"}.
  if (isNamed || hasOption || own.some(isOption)) {
    const ranked = inOrder(beside, OPTIONS_FIRST);
    orders.push(wordsOf(beside), wordsOf(ranked), wordsOf(inOrder(beside, OPTIONS_LAST)));
    if (isNamed) orders.push(ranked.flatMap(({ name, kind, value }) => spelled(name, value, kind === 'any')));
  }
  const lines = new Set(
    orders.flatMap((order) => {
      const words = [...own, ...order];
      return words.length === 0 ? [] : [commandLine(words), words.join(' ')];
    }),
  );
  return [...lines].map((line) => ({ name: (pieces[at] as Piece).name, line: `${program} ${line}` }));
}

/** `{"rm": "-rf /"}`: the name of the member is the program. */
function linesOfName(name: string, value: unknown, startsCommand: StartsCommand): MembersLine[] {
  const mayBeOption =
    typeof value === 'string' ? '-[{"'.includes(value.trimStart().charAt(0)) : typeof value === 'object';
  if (!mayBeOption || NAMES_PROGRAM.has(plain(name)) || !startsCommand(name)) return [];
  const words = wordsIn(value);
  return words[0] !== undefined && isOption(words[0]) ? [{ name, line: `${name} ${words.join(' ')}` }] : [];
}

/** The members as a command line has them, each found by its name or its look, whatever the order they are written in. */
function inOrder(pieces: readonly Piece[], ranks: readonly (Kind | 'option')[]): readonly Piece[] {
  return pieces
    .map((piece) => {
      const { kind, name, words } = piece;
      const number = numberOf(name);
      const isLoose = kind === 'any' && number === undefined && words[0] !== undefined && isOption(words[0]);
      return { piece, rank: ranks.indexOf(isLoose ? 'option' : kind), number: number ?? Number.MAX_SAFE_INTEGER };
    })
    .toSorted((one, other) => one.rank - other.rank || one.number - other.number)
    .map(({ piece }) => piece);
}
/** `bash -c x`: options come before what they are about. */
const OPTIONS_FIRST = ['verb', 'program', 'arguments', 'option', 'any'] as const;
/** `git push --force`: an option comes behind the verb, which may be in a member of any name. */
const OPTIONS_LAST = ['verb', 'any', 'program', 'arguments', 'option'] as const;

const wordsOf = (pieces: readonly Piece[]): readonly string[] => pieces.flatMap(({ words }) => words);
const isOption = (word: string): boolean => /^--?[A-Za-z]/.test(word);

const kindOf = (name: string): Kind => {
  const known = plain(name);
  if (NAMES_ARGUMENTS.has(known)) return 'arguments';
  if (NAMES_PROGRAM.has(known)) return 'program';
  if (NAMES_VERB.has(known)) return 'verb';
  return NAMES_OTHER.has(known) ? 'other' : 'any';
};

/** How deep a member is looked through for its program and its words. */
const DEEPEST = 4;

/** `\\rm`, `'rm'`, `FOO=1 rm`, `cd / && rm`, `$(which rm)`: only a shell says which program that is. */
const SHELL_SIGNS = /[\\'"`$=;&|(]/;

/**
 * What may name a program: a text, a short list of words, a member of an object. Under a name that says so every text of the object is
 * one, because the author of a call chooses the order of its members.
 */
function programsIn(value: unknown, isNamed: boolean, depth = 0): readonly string[] {
  const here = isNamed ? opened(value) : value;
  if (typeof here === 'string') return here.length <= LONGEST_PROGRAM ? [here] : [];
  const within = (held: readonly unknown[]) =>
    depth >= DEEPEST ? [] : held.flatMap((item) => programsIn(item, isNamed, depth + 1)).slice(0, PROGRAMS + 1);
  if (Array.isArray(here)) {
    if (here.length === 0 || here.length > HEAD) return [];
    const line = scalarsIn(here).join(' ');
    return [...(line.length <= LONGEST_PROGRAM ? [line] : []), ...(isNamed ? within(here.filter(isObject)) : [])];
  }
  if (!isObject(here)) return [];
  const entries = Object.entries(here);
  if (isNamed) return within(entries.map(([, item]) => item));
  const [, held] =
    entries.find(([name]) => NAMES_PROGRAM.has(plain(name))) ?? (entries.length === 1 ? entries[0] : undefined) ?? [];
  return within([held]);
}

const plain = (name: string): string => (name.length > 32 ? '' : name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const opened = (value: unknown): unknown => (typeof value === 'string' ? (unpacked(value) ?? value) : value);

/** The words of a value and of the lists and objects in it, but for those that no tool hands to a program. */
function wordsIn(value: unknown, depth = 0, found: string[] = []): string[] {
  const here = opened(value);
  if (typeof here === 'string') found.push(here);
  else if (typeof here === 'number' || typeof here === 'boolean') found.push(String(here));
  else if (depth < DEEPEST && Array.isArray(here)) for (const item of here) wordsIn(item, depth + 1, found);
  else if (depth < DEEPEST && isObject(here))
    for (const [name, item] of Object.entries(here)) if (kindOf(name) !== 'other') wordsIn(item, depth + 1, found);
  return found;
}

/** The words of a member with its name, in the spellings that programs take: `--force`, `-f`, `--output x`, `if=x`. */
function spelled(name: string, value: unknown, isOwn: boolean, depth = 0): readonly string[] {
  const here = opened(value);
  if (isObject(here) && depth < DEEPEST)
    return Object.entries(here).flatMap(([inner, item]) => spelled(inner, item, kindOf(inner) === 'any', depth + 1));
  const words = wordsIn(here);
  if (!isOwn || !/^[\w.-]{1,64}$/.test(name)) return words;
  if (here === false || here === null) return [];
  const option = name.startsWith('-') ? name : name.length === 1 ? `-${name}` : `--${name}`;
  if (here === true) return [option];
  return [option, ...words, ...(Array.isArray(here) ? [] : words.map((word) => `${name}=${word}`))];
}
