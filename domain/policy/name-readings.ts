import { LONGEST_READ, plainReading } from '../plain-name.js';
import { digitsAsLetters } from '../skeleton.js';
import type { PolicyData } from './policy-data.js';

/**
 * What a name may mean, itself first; the others are how else it may be read: decoded (`plainReading`), with its words apart where they are written
 * in one (`wiretransfer`, `WIRETRANSFER`), in one case (`dElEtE_file`), and with letters for the digits between letters (`d3lete_file`). What
 * rules find in any of them they find in the name. Most names have one reading.
 */
export type NameReader = (name: string) => readonly string[];

/** A reader by the words of the policy's lists. */
export function createNameReadings(data: Partial<PolicyData['gate']> | undefined): NameReader {
  const known = wordsIn(data);
  return (name) => {
    if (name.length > LONGEST_READ) return [name];
    const plain = plainReading(name);
    return [...new Set([name, plain, inWords(plain, known), inWords(withLetters(plain, known), known)])];
  };
}

/** Short words of these are parts of too many others: `rm` of `form`. */
const TOO_SHORT = new Set(['rm', 'del', 'or', 'un', 'dm']);

/** Lists that are missing are for the rules to refuse. */
function wordsIn(data: Partial<PolicyData['gate']> | undefined): ReadonlySet<string> {
  const { production_writes: writes, plain_reads: reads, information_flow: flow } = data ?? {};
  const lists = [
    data?.verbs,
    data?.denylist,
    data?.destructive,
    data?.identity,
    data?.bulk_export,
    data?.money,
    data?.deployment,
    data?.kill_chain,
    data?.approval?.strict_tools,
    [flow?.outbound_tools, flow?.paying_tools, flow?.fetching_tools],
    flow?.destination_arguments.filter((word) => word.length > 3),
    [writes?.verbs, writes?.objects, writes?.environment_words],
    [reads?.nouns, reads?.prefixes, reads?.glued_words],
  ];
  const words = lists.flatMap(textsIn).flatMap((entry) => entry.split(/[_ ]/));
  return new Set(words.filter((word) => word.length > 1 && !TOO_SHORT.has(word)));
}
const textsIn = (list: unknown): readonly string[] =>
  typeof list === 'string'
    ? [list]
    : typeof list === 'object' && list !== null
      ? Object.values(list).flatMap(textsIn)
      : [];

/** A name in which digits that stand in words are the letters they look like; 1 looks like two. */
const withLetters = (name: string, known: ReadonlySet<string>): string =>
  /[013457]/.test(name)
    ? name.replaceAll(/[a-z0-9]{2,512}/gi, (word) => {
        if (!/[a-z]/i.test(word) || !/[013457]/.test(word)) return word;
        const low = word.toLowerCase();
        const words =
          splitWords(digitsAsLetters(low), known, true) ??
          splitWords(digitsAsLetters(low.replaceAll('1', 'l')), known, true);
        return words?.join('_') ?? word;
      })
    : name;

/** The words of a run of letters as case tells them apart; the rules split names so too (`policies/gate/lib/names.rego`). */
const BY_CASE = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;

/** A name with its runs of letters split into known words, where case does not split them so already. */
function inWords(name: string, known: ReadonlySet<string>): string {
  return name.replaceAll(/[a-z]{2,512}/gi, (run) => {
    const byCase = (run.match(BY_CASE) ?? []).map((word) => word.toLowerCase());
    const words = splitWords(run.toLowerCase(), known, !byCase.some((word) => word.length > 2 && known.has(word)));
    if (words === null) return run;
    return byCase.join('_') === words.join('_') ? run : words.join('_');
  });
}

/** Letters that known words must make up beside an unknown head or tail. */
const ENOUGH = 8;
const UNKNOWN = 100;
const LONGEST_WORD = 20;

/**
 * The fewest known words that a run of letters consists of; where case tells no known word apart, an unknown head or tail may stand beside two or more of them
 * (`mywiretransfer`). Null where it consists of none.
 */
function splitWords(run: string, known: ReadonlySet<string>, mayHoldUnknown: boolean): readonly string[] | null {
  const isKnown = (word: string): boolean => known.has(word) || (word.length > 3 && known.has(singular(word)));
  if (isKnown(run)) return [run];
  // The cheapest way to each place: its cost, where its last word begins, and how many letters of it are known.
  const ways: ({ readonly cost: number; readonly from: number; readonly known: number } | undefined)[] = [
    { cost: 0, from: 0, known: 0 },
  ];
  for (let end = 1; end <= run.length; end += 1) {
    const isTail = end === run.length;
    for (let from = 0; from < end; from += 1) {
      const isShort = end - from <= LONGEST_WORD;
      const before = ways[from];
      if (before === undefined || !(isShort || isTail || from === 0)) continue;
      const word = run.slice(from, end);
      const isWord = isShort && isKnown(word);
      if (!isWord && (!mayHoldUnknown || (from !== 0 && !isTail))) continue;
      const cost = before.cost + (isWord ? 1 : UNKNOWN + word.length);
      const best = ways[end];
      if (best === undefined || cost < best.cost)
        ways[end] = { cost, from, known: before.known + (isWord ? word.length : 0) };
    }
  }
  const whole = ways[run.length];
  if (whole === undefined) return null;
  const words: string[] = [];
  for (let end = run.length; end > 0; end = ways[end]?.from ?? 0) words.unshift(run.slice(ways[end]?.from, end));
  const knownWords = words.filter(isKnown).length;
  const isEnough = knownWords === words.length || (knownWords > 1 && whole.known >= ENOUGH);
  return isEnough && words.length > 1 ? words : null;
}

const singular = (word: string): string =>
  word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.endsWith('s') ? word.slice(0, -1) : word;
