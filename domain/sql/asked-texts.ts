import type { SqlFacts } from '../../contracts/policy.js';
import { LONGEST_NAME, lowered } from '../argument-texts.js';
import { ACTION_WORDS } from './words.js';

type Place = SqlFacts['other'][number];
type Role = Place['role'];

/** Names of arguments, in lower case, by what the rules and the reader make of what stands under them. */
export interface SqlArgumentNames {
  /** Statements alone, or a statement and nothing else. */
  readonly statement_arguments: readonly string[];
  readonly sql_arguments: readonly string[];
  /** What is asked in a language that no parser here reads, and what is asked in any. */
  readonly language_arguments: readonly string[];
  readonly query_arguments: readonly string[];
  /** A name or a choice, in one word: a table, an order, a format. */
  readonly setting_arguments: readonly string[];
  /** The values that a statement with places for them takes. */
  readonly value_arguments: readonly string[];
  /** Words for people about the call. */
  readonly prose_arguments: readonly string[];
  /** Lists of words that nobody puts together to one text. */
  readonly word_arguments: readonly string[];
  /** What tools carry to a file or a reader. */
  readonly carriers: readonly { readonly arguments: readonly string[] }[];
}

/** `created_at`, `main`, `$gt`: a value or a name, and no `deleteMany`. */
export const namesNoAction = (text: string): boolean =>
  /^[\w.:@/$-]{1,64}$/.test(text) &&
  !ACTION_WORDS.has(text.toLowerCase()) &&
  !text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .some((word) => ACTION_WORDS.has(word));

/** Begins with the word of an action. Longer than this, it begins with none. */
const actsFirst = (text: string): boolean => {
  const [first = ''] = text.slice(0, LONGEST_NAME).trimStart().split(/\s/, 1);
  return /^[\w.$-]+$/.test(first) && !namesNoAction(first);
};

/** What a call is asked beside what is proven to be one plain read of SQL. */
export interface AskedTexts {
  note(text: string, path: readonly string[], isName: boolean): void;
  places(proven: { readonly read: boolean; readonly withPlaces: boolean }): SqlFacts['other'];
}

/**
 * One place is kept for each argument name that the rules know, and one for all that they do not: so many places as a call may have, none
 * of them hides another.
 */
export function createAskedTexts(names: SqlArgumentNames): () => AskedTexts {
  const [languages, queries, settings, values, prose] = [
    names.language_arguments,
    [...names.query_arguments, ...names.statement_arguments, ...names.sql_arguments],
    names.setting_arguments,
    names.value_arguments,
    names.prose_arguments,
  ].map((list) => new Set(list)) as [Set<string>, Set<string>, Set<string>, Set<string>, Set<string>];
  const asks = (name: string): boolean => languages.has(name) || queries.has(name);
  const roleOf = (path: readonly string[]): Role => {
    if (prose.has(path.at(-1) ?? '')) return 'prose';
    const value = path.findLastIndex((name) => values.has(name));
    return value >= 0 && !path.slice(value + 1).some(asks) ? 'value' : 'text';
  };
  return () => {
    const places = new Map<string, Place>();
    const settled = new Set<string>();
    return {
      note: (text, path, isName) => {
        const harmless = namesNoAction(text);
        // The name of an argument says nothing by itself: "limit".
        if (text.trim() === '' || (harmless && isName)) return;
        const low = lowered(path);
        // HSET balance ada 999999 are no values of a statement.
        const role = actsFirst(text) && roleOf(low) === 'value' ? 'text' : roleOf(low);
        const place = low.join('\n');
        // A second word at the same place makes a command of the two: HSET, balance.
        const plain = harmless && settings.has(low.at(-1) ?? '') && !low.includes('') && !settled.has(place);
        if (plain) settled.add(place);
        const known = low.find((name) => languages.has(name)) ?? low.find((name) => queries.has(name)) ?? '';
        const key = `${role} ${known}`;
        const before = places.get(key);
        if (before === undefined || (before.plain && !plain)) places.set(key, { path: [...path], plain, role });
      },
      places: ({ read, withPlaces }) =>
        [...places.values()].map((place) => {
          const holds = place.role === 'prose' ? read : place.role === 'value' && withPlaces;
          return holds ? place : { ...place, role: 'text' };
        }),
    };
  };
}
