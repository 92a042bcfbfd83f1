import type { CallDecoy } from '../../contracts/call.js';
import type { DecoyHits, TouchingCall } from '../../domain/call/ports.js';
import { all, type Job, run } from '../store/jobs.js';
import { statement } from '../store/statement.js';

type Count = number | string;
// What waits to be told contains its agent where one of its calls did.
const countHit = statement(
  `insert into decoy_hits (decoy_id, tenant, agent, hits, told, correlation_id, last_ms, contain) values (?, ?, ?, 1, 0, ?, ?, ?)
     on conflict (decoy_id, tenant, agent) do update set
       hits = decoy_hits.hits + case when decoy_hits.correlation_id = excluded.correlation_id then 0 else 1 end,
       contain = case when decoy_hits.hits > decoy_hits.told and decoy_hits.contain = 1 then 1 else excluded.contain end,
       correlation_id = excluded.correlation_id, last_ms = excluded.last_ms`,
);
const selectUntold = statement<{
  decoy_id: string;
  tenant: string;
  agent: string;
  hits: Count;
  correlation_id: string;
  last_ms: Count;
  contain: Count;
}>(
  `select decoy_id, tenant, agent, hits, correlation_id, last_ms, contain from decoy_hits where hits > told
     order by last_ms limit ?`,
);
const updateTold = statement(
  'update decoy_hits set told = ? where decoy_id = ? and tenant = ? and agent = ? and told < ?',
);
const deleteHits = statement('delete from decoy_hits where tenant = ?');

/** How often the calls of agents touched decoys, in all (docs/architecture/decoys.md). */
export function decoyHitJobs() {
  return {
    *counted(
      { tenant, agent, correlation_id: id, received_ms: atMs, mode }: TouchingCall,
      decoy: CallDecoy,
    ): Job<void> {
      yield* run(countHit, decoy.id, tenant, agent, id, atMs, mode === 'enforce' ? 1 : 0);
    },
    *untold(most: number): Job<readonly DecoyHits[]> {
      return (yield* all(selectUntold, most)).map((row) => ({
        decoyId: row.decoy_id,
        tenant: row.tenant,
        agent: row.agent,
        hits: Number(row.hits),
        correlationId: row.correlation_id,
        lastMs: Number(row.last_ms),
        contain: Number(row.contain) === 1,
      }));
    },
    *told(told: readonly DecoyHits[]): Job<void> {
      for (const { decoyId, tenant, agent, hits } of told) yield* run(updateTold, hits, decoyId, tenant, agent, hits);
    },
    *forgotten(tenant: string): Job<void> {
      yield* run(deleteHits, tenant);
    },
  };
}
