import type { Kysely } from 'kysely';
import { sha256Hex } from '../../domain/crypto/digest.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { Store } from '../store/database.js';
import { askOf } from '../store/jobs.js';
import { madeOnce } from '../store/made-once.js';
import type { Ask } from '../store/statement.js';
import { type TaggedSet, taggedSets } from '../store/tagged-sets.js';
import type { PinnedTools, PinOwner, ToolPinStore } from '../../domain/tool-definitions/ports.js';

export interface ToolPinTables {
  tool_pin_sets: TaggedSet & { tenant: string; agent: string };
  tool_seen_sets: TaggedSet & { tenant: string; upstream: string; agent: string };
  tool_definitions: { tenant: string; sha256: string; content: string; kept_ms: number };
}

type Pin = { sha256: string; at: string; narrow?: true };
interface PinSet {
  complete: boolean;
  /** Prefixes of upstreams whose part is complete. */
  parts?: readonly string[];
  tools: Record<string, Pin>;
}
/** A digest alone is from an older Gate. */
type SeenSet = Record<string, { sha256: string; at: string } | string>;
const shownAs = (seen: SeenSet[string]) => (typeof seen === 'string' ? { sha256: seen, at: '' } : seen);
/** How many names of incomplete lists are kept, so that a server that invents names cannot fill the store. */
const NAMES_KEPT = 5_000;

/** Longer definitions are compared by digest alone. */
const LONGEST_TEXT = 32_768;
/** How many texts of definitions a tenant's upstreams can make Gate keep. */
const TEXTS_KEPT = 2_000;
const ASKED_AT_ONCE = 500;
const WRITTEN_AT_ONCE = 100;

/** The owner of a marker row that an earlier Gate left after converting lists. No agent's list has it. */
const NOBODY = '';
/** Stands for the upstream in rows from before the upstream was stored with them. */
const SOME_UPSTREAM = '';

export interface ToolPinStoreOptions {
  readonly keys: KeyRing;
  /** The name of the upstream whose lists are seen. */
  readonly upstream: string;
  readonly now?: () => number;
}

const noPins: PinSet = { complete: false, tools: {} };
const pinSets = (db: Kysely<ToolPinTables>, keys: KeyRing, ask?: Ask) =>
  taggedSets(
    db as Kysely<never>,
    keys,
    {
      table: 'tool_pin_sets',
      columns: ['tenant', 'agent'],
      empty: noPins,
      parse: (content) => content as PinSet,
    },
    ask,
  );
const seenSets = <Column extends 'tenant' | 'upstream' | 'agent'>(
  db: Kysely<ToolPinTables>,
  keys: KeyRing,
  columns: readonly Column[],
  ask?: Ask,
) =>
  taggedSets(
    db as Kysely<never>,
    keys,
    {
      table: 'tool_seen_sets',
      columns,
      empty: {},
      parse: (content) => content as SeenSet,
      // What was seen is seen again with the next list; pins must wait for the operator.
      mendsItself: true,
    },
    ask,
  );
const SEEN_BY = ['tenant', 'upstream', 'agent'] as const;

/**
 * Tags the lists of an older Gate, which have no tag, unchanged. Run it only when the store gets the mark of its keys: a list without a tag
 * in a marked store was put there by somebody else. If any list has a tag already, none is converted.
 */
export async function adoptPins(
  transaction: Kysely<ToolPinTables>,
  keys: KeyRing,
  onAdopted: (lists: number) => void = () => undefined,
): Promise<void> {
  for (const table of ['tool_pin_sets', 'tool_seen_sets'] as const)
    if (await transaction.selectFrom(table).select('agent').where('tag', 'is not', null).limit(1).executeTakeFirst())
      return;
  const sets = pinSets(transaction, keys);
  const found = await transaction.selectFrom('tool_pin_sets').selectAll().execute();
  for (const { tenant, agent, content } of found)
    await transaction
      .updateTable('tool_pin_sets')
      .set({ tag: sets.tagOf({ tenant, agent }, content) })
      .where('tenant', '=', tenant)
      .where('agent', '=', agent)
      .execute();
  if (found.length > 0) onAdopted(found.length);
}

/**
 * Assigns what was seen before the upstream was stored to this upstream, as an earlier Gate did. Run it at every opening. It overwrites
 * nothing that was seen since. Rows that an earlier Gate did not write are deleted; the next list restores their content.
 */
export async function adoptSeen(
  { db }: Store<ToolPinTables>,
  { keys, upstream }: Pick<ToolPinStoreOptions, 'keys' | 'upstream'>,
): Promise<void> {
  const earlier = seenSets(db, keys, ['tenant', 'agent']);
  const rows = await db.selectFrom('tool_seen_sets').selectAll().where('upstream', '=', SOME_UPSTREAM).execute();
  for (const row of rows) {
    const { tenant, agent, content } = row;
    const own = seenSets(db, keys, SEEN_BY);
    if (earlier.holds(row, row))
      await own.replace({ tenant, upstream, agent }, { row: undefined }, JSON.parse(content) as SeenSet);
    await own.remove({ tenant, upstream: SOME_UPSTREAM, agent });
  }
}

/** Removes an agent's pins, and what it saw of any upstream. Returns how many tools were pinned. */
export async function forgetPinsIn({ db }: Store<ToolPinTables>, keys: KeyRing, owner: PinOwner): Promise<number> {
  const { tenant, agent } = owner;
  const pinned = pinSets(db, keys);
  const { content, row } = await pinned.read({ tenant, agent });
  await pinned.remove({ tenant, agent });
  await seenSets(db, keys, SEEN_BY).remove({ tenant, agent });
  return row ? Math.max(1, Object.keys(content.tools).length) : 0;
}

export function toolPinStoreOver(
  store: Store<ToolPinTables>,
  { keys, upstream, now = Date.now }: ToolPinStoreOptions,
): ToolPinStore {
  const { db } = store;
  const ask = askOf(store);
  const pinned = pinSets(db, keys, ask);
  const shown = seenSets(db, keys, SEEN_BY, ask);
  const shownTo = ({ tenant, agent }: PinOwner) => ({ tenant, upstream, agent });
  // No upstream has such a name.
  const toldGate = ({ tenant, agent }: PinOwner) => ({ tenant, upstream: JSON.stringify([upstream, 'gate']), agent });
  const time = () => new Date(now()).toISOString();
  const changePins = ({ tenant, agent }: PinOwner, made: (set: PinSet) => PinSet | null) =>
    pinned.change({ tenant, agent }, made);
  const entries = (digests: ReadonlyMap<string, string>) => {
    const at = time();
    return Object.fromEntries([...digests].map(([tool, sha256]) => [tool, { sha256, at }]));
  };
  const heldOf = async (tenant: string, digests: readonly string[]): Promise<Map<string, string>> => {
    const held = new Map<string, string>();
    for (let at = 0; at < digests.length; at += ASKED_AT_ONCE) {
      const rows = await db
        .selectFrom('tool_definitions')
        .select(['sha256', 'content'])
        .where('tenant', '=', tenant)
        .where('sha256', 'in', digests.slice(at, at + ASKED_AT_ONCE))
        .execute();
      for (const { sha256, content } of rows) held.set(sha256, content);
    }
    return held;
  };
  /** Which of them are held: their texts may be megabytes. */
  const heldAmong = async (tenant: string, digests: readonly string[]): Promise<Set<string>> => {
    const held = new Set<string>();
    for (let at = 0; at < digests.length; at += ASKED_AT_ONCE) {
      const some = digests.slice(at, at + ASKED_AT_ONCE);
      const rows = await db
        .selectFrom('tool_definitions')
        .select('sha256')
        .where('tenant', '=', tenant)
        .where('sha256', 'in', some)
        .execute();
      for (const { sha256 } of rows) held.add(sha256);
    }
    return held;
  };
  type SeenKey = ReturnType<typeof shownTo>;
  const seenIn = async (key: SeenKey): Promise<ReadonlyMap<string, string>> => {
    const { content } = await shown.read(key);
    return digestsShown(content);
  };
  const saw = (key: SeenKey, digests: ReadonlyMap<string, string>, whole: boolean) =>
    shown.change(key, (seen) => {
      const at = time();
      const before = new Map(Object.entries(seen));
      let room = whole ? digests.size : Math.max(0, NAMES_KEPT - before.size);
      const kept = [...digests].flatMap(([tool, sha256]) => {
        const known = before.get(tool);
        if (known !== undefined) return [[tool, shownAs(known).sha256 === sha256 ? known : { sha256, at }] as const];
        room -= 1;
        return room < 0 ? [] : [[tool, { sha256, at }] as const];
      });
      return Object.fromEntries([...(whole ? [] : before), ...kept]);
    });

  return {
    async read({ tenant, agent }) {
      const { content, tampered } = await pinned.read({ tenant, agent });
      return { ...pinnedIn(content), tampered };
    },
    pin: (owner, digests) => changePins(owner, (set) => ({ ...set, tools: { ...entries(digests), ...set.tools } })),
    complete: (owner) => changePins(owner, (set) => ({ ...set, complete: true })),
    completeParts: (owner, prefixes) =>
      changePins(owner, (set) => ({ ...set, parts: [...new Set([...(set.parts ?? []), ...prefixes])] })),
    widen: (owner, digests) =>
      changePins(owner, (set) => {
        const tools = Object.entries(set.tools).map(([tool, pin]) => {
          const sha256 = digests.get(tool);
          return [tool, pin.narrow && sha256 !== undefined ? { sha256, at: pin.at } : pin] as const;
        });
        return { ...set, tools: Object.fromEntries(tools) };
      }),
    owners: () => pinOwnersIn(db),
    seen: (owner) => seenIn(shownTo(owner)),
    listedToGate: (owner) => seenIn(toldGate(owner)),
    async seenByAny(tenant) {
      const lists = await shown.all({ tenant, upstream });
      const seen = lists.flatMap(Object.entries).map(([tool, said]) => ({ tool, ...shownAs(said as SeenSet[string]) }));
      return new Map(
        seen
          .toSorted((one, other) => Number(one.at > other.at) - Number(one.at < other.at))
          .map(({ tool, sha256 }) => [tool, sha256]),
      );
    },
    async listed(tenant) {
      const [lists, sets] = await Promise.all([shown.all({ tenant, upstream }), pinned.all({ tenant })]);
      const names = new Set(lists.flatMap(Object.keys));
      // Pins may be of an earlier upstream, what was shown is of this one.
      return { names, complete: names.size > 0 && sets.some(({ complete }) => complete) };
    },
    async keep(tenant, given) {
      const short = [...given].filter(([, content]) => content.length <= LONGEST_TEXT).slice(0, TEXTS_KEPT);
      const known = await heldAmong(
        tenant,
        short.map(([sha256]) => sha256),
      );
      const added = short.filter(([sha256]) => !known.has(sha256));
      const kept_ms = now();
      for (let at = 0; at < added.length; at += WRITTEN_AT_ONCE)
        await db
          .insertInto('tool_definitions')
          .values(
            added.slice(at, at + WRITTEN_AT_ONCE).map(([sha256, content]) => ({ tenant, sha256, content, kept_ms })),
          )
          .onConflict((conflict) => conflict.columns(['tenant', 'sha256']).doNothing())
          .execute();
      if (added.length === 0) return;
      const beyond = await db
        .selectFrom('tool_definitions')
        .select('kept_ms')
        .where('tenant', '=', tenant)
        .orderBy('kept_ms', 'desc')
        .offset(TEXTS_KEPT)
        .limit(1)
        .executeTakeFirst();
      if (beyond)
        await db
          .deleteFrom('tool_definitions')
          .where('tenant', '=', tenant)
          .where('kept_ms', '<=', beyond.kept_ms)
          .execute();
    },
    async texts(tenant, digests) {
      const held = await heldOf(tenant, digests);
      return new Map([...held].filter(([sha256, content]) => sha256Hex(content) === sha256));
    },
    saw: (owner, digests, whole) => saw(shownTo(owner), digests, whole),
    gateSaw: (owner, digests, whole) => saw(toldGate(owner), digests, whole),
    async accept(owner, accepted) {
      let other: [string, string | null][] = [];
      await changePins(owner, (set) => {
        const before = new Map(Object.entries(set.tools));
        other = [...accepted].filter(([tool, sha256]) => (before.get(tool)?.sha256 ?? null) !== sha256);
        const named = new Map(other);
        const kept = [...before].filter(([tool]) => !named.has(tool));
        const pinned = other.flatMap(([tool, sha256]) => (sha256 === null ? [] : [[tool, sha256] as const]));
        return { ...set, tools: { ...Object.fromEntries(kept), ...entries(new Map(pinned)) } };
      });
      return other.map(([tool]) => tool).toSorted();
    },
    forget: (owner) => forgetPinsIn(store, keys, owner),
  };
}

/** Every call asks for these, and a list may hold hundreds of tools. */
const digestsShown = madeOnce(
  (seen: SeenSet): ReadonlyMap<string, string> =>
    new Map(Object.entries(seen).map(([tool, said]) => [tool, shownAs(said).sha256])),
);
const pinnedIn = madeOnce((set: PinSet): Omit<PinnedTools, 'tampered'> => {
  const tools = Object.entries(set.tools);
  return {
    digests: new Map(tools.map(([tool, { sha256 }]) => [tool, sha256])),
    narrow: new Set(tools.flatMap(([tool, { narrow }]) => (narrow ? [tool] : []))),
    since: sinceOf(set),
    complete: set.complete,
    parts: new Set(set.parts),
  };
});

const sinceOf = (set: PinSet): string | null =>
  Object.values(set.tools)
    .map(({ at }) => at)
    .toSorted()[0] ?? null;

/** Lists whose tools are pinned. Only reads, and does not check the tags. */
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
