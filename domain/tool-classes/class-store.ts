import { sql } from 'kysely';
import { z } from 'zod';
import type { CallState } from '../../contracts/call.js';
import { classedTool, type ClassedTool, type ToolTraffic } from '../../contracts/tools.js';
import type { StoredRecord } from '../call-record/sealed-record.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { errorText, GateError } from '../errors.js';
import type { Store } from '../store/database.js';

export interface ToolClassTables {
  tool_class_sets: { tenant: string; upstream: string; generation: number; sealed: Uint8Array };
  call_records: Pick<
    StoredRecord,
    'tenant' | 'upstream' | 'tool' | 'sibling_tools' | 'state' | 'tier' | 'created_ms' | 'counted_ms'
  >;
}

/** Every class of one upstream and tenant. They are sealed together: no class can be taken out or put back alone. */
export interface ClassSet {
  readonly generation: number;
  readonly tools: ReadonlyMap<string, ClassedTool>;
}

const sealedSet = z.object({ generation: z.number().int(), tools: z.record(z.string(), classedTool) });
/** Beside an answer that is an error: nobody knows what the tool did, or it was surely not called. */
const FAILED: ReadonlySet<CallState> = new Set(['uncertain', 'not_run', 'aborted']);
const NOTHING: ClassSet = { generation: 0, tools: new Map() };

/**
 * What operators said of tools, beside the call records and sealed with their key: who edits the store classes nothing, he can at most put
 * back a whole earlier set or take it away, which `boundToLedger` finds.
 */
export function toolClassStoreOver({ db }: Store<ToolClassTables>, keys: KeyRing) {
  const known = new Map<string, { readonly sealed: Buffer; readonly set: ClassSet }>();
  const place = (tenant: string, upstream: string) => `tool-classes/${tenant}/${upstream}`;

  return {
    /** Throws `tool_classes_unreadable` where they were changed, belong elsewhere or are of another key. */
    async read(tenant: string, upstream: string): Promise<ClassSet> {
      const row = await db
        .selectFrom('tool_class_sets')
        .select(['generation', 'sealed'])
        .where('tenant', '=', tenant)
        .where('upstream', '=', upstream)
        .executeTakeFirst();
      if (!row) return NOTHING;
      const kept = known.get(place(tenant, upstream));
      if (kept && kept.set.generation === Number(row.generation) && kept.sealed.equals(row.sealed)) return kept.set;
      try {
        const text = keys.open(row.sealed, place(tenant, upstream)).toString('utf8');
        const { generation, tools } = sealedSet.parse(JSON.parse(text));
        if (generation !== Number(row.generation))
          throw new Error('the number of the set is not the one it was sealed with');
        const set = { generation, tools: new Map(Object.entries(tools)) };
        known.set(place(tenant, upstream), { sealed: Buffer.from(row.sealed), set });
        return set;
      } catch (error) {
        throw new GateError('tool_classes_unreadable', `the classes of ${upstream}: ${errorText(error)}`, {
          cause: error,
        });
      }
    },

    /** The newest version that is known elsewhere (`bound-to-ledger.ts`). */
    told: (_tenant: string, _upstream: string): Promise<number> => Promise.resolve(0),

    /** Stores the set that comes after `before`. False where another one came first. */
    async write(
      tenant: string,
      upstream: string,
      before: number,
      tools: ClassSet['tools'],
      generation = before + 1,
    ): Promise<boolean> {
      const text = JSON.stringify({ generation, tools: Object.fromEntries(tools) });
      const sealed = keys.seal(text, place(tenant, upstream));
      if (before === 0) {
        const inserted = await db
          .insertInto('tool_class_sets')
          .values({ tenant, upstream, generation, sealed })
          .onConflict((conflict) => conflict.columns(['tenant', 'upstream']).doNothing())
          .executeTakeFirst();
        return Number(inserted.numInsertedOrUpdatedRows ?? 0) === 1;
      }
      const updated = await db
        .updateTable('tool_class_sets')
        .set({ generation, sealed })
        .where('tenant', '=', tenant)
        .where('upstream', '=', upstream)
        .where('generation', '=', before)
        .executeTakeFirst();
      return updated.numUpdatedRows === 1n;
    },

    /** The number of the set that lies there, readable or not. */
    async generation(tenant: string, upstream: string): Promise<number> {
      const row = await db
        .selectFrom('tool_class_sets')
        .select('generation')
        .where('tenant', '=', tenant)
        .where('upstream', '=', upstream)
        .executeTakeFirst();
      return Number(row?.generation ?? 0);
    },

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
