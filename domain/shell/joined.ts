import { NAMES_ARGUMENTS, NAMES_FILE_TOO, NAMES_OTHER, NAMES_PROGRAM, NAMES_VERB, plain } from '../argument-names.js';
import type { Checkpoint } from '../in-place.js';
import { columnsOf, type Member, numberOf, scalarsIn } from '../argument-texts.js';
import { unpacked } from '../packed-text.js';
import { budgetFor } from '../large.js';
import { commandLine, type NamedProgram, programAlone, programNamed, type StartsCommand } from './named-program.js';

/**
 * The command lines that a tool may make of a list: each item one word, and all of them one text. None for plain data, so that it costs no
 * more than a look at each item.
 */
export function linesOfList(items: readonly string[], startsCommand: StartsCommand): readonly string[] {
  if (!items.some((item) => hasSigns(item) || startsCommand(item))) return [];
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

/**
 * Characters that may be looked through and put together for the objects of one call, for each of its own. Each program is joined with all
 * that it may be given, so that without a limit a request of a few kilobytes makes lines of megabytes.
 */
const TIMES_ITS_SIZE = 32;
const LEAST_BUDGET = 1 << 16;
/** Objects and lists in one another that are looked through for words; a request has no more levels, unless it packs them into a text. */
const DEEPEST = 64;

/** What the objects of one call may cost together, however deep they are in one another: what each looks through, and the lines made of it. */
export class JoiningBudget {
  #left: number;
  constructor(
    argumentsOfCall: unknown,
    private readonly checkpoint: Checkpoint,
  ) {
    this.#left = budgetFor(argumentsOfCall, TIMES_ITS_SIZE, LEAST_BUDGET);
  }
  spend(cost: number): boolean {
    this.checkpoint();
    this.#left -= cost;
    return this.#left >= 0;
  }
}

export interface MembersLine {
  /** The name of the member that holds the program. */
  readonly name: string;
  readonly line: string;
}
/** What was read of an object. Where it is not whole, a program was named, but not all that it may be given could be told. */
export interface Reading {
  readonly lines: readonly MembersLine[];
  readonly isWhole: boolean;
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
interface Program extends NamedProgram {
  readonly at: number;
  /** The text that names it. */
  readonly text: string;
  readonly isNamed: boolean;
}

/** Looks at one object, within the budget. Whatever a bound leaves out is remembered. */
class Look {
  isWhole = true;

  constructor(
    private readonly budget: JoiningBudget,
    private readonly startsCommand: StartsCommand,
  ) {}

  private spend(cost: number): boolean {
    if (!this.budget.spend(cost)) this.isWhole = false;
    return this.isWhole;
  }
  /** Whether what is in a value may be looked at. */
  private enters(depth: number): boolean {
    if (depth >= DEEPEST) this.isWhole = false;
    return this.spend(1);
  }

  programs(name: string, value: unknown, at: number): Program[] {
    const isNamed = NAMES_PROGRAM.has(plain(name));
    return [...new Set(this.programTexts(value, isNamed))].flatMap((text) => {
      const named = isNamed ? programNamed(text, this.startsCommand) : programAlone(text, this.startsCommand);
      if (named === null) return [];
      const isHidden = named.isHidden && !NAMES_FILE_TOO.has(plain(name));
      return named.heads.length === 0 ? [] : [{ at, text, heads: named.heads, isHidden, isNamed }];
    });
  }

  /**
   * What may name a program: a text, a list of words, a member of an object. Under a name that says so every text of the object is one,
   * because the author of a call chooses the order of its members.
   */
  private programTexts(value: unknown, isNamed: boolean, depth = 0): readonly string[] {
    if (isNamed && depth > 0 && typeof value === 'string' && !this.spend(value.length)) return [];
    const here = isNamed ? opened(value) : value;
    if (typeof here === 'string') return [here];
    if (typeof here !== 'object' || here === null || !this.enters(depth)) return [];
    const within = (held: readonly unknown[]) => held.flatMap((item) => this.programTexts(item, isNamed, depth + 1));
    if (Array.isArray(here)) {
      const words = scalarsIn(here).filter((word) => word.trim() !== '');
      if (!isNamed) return words.length === 1 ? words : here.length === 1 ? within(here) : [];
      const lists = [words, ...columnsOf(here).map(([, column]) => column)];
      return [...lists.flatMap((list) => [commandLine(list), list.join(' ')]), ...within(here.filter(isObject))];
    }
    const entries = Object.entries(here);
    if (isNamed) return within(entries.map(([, item]) => item));
    const named = entries.filter(([name]) => NAMES_PROGRAM.has(plain(name)));
    return within((named.length === 0 && entries.length === 1 ? entries : named).map(([, item]) => item));
  }

  /** The words of a value and of the lists and objects in it, but for those that no tool hands to a program. */
  words(value: unknown, depth = 0, found: string[] = []): string[] {
    if (typeof value === 'string' && !this.spend(value.length)) return found;
    const here = opened(value);
    if (typeof here === 'string') {
      found.push(here);
      for (const document of documentsIn(here)) if (this.enters(depth)) this.words(document, depth + 1, found);
    } else if (typeof here === 'number' || typeof here === 'boolean') found.push(String(here));
    else if (typeof here === 'object' && here !== null && this.enters(depth))
      for (const [name, item] of Array.isArray(here) ? here.map((item) => ['', item] as const) : Object.entries(here))
        if (kindOf(name) !== 'other') this.words(item, depth + 1, found);
    return found;
  }

  /** The words of a member with its name, in the spellings that programs take: `--force`, `-f`, `--output x`, `if=x`. */
  private spelled(name: string, value: unknown, isOwn: boolean, depth = 0): readonly string[] {
    const here = opened(value);
    if (isObject(here) && this.enters(depth))
      return Object.entries(here).flatMap(([inner, item]) =>
        this.spelled(inner, item, kindOf(inner) === 'any', depth + 1),
      );
    const words = this.words(here);
    if (!isOwn || !/^[\w.-]{1,64}$/.test(name)) return words;
    if (here === false || here === null) return [];
    const option = name.startsWith('-') ? name : name.length === 1 ? `-${name}` : `--${name}`;
    if (here === true) return [option];
    return [option, ...words, ...(Array.isArray(here) ? [] : words.map((word) => `${name}=${word}`))];
  }

  /** `{"rm": "-rf /"}`: the name of the member is the program. */
  linesOfName(name: string, value: unknown): MembersLine[] {
    if (NAMES_PROGRAM.has(plain(name)) || !this.startsCommand(name)) return [];
    const words = this.words(value);
    return words[0] !== undefined && isOption(words[0]) ? [{ name, line: `${name} ${words.join(' ')}` }] : [];
  }

  linesOfProgram(one: Program, pieces: readonly Piece[], isGiven: boolean, hasOption: boolean): MembersLine[] {
    const { at, isNamed } = one;
    if (!this.spend(pieces.length)) return [];
    const { name, words: held } = pieces[at] as Piece;
    if (!this.spend(held.length)) return [];
    const place = held.indexOf(one.text);
    const own = place < 0 ? [] : held.toSpliced(place, 1);
    const beside = pieces.filter(
      ({ kind, holdsProgram }, other) =>
        other !== at && kind !== 'other' && (isNamed || kind === 'arguments' || !holdsProgram),
    );
    const orders: (readonly string[])[] = isGiven
      ? [wordsOf(beside.filter(({ kind }) => kind === 'arguments' || kind === 'program'))]
      : [];
    // A search has options and a path too: {"pattern": "rm", "options": {...}, "path": "/src"}.
    if (isNamed || hasOption || own.some(isOption)) {
      const ranked = inOrder(beside, OPTIONS_FIRST);
      orders.push(wordsOf(beside), wordsOf(ranked), wordsOf(inOrder(beside, OPTIONS_LAST)));
      if (isNamed) orders.push(ranked.flatMap((piece) => this.spelled(piece.name, piece.value, piece.kind === 'any')));
    }
    const lines = new Set<string>();
    for (const order of orders)
      for (const words of own.length === 0 ? [order] : [[...own, ...order], order]) {
        if (words.length === 0) continue;
        for (const line of [commandLine(words), words.join(' ')])
          for (const head of one.heads) {
            if (!this.spend(head.length + line.length)) break;
            lines.add(`${head} ${line}`.trimStart());
          }
      }
    return [...lines].map((line) => ({ name, line }));
  }
}

/**
 * The command lines that a tool may make of the members of an object: `{"command": "rm", "args": ["-rf"], "path": "/"}`. The author of a call
 * chooses the order of its members, and a tool may know them by name, so each program is put before the arguments alone; before all members
 * as written; before them as a command line has them, with options first and with options last; and before their names as options. A member
 * holds a program by its name, or where it is nothing but a program beside arguments: a member named so, or options.
 */
export function linesOfMembers(
  members: readonly Member[],
  startsCommand: StartsCommand,
  budget: JoiningBudget,
): Reading {
  const look = new Look(budget, startsCommand);
  const byName = members.flatMap(([name, value]) => look.linesOfName(name, value));
  const found = members.flatMap(([name, value], at) => look.programs(name, value, at));
  if (found.length === 0 || members.length + byName.length < 2)
    return { lines: byName, isWhole: look.isWhole || !members.some(([name]) => saysProgram(name, startsCommand)) };
  const holders = new Set(found.flatMap(({ at }) => (isObject(opened(members[at]?.[1])) ? [at] : [])));
  const pieces = members.map(([name, value], at): Piece => {
    const kind = kindOf(name);
    return { name, kind, value, words: kind === 'other' ? [] : look.words(value), holdsProgram: holders.has(at) };
  });
  const given = pieces.filter(({ kind, holdsProgram }) => kind === 'arguments' || !holdsProgram);
  const isGiven = given.some(({ kind, words }) => kind === 'arguments' && words.length > 0);
  const hasOption = given.some(({ words }) => words.some(isOption));
  const wanted = found.filter(
    ({ at, isNamed }) => isNamed || isGiven || hasOption || (holders.has(at) && pieces[at]?.words.some(isOption)),
  );
  if (wanted.length === 0) return { lines: byName, isWhole: true };
  const lines = wanted.flatMap((one) => look.linesOfProgram(one, pieces, isGiven, hasOption));
  const isHidden = (isGiven || hasOption) && wanted.some((one) => one.isHidden);
  return { lines: [...byName, ...lines], isWhole: look.isWhole && !isHidden };
}

/** Whether a member that could not be looked through may be a program or its arguments. */
const saysProgram = (name: string, startsCommand: StartsCommand): boolean =>
  NAMES_PROGRAM.has(plain(name)) || NAMES_ARGUMENTS.has(plain(name)) || startsCommand(name);

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

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const documentsIn = (value: unknown): readonly unknown[] =>
  typeof value === 'string' ? (unpacked(value)?.documents ?? []) : [];
function opened(value: unknown): unknown {
  const inside = typeof value === 'string' ? unpacked(value) : undefined;
  if (inside?.isJson !== true) return value;
  return inside.documents.length === 1 ? inside.documents[0] : inside.documents;
}
