import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import type { CallState } from '../../contracts/call.js';
import { classedTool, type ClassedTool, type ToolTraffic } from '../../contracts/tools.js';
import type { StoredRecord } from '../call-record/sealed-record.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import type { Store } from '../store/database.js';
import { type FoundSet, type TaggedSet, taggedSets } from '../store/tagged-sets.js';

export interface ToolClassTables {
  tool_classes: TaggedSet & { tenant: string; upstream: string };
  /** Ended: what an earlier Gate sealed, until `adoptClasses` took it over. */
  tool_class_sets: { tenant: string; upstream: string; generation: number; sealed: Uint8Array };
  call_records: Pick<
    StoredRecord,
    'tenant' | 'upstream' | 'tool' | 'sibling_tools' | 'state' | 'tier' | 'created_ms' | 'counted_ms'
  >;
}

/** Every class of one upstream and tenant, kept as one: no class can be taken out or put back alone. */
export interface ClassSet {
  readonly generation: number;
  readonly tools: ReadonlyMap<string, ClassedTool>;
}

/** What the next version of a set is to be, written down before the ledger is told; in force from when the ledger has its row. */
export interface UnfinishedChange {
  /** The id of that row. */
  readonly row: string;
  /** `null`: every tool. */
  readonly tool: string | null;
  /** `null`: not classed any more. */
  readonly said: ClassedTool | null;
}

/** A set as it lies in the store. */
export interface StoredClasses extends ClassSet {
  readonly unfinished: UnfinishedChange | null;
  readonly found: Pick<FoundSet<unknown>, 'row'>;
}

const unfinishedChange = z.object({ row: z.string(), tool: z.string().nullable(), said: classedTool.nullable() });
const keptSet = z.object({
  generation: z.number().int(),
  tools: z.record(z.string(), classedTool),
  unfinished: unfinishedChange.optional(),
});
type KeptSet = z.infer<typeof keptSet>;
const NOTHING: KeptSet = { generation: 0, tools: {} };
/** Beside an answer that is an error: nobody knows what the tool did, or it was surely not called. */
const FAILED: ReadonlySet<CallState> = new Set(['uncertain', 'not_run', 'aborted']);

const classSets = (db: Kysely<ToolClassTables>, keys: KeyRing) =>
  taggedSets(db as Kysely<never>, keys, {
    table: 'tool_classes',
    columns: ['tenant', 'upstream'],
    empty: NOTHING,
    parse: (content) => keptSet.parse(content),
  });

/**
 * Takes over the sets that an earlier Gate sealed, each where none of this Gate lies. To be run at every opening. One that does not open is
 * taken over as what it is: a set that cannot be read.
 */
export async function adoptClasses({ db }: Store<ToolClassTables>, keys: KeyRing): Promise<void> {
  const sets = classSets(db, keys);
  for (const { tenant, upstream, generation, sealed } of await db.selectFrom('tool_class_sets').selectAll().execute()) {
    const key = { tenant, upstream };
    const kept = openedOr(null, () => {
      const text = keys.open(sealed, `tool-classes/${tenant}/${upstream}`).toString('utf8');
      const { unfinished: _, ...set } = keptSet.parse(JSON.parse(text));
      return set.generation === Number(generation) ? set : null;
    });
    if (kept) await sets.replace(key, { row: undefined }, kept);
    else
      await db
        .insertInto('tool_classes')
        .values({ ...key, content: '', tag: null })
        .onConflict((conflict) => conflict.columns(['tenant', 'upstream']).doNothing())
        .execute();
    await db.deleteFrom('tool_class_sets').where('tenant', '=', tenant).where('upstream', '=', upstream).execute();
  }
}

function openedOr<Found>(otherwise: Found, open: () => Found): Found {
  try {
    return open();
  } catch {
    return otherwise;
  }
}

/**
 * What operators said of tools, beside the call records and under a tag of their keys: who edits the store classes nothing, he can at most put
 * back a whole earlier set or take it away, which `boundToLedger` finds.
 */
export function toolClassStoreOver({ db }: Store<ToolClassTables>, keys: KeyRing) {
  const sets = classSets(db, keys);

  return {
    /** Throws `tool_classes_unreadable` where they were changed, belong elsewhere or are of another key. */
    async read(tenant: string, upstream: string): Promise<StoredClasses> {
      let found: FoundSet<KeptSet>;
      try {
        found = await sets.read({ tenant, upstream });
      } catch (error) {
        throw new GateError('tool_classes_unreadable', `the classes of ${upstream} cannot be read`, { cause: error });
      }
      if (found.tampered)
        throw new GateError('tool_classes_unreadable', `the classes of ${upstream}: not what Gate wrote`);
      const { generation, tools, unfinished } = found.content;
      return { generation, tools: new Map(Object.entries(tools)), unfinished: unfinished ?? null, found };
    },

    /** What lies there, readable or not. */
    lies: (tenant: string, upstream: string): Promise<Pick<FoundSet<unknown>, 'row'>> =>
      sets.read({ tenant, upstream }),

    /** Stores the set over exactly what was found. False where something else lies there by now. */
    replace(
      tenant: string,
      upstream: string,
      found: Pick<FoundSet<unknown>, 'row'>,
      { generation, tools, unfinished }: ClassSet & { readonly unfinished?: UnfinishedChange | null },
    ): Promise<boolean> {
      const kept = { generation, tools: Object.fromEntries(tools), ...(unfinished && { unfinished }) };
      return sets.replace({ tenant, upstream }, { row: found.row }, kept);
    },

    /** Whose sets there are. */
    places: (): Promise<{ tenant: string; upstream: string }[]> =>
      db.selectFrom('tool_classes').select(['tenant', 'upstream']).execute(),

    /**
     * How the calls of each tool of the upstream ended since then; each call of a batch is one. Ran is what counts in its agent's history: an
     * answer that is an error, by JSON-RPC or by the tool's own word, failed.
     */
    async traffic(tenant: string, upstream: string, sinceMs: number): Promise<Map<string, ToolTraffic>> {
      const counted = sql<number>`case when counted_ms is null then 0 else 1 end`;
      const rows = await db
        .selectFrom('call_records')
        .select(['tool', 'sibling_tools', 'state', 'tier', counted.as('counted')])
        .select(({ fn }) => fn.countAll<number | string>().as('count'))
        .where('tenant', '=', tenant)
        .where('upstream', '=', upstream)
        .where('created_ms', '>', sinceMs)
        .groupBy(['tool', 'sibling_tools', 'state', 'tier', counted])
        .execute();
      const found = new Map<string, { -readonly [Kind in keyof ToolTraffic]: number }>();
      for (const row of rows)
        for (const tool of row.sibling_tools === null ? [row.tool] : (JSON.parse(row.sibling_tools) as string[])) {
          const sums = found.get(tool) ?? { ran: 0, asked: 0, denied: 0, failed: 0 };
          const count = Number(row.count);
          const ran = Number(row.counted) === 1;
          if (ran) sums.ran += count;
          if (row.tier === 'yellow') sums.asked += count;
          if (row.state === 'denied' || row.tier === 'red') sums.denied += count;
          if ((row.state === 'completed' && !ran) || FAILED.has(row.state)) sums.failed += count;
          found.set(tool, sums);
        }
      return found;
    },
  };
}
export type ToolClassStore = ReturnType<typeof toolClassStoreOver>;
