import type { Insertable, Kysely } from 'kysely';
import { canonicalJson } from '../crypto/digest.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import type { Store } from '../store/database.js';

/** Kept as one text with one tag, so that no single pin can be changed, added or taken away beside it. */
interface SealedSet {
  tenant: string;
  agent: string;
  content: string;
  /** Null only in sets that an older Gate left, until `adoptPins` took them over; afterwards it is the mark of a foreign hand. */
  tag: string | null;
}
export interface ToolPinTables {
  tool_pin_sets: SealedSet;
  tool_seen_sets: SealedSet;
}

/** Whose list of tools is pinned. */
export interface PinOwner {
  readonly tenant: string;
  readonly agent: string;
}

/** What an agent's tools looked like at first: digest by tool. */
export interface PinnedTools {
  readonly digests: ReadonlyMap<string, string>;
  /** Those of them that an older Gate made, over description and input schema alone. */
  readonly narrow: ReadonlySet<string>;
  /** When the first of them was pinned, ISO 8601: another moment after they were let go. */
  readonly since: string | null;
  /** A whole list was seen. */
  readonly complete: boolean;
  /** Somebody other than Gate wrote them: they say nothing, and nothing is pinned over them until they are let go. */
  readonly tampered: boolean;
}

/** Keeps what was seen first; nothing replaces it but `accept`, `widen` and `forget`. What it keeps is authenticated with Gate's keys. */
export interface ToolPinStore {
  read(owner: PinOwner): Promise<PinnedTools>;
  /** A tool that is pinned already stays as it is. */
  pin(owner: PinOwner, digests: ReadonlyMap<string, string>): Promise<void>;
  complete(owner: PinOwner): Promise<void>;
  /** Puts digests of whole definitions in the place of narrow ones. */
  widen(owner: PinOwner, digests: ReadonlyMap<string, string>): Promise<void>;
  owners(): Promise<(PinOwner & { readonly tools: number; readonly since: string })[]>;
  /** What the agent's list said last of each tool, also where it is not what is pinned. */
  seen(owner: PinOwner): Promise<ReadonlyMap<string, string>>;
  /** What the lists of a tenant's agents said of each tool, the one that came last. */
  seenByAny(tenant: string): Promise<ReadonlyMap<string, string>>;
  /** Adds to what was seen, up to so many names; `whole` takes away what is not in it. */
  saw(owner: PinOwner, digests: ReadonlyMap<string, string>, whole: boolean): Promise<void>;
  /** Pins exactly these digests, whatever was seen meanwhile; `null` takes a tool out. Returns the tools whose pin is another one now. */
  accept(owner: PinOwner, accepted: ReadonlyMap<string, string | null>): Promise<readonly string[]>;
  /** The next list is the first again. Returns how many tools were pinned. */
  forget(owner: PinOwner): Promise<number>;
}

type Pin = { sha256: string; at: string; narrow?: true };
interface PinSet {
  complete: boolean;
  tools: Record<string, Pin>;
}
type SetTable = 'tool_pin_sets' | 'tool_seen_sets';
/** A digest alone is from an older Gate. */
type SeenSet = Record<string, { sha256: string; at: string } | string>;
const shownAs = (seen: SeenSet[string]) => (typeof seen === 'string' ? { sha256: seen, at: '' } : seen);
/** Names kept of lists that were not read to their end: a server that makes up names for ever fills no store. */
const NAMES_KEPT = 5_000;

/** The owner of no agent's list: the note that an earlier Gate left here once it had taken lists over. */
const NOBODY = '';
const ATTEMPTS = 20;

export interface ToolPinStoreOptions {
  readonly keys: KeyRing;
  readonly now?: () => number;
}

const tagOf = (keys: KeyRing, table: SetTable, { tenant, agent }: PinOwner, content: string): string =>
  keys.authenticate(canonicalJson([tenant, agent, content]), table);

/**
 * Gives the lists of an older Gate, which have no tag, theirs as they stand. To be run where the store gets the mark of its keys and at no
 * other time: a list without a tag in a marked store is one that somebody put there. Where one list has a tag, none is taken over.
 */
export async function adoptPins(
  transaction: Kysely<ToolPinTables>,
  keys: KeyRing,
  onAdopted: (lists: number) => void = () => undefined,
): Promise<void> {
  for (const table of ['tool_pin_sets', 'tool_seen_sets'] as const)
    if (await transaction.selectFrom(table).select('agent').where('tag', 'is not', null).limit(1).executeTakeFirst())
      return;
  const found = await transaction.selectFrom('tool_pin_sets').selectAll().execute();
  for (const { tenant, agent, content } of found)
    await transaction
      .updateTable('tool_pin_sets')
      .set({ tag: tagOf(keys, 'tool_pin_sets', { tenant, agent }, content) })
      .where('tenant', '=', tenant)
      .where('agent', '=', agent)
      .execute();
  if (found.length > 0) onAdopted(found.length);
}

export function toolPinStoreOver(
  { db }: Store<ToolPinTables>,
  { keys, now = Date.now }: ToolPinStoreOptions,
): ToolPinStore {
  const time = () => new Date(now()).toISOString();
  const holds = (table: SetTable, owner: PinOwner, content: string, tag: string | null): boolean => {
    try {
      return tag !== null && keys.authentic(tag, canonicalJson([owner.tenant, owner.agent, content]), table);
    } catch {
      return false;
    }
  };

  const rowOf = (table: SetTable, { tenant, agent }: PinOwner) =>
    db
      .selectFrom(table)
      .select(['content', 'tag'])
      .where('tenant', '=', tenant)
      .where('agent', '=', agent)
      .executeTakeFirst();

  /** The set as it stands, and the row it stands in, for the compare-and-set. */
  async function setOf<Content>(table: SetTable, owner: PinOwner, empty: Content) {
    const row = await rowOf(table, owner);
    const tampered = row !== undefined && !holds(table, owner, row.content, row.tag);
    return { row, tampered, content: row && !tampered ? (JSON.parse(row.content) as Content) : empty };
  }

  /** Writes what `change` makes of the set, over exactly what it saw; `null` leaves it. */
  async function change<Content>(
    table: SetTable,
    owner: PinOwner,
    empty: Content,
    made: (content: Content) => Content | null,
  ): Promise<void> {
    for (let tried = 1; tried <= ATTEMPTS; tried += 1) {
      const { row, tampered, content } = await setOf(table, owner, empty);
      // What was seen is seen anew with the next list; what is pinned waits for the operator.
      if (tampered && table === 'tool_pin_sets') return;
      const next = made(structuredClone(content));
      if (next === null) return;
      const text = canonicalJson(next as never);
      const written = { content: text, tag: tagOf(keys, table, owner, text) };
      if (row?.content === text && row.tag !== null && !tampered) return;
      const values: Insertable<SealedSet> = { tenant: owner.tenant, agent: owner.agent, ...written };
      const done = row
        ? (
            await db
              .updateTable(table)
              .set(written)
              .where('tenant', '=', owner.tenant)
              .where('agent', '=', owner.agent)
              .where('content', '=', row.content)
              .executeTakeFirst()
          ).numUpdatedRows === 1n
        : (
            await db
              .insertInto(table)
              .values(values)
              .onConflict((conflict) => conflict.columns(['tenant', 'agent']).doNothing())
              .executeTakeFirst()
          ).numInsertedOrUpdatedRows === 1n;
      if (done) return;
    }
    throw new GateError('store_unavailable', 'the pins of an agent change faster than they can be written');
  }
  const noPins: PinSet = { complete: false, tools: {} };
  const changePins = (owner: PinOwner, made: (set: PinSet) => PinSet | null) =>
    change<PinSet>('tool_pin_sets', owner, noPins, made);
  const entries = (digests: ReadonlyMap<string, string>) => {
    const at = time();
    return Object.fromEntries([...digests].map(([tool, sha256]) => [tool, { sha256, at }]));
  };
  const seenOf = async (owner: PinOwner): Promise<Record<string, string>> => {
    const { content } = await setOf<SeenSet>('tool_seen_sets', owner, {});
    return Object.fromEntries(Object.entries(content).map(([tool, seen]) => [tool, shownAs(seen).sha256]));
  };

  return {
    async read(owner) {
      const { content, tampered } = await setOf<PinSet>('tool_pin_sets', owner, noPins);
      const tools = Object.entries(content.tools);
      return {
        digests: new Map(tools.map(([tool, { sha256 }]) => [tool, sha256])),
        narrow: new Set(tools.flatMap(([tool, { narrow }]) => (narrow ? [tool] : []))),
        since: sinceOf(content),
        complete: content.complete,
        tampered,
      };
    },
    pin: (owner, digests) => changePins(owner, (set) => ({ ...set, tools: { ...entries(digests), ...set.tools } })),
    complete: (owner) => changePins(owner, (set) => ({ ...set, complete: true })),
    widen: (owner, digests) =>
      changePins(owner, (set) => {
        const tools = Object.entries(set.tools).map(([tool, pin]) => {
          const sha256 = digests.get(tool);
          return [tool, pin.narrow && sha256 !== undefined ? { sha256, at: pin.at } : pin] as const;
        });
        return { ...set, tools: Object.fromEntries(tools) };
      }),
    owners: () => pinOwnersIn(db),
    seen: async (owner) => new Map(Object.entries(await seenOf(owner))),
    async seenByAny(tenant) {
      const rows = await db.selectFrom('tool_seen_sets').selectAll().where('tenant', '=', tenant).execute();
      const seen = rows
        .filter((row) => holds('tool_seen_sets', row, row.content, row.tag))
        .flatMap(({ content }) => Object.entries(JSON.parse(content) as SeenSet))
        .map(([tool, said]) => ({ tool, ...shownAs(said) }));
      return new Map(
        seen
          .toSorted((one, other) => Number(one.at > other.at) - Number(one.at < other.at))
          .map(({ tool, sha256 }) => [tool, sha256]),
      );
    },
    saw: (owner, digests, whole) =>
      change<SeenSet>('tool_seen_sets', owner, {}, (seen) => {
        const at = time();
        const before = new Map(Object.entries(seen));
        let room = whole ? digests.size : Math.max(0, NAMES_KEPT - before.size);
        const shown = [...digests].flatMap(([tool, sha256]) => {
          const known = before.get(tool);
          if (known !== undefined) return [[tool, shownAs(known).sha256 === sha256 ? known : { sha256, at }] as const];
          room -= 1;
          return room < 0 ? [] : [[tool, { sha256, at }] as const];
        });
        return Object.fromEntries([...(whole ? [] : before), ...shown]);
      }),
    async accept(owner, accepted) {
      let other: [string, string | null][] = [];
      await changePins(owner, (set) => {
        other = [...accepted].filter(([tool, sha256]) => (set.tools[tool]?.sha256 ?? null) !== sha256);
        const named = new Map(other);
        const kept = Object.entries(set.tools).filter(([tool]) => !named.has(tool));
        const pinned = other.flatMap(([tool, sha256]) => (sha256 === null ? [] : [[tool, sha256] as const]));
        return { ...set, tools: { ...Object.fromEntries(kept), ...entries(new Map(pinned)) } };
      });
      return other.map(([tool]) => tool).toSorted();
    },
    async forget(owner) {
      const { content, row } = await setOf<PinSet>('tool_pin_sets', owner, noPins);
      for (const table of ['tool_pin_sets', 'tool_seen_sets'] as const)
        await db.deleteFrom(table).where('tenant', '=', owner.tenant).where('agent', '=', owner.agent).execute();
      return row ? Math.max(1, Object.keys(content.tools).length) : 0;
    },
  };
}

const sinceOf = (set: PinSet): string | null =>
  Object.values(set.tools)
    .map(({ at }) => at)
    .toSorted()[0] ?? null;

/** Whose tools are pinned; reads only, and takes what it reads as it stands. */
export async function pinOwnersIn(
  db: Store<ToolPinTables>['db'],
): Promise<(PinOwner & { readonly tools: number; readonly since: string })[]> {
  const rows = await db
    .selectFrom('tool_pin_sets')
    .select(['tenant', 'agent', 'content'])
    .where('tenant', '!=', NOBODY)
    .orderBy('tenant')
    .orderBy('agent')
    .execute();
  return rows.flatMap(({ tenant, agent, content }) => {
    const set = JSON.parse(content) as PinSet;
    const since = sinceOf(set);
    return since === null ? [] : [{ tenant, agent, tools: Object.keys(set.tools).length, since }];
  });
}
