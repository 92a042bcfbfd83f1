import type { Kysely } from 'kysely';
import { LRUCache } from 'lru-cache';
import { canonicalJson } from '../../domain/crypto/digest.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import { askedOf } from './jobs.js';
import { type Ask, statement, type Statement } from './statement.js';

/** The columns of a table of sets, besides those that name a set's owner. */
export interface TaggedSet {
  content: string;
  /** Null only in sets of an earlier Gate that were not converted yet; afterwards, null shows that somebody else wrote the set. */
  tag: string | null;
}
type SetTables = Record<string, Record<string, string | null>>;

/** A set as it was found. `content` is empty when there is none, or none that Gate wrote. */
export interface FoundSet<Content> {
  readonly content: Content;
  readonly tampered: boolean;
  /** The row that holds it, for the compare-and-set. */
  readonly row: TaggedSet | undefined;
}

export interface SetForm<Column extends string, Content> {
  /** The table, and the use that the key of its tags is derived for. */
  readonly table: string;
  /** The columns that name the owner, in the order in which the tag covers them. */
  readonly columns: readonly Column[];
  readonly empty: Content;
  readonly parse: (content: unknown) => Content;
  /** Whether the next change may overwrite a set that Gate did not write. */
  readonly mendsItself?: boolean;
}

/** The sets that were read and verified last; kept in memory while their row stays the same. */
const KEPT = 1_000;
const ATTEMPTS = 20;

/**
 * Sets that are each stored as one text with one tag, so that nobody without Gate's keys can change, add, move or remove a single member.
 * Whoever can write the store can restore a whole earlier set, or delete it; readers must detect that.
 */
export function taggedSets<Column extends string, Content>(
  db: Kysely<never>,
  keys: KeyRing,
  { table, columns, empty, parse, mendsItself = false }: SetForm<Column, Content>,
  ask: Ask = askedOf(db),
) {
  type Key = Readonly<Record<Column, string>>;
  const sets = db as unknown as Kysely<SetTables>;
  const opened = new LRUCache<string, { readonly row: TaggedSet; readonly content: { readonly of: Content } }>({
    max: KEPT,
  });
  const where = (named: readonly string[]) => named.map((column) => `${column} = ?`).join(' and ');
  const selectSet = statement<TaggedSet>(`select content, tag from ${table} where ${where(columns)}`);
  /** By the given owner columns. */
  const selectSets = new Map<string, Statement<TaggedSet & Key>>();
  const selecting = (by: readonly Column[]): Statement<TaggedSet & Key> => {
    const known = selectSets.get(by.join());
    if (known) return known;
    const made = statement<TaggedSet & Key>(
      `select ${[...columns, 'content', 'tag'].join(', ')} from ${table}${by.length > 0 ? ` where ${where(by)}` : ''}`,
    );
    selectSets.set(by.join(), made);
    return made;
  };
  const named = (key: Partial<Key>) => Object.fromEntries(Object.entries(key)) as Record<string, string>;
  const placed = (key: Key) => columns.map((column) => key[column]);
  const tagOf = (key: Key, content: string): string =>
    keys.authenticate(canonicalJson([...placed(key), content]), table);

  function holds(key: Key, { content, tag }: TaggedSet): boolean {
    try {
      return tag !== null && keys.authentic(tag, canonicalJson([...placed(key), content]), table);
    } catch {
      return false;
    }
  }
  function open(key: Key, row: TaggedSet): FoundSet<Content> {
    const place = JSON.stringify(placed(key));
    const known = opened.get(place);
    if (known && known.row.content === row.content && known.row.tag === row.tag)
      return { row, tampered: false, content: known.content.of };
    if (!holds(key, row)) return { row, tampered: true, content: empty };
    const content = parse(JSON.parse(row.content));
    opened.set(place, { row, content: { of: content } });
    return { row, tampered: false, content };
  }

  async function read(key: Key): Promise<FoundSet<Content>> {
    const {
      rows: [row],
    } = await ask(selectSet, ...placed(key));
    return row ? open(key, row) : { row: undefined, tampered: false, content: empty };
  }

  /** Replaces exactly what was read, or inserts if there was nothing. False when the row has changed since. */
  async function replace(key: Key, { row }: Pick<FoundSet<Content>, 'row'>, content: Content): Promise<boolean> {
    const text = canonicalJson(content as never);
    const written = { content: text, tag: tagOf(key, text) };
    if (!row) {
      const inserted = await sets
        .insertInto(table)
        .values({ ...named(key), ...written })
        .onConflict((conflict) => conflict.columns([...columns]).doNothing())
        .executeTakeFirst();
      return inserted.numInsertedOrUpdatedRows === 1n;
    }
    const updated = await sets
      .updateTable(table)
      .set(written)
      .where(({ and }) => and(named(key)))
      .where('content', '=', row.content)
      .where('tag', row.tag === null ? 'is' : '=', row.tag)
      .executeTakeFirst();
    return updated.numUpdatedRows === 1n;
  }

  return {
    tagOf,
    holds,
    read,
    replace,

    /**
     * Writes what `made` makes of the set; `null` leaves it unchanged. A set that Gate did not write stays as it is, unless the table
     * allows overwriting it.
     */
    async change(key: Key, made: (content: Content) => Content | null): Promise<void> {
      for (let tried = 1; tried <= ATTEMPTS; tried += 1) {
        const found = await read(key);
        if (found.tampered && !mendsItself) return;
        const next = made(structuredClone(found.content));
        if (next === null) return;
        if (!found.tampered && found.row?.content === canonicalJson(next as never)) return;
        if (await replace(key, found, next)) return;
      }
      throw new GateError('store_unavailable', `a set of ${table} changes faster than it can be written`);
    },

    /** Every one of these sets that Gate wrote. */
    async all(of: Partial<Key>): Promise<readonly Content[]> {
      const by = columns.filter((column) => of[column] !== undefined);
      const { rows } = await ask(selecting(by), ...by.map((column) => of[column] as string));
      return rows.flatMap((row) => {
        const found = open(row, row);
        return found.tampered ? [] : [found.content];
      });
    },

    async remove(of: Partial<Key>): Promise<void> {
      await sets
        .deleteFrom(table)
        .where(({ and }) => and(named(of)))
        .execute();
    },
  };
}
