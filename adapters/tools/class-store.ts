import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import type { CallState } from '../../contracts/call.js';
import { classedTool, type ToolTraffic } from '../../contracts/tools.js';
import type { StoredRecord } from '../../domain/call/sealed-record.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { Store } from '../store/database.js';
import { askOf } from '../store/jobs.js';
import { madeOnce } from '../store/made-once.js';
import type { Ask } from '../store/statement.js';
import { type FoundSet, type TaggedSet, taggedSets } from '../store/tagged-sets.js';
import type { StoredClasses, ToolClassStore } from '../../domain/tool-classes/class-sets.js';

export interface ToolClassTables {
  tool_classes: TaggedSet & { tenant: string; upstream: string };
  /** No longer used, except for sets that an earlier Gate sealed, until `adoptClasses` converts them. */
  tool_class_sets: { tenant: string; upstream: string; generation: number; sealed: Uint8Array };
  call_records: Pick<
    StoredRecord,
    'tenant' | 'upstream' | 'tool' | 'sibling_tools' | 'state' | 'tier' | 'created_ms' | 'counted_ms'
  >;
}

const unfinishedChange = z.object({ row: z.string(), tool: z.string().nullable(), said: classedTool.nullable() });
const keptSet = z.object({
  generation: z.number().int(),
  tools: z.record(z.string(), classedTool),
  unfinished: unfinishedChange.optional(),
});
type KeptSet = z.infer<typeof keptSet>;
const NOTHING: KeptSet = { generation: 0, tools: {} };
/** Every call asks for them. */
const toolsOf = madeOnce((set: KeptSet): StoredClasses['tools'] => new Map(Object.entries(set.tools)));
/** States that count as failed, besides answers that are an error: it is unknown what the tool did, or it certainly was not called. */
const FAILED: ReadonlySet<CallState> = new Set(['uncertain', 'not_run', 'aborted']);

const classSets = (db: Kysely<ToolClassTables>, keys: KeyRing, ask?: Ask) =>
  taggedSets(
    db as Kysely<never>,
    keys,
    {
      table: 'tool_classes',
      columns: ['tenant', 'upstream'],
      empty: NOTHING,
      parse: (content) => keptSet.parse(content),
    },
    ask,
  );

/**
 * Converts the sets that an earlier Gate sealed, unless this Gate has one already. Run it at every opening. A set that cannot be opened is
 * converted into one that cannot be read.
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
 * The operators' classes, stored beside the call records under a tag made with Gate's keys. Whoever edits the store cannot class anything;
 * at most they can restore or delete a whole set, which `boundToLedger` detects.
 */
export function toolClassStoreOver(store: Store<ToolClassTables>, keys: KeyRing): ToolClassStore {
  const { db } = store;
  const sets = classSets(db, keys, askOf(store));

  return {
    async read(tenant, upstream) {
      let found: FoundSet<KeptSet>;
      try {
        found = await sets.read({ tenant, upstream });
      } catch (error) {
        throw new GateError('tool_classes_unreadable', `the classes of ${upstream} cannot be read`, { cause: error });
      }
      if (found.tampered)
        throw new GateError('tool_classes_unreadable', `the classes of ${upstream}: not what Gate wrote`);
      const { generation, unfinished } = found.content;
      return { generation, tools: toolsOf(found.content), unfinished: unfinished ?? null, found };
    },

    lies: (tenant, upstream) => sets.read({ tenant, upstream }),

    replace(tenant, upstream, found, { generation, tools, unfinished }) {
      const kept = { generation, tools: Object.fromEntries(tools), ...(unfinished && { unfinished }) };
      return sets.replace({ tenant, upstream }, { row: found.row }, kept);
    },

    places: () => db.selectFrom('tool_classes').select(['tenant', 'upstream']).execute(),

    async traffic(tenant, upstream, sinceMs) {
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
