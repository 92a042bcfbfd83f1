import type { SqlInArguments } from '../../contracts/policy.js';
import { LONGEST_NAME, lowered } from '../argument-texts.js';
import { ACTION_WORDS } from './vocabulary.js';

type Place = SqlInArguments['other'][number];
type Role = Place['role'];

/** Names of arguments in lower case, grouped by what the rules and the reader do with their values. */
export interface SqlArgumentNames {
  /** Arguments that contain only statements. */
  readonly statement_arguments: readonly string[];
  readonly sql_arguments: readonly string[];
  /** Queries in languages that no parser here reads, and queries in any language. */
  readonly language_arguments: readonly string[];
  readonly query_arguments: readonly string[];
  /** A name or a choice in one word: a table, an order, a format. */
  readonly setting_arguments: readonly string[];
  /** The values for a statement's placeholders. */
  readonly value_arguments: readonly string[];
  /** Explanations of the call, written for people. */
  readonly prose_arguments: readonly string[];
  /** Lists of words that no tool joins into one text. */
  readonly word_arguments: readonly string[];
  /** Texts that tools write to a file or send to a reader. */
  readonly carriers: readonly { readonly arguments: readonly string[] }[];
}

/** A plain value or name such as `created_at`, `main`, `$gt`, but not an action such as `deleteMany`. */
export const namesNoAction = (text: string): boolean =>
  /^[\w.:@/$-]{1,64}$/.test(text) &&
  !ACTION_WORDS.has(text.toLowerCase()) &&
  !text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .some((word) => ACTION_WORDS.has(word));

/** Whether a text starts with an action word. A first word longer than LONGEST_NAME does not count. */
const actsFirst = (text: string): boolean => {
  const [first = ''] = text.slice(0, LONGEST_NAME).trimStart().split(/\s/, 1);
  return /^[\w.$-]+$/.test(first) && !namesNoAction(first);
};

/** Collects the texts of a call that are not proven to be one plain SQL read. */
export interface AskedTexts {
  note(text: string, path: readonly string[], isName: boolean): void;
  places(proven: { readonly read: boolean; readonly withPlaces: boolean }): SqlInArguments['other'];
}

/**
 * Keeps one place for each argument name that the rules know, and one for all other names. However many places a call has, none of them can
 * hide another.
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
        // An argument's name says nothing on its own, for example "limit".
        if (text.trim() === '' || (harmless && isName)) return;
        const low = lowered(path);
        // "HSET balance ada 999999" is a command, not a list of values for a statement.
        const role = actsFirst(text) && roleOf(low) === 'value' ? 'text' : roleOf(low);
        const place = low.join('\n');
        // A second word at the same place makes a command of both: HSET, balance.
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
