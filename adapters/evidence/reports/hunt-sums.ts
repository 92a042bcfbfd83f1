import { type Kysely, sql, type SqlBool } from 'kysely';
import type { JsonObject } from '../../../contracts/json.js';
import { type HuntRow, type HuntSum, huntSumOf, huntSumOfAll } from '../../../domain/evidence/reports/hunt.js';
import { isDenial, isRehearsal } from '../../../domain/evidence/reports/outcome.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { filtered, turn } from '../../ledger/rows.js';
import type { Summed, SumScope } from './stretch-sums.js';

/** Decisions of one statement: one may be a quarter of a megabyte. */
const DECISIONS = 100;

/** What a hunt counts. */
export const huntsOver = (db: Kysely<LedgerTables>): Summed<HuntSum> => ({
  read: async (scope, first, last) => huntSumOf(await rowsOf(db, scope, first, last)),
  addUp: huntSumOfAll,
  sizeOf: ({ alike }) => alike.size,
  timesOf: ({ times }) => times,
});

const COLUMNS = [
  'seq',
  'timestamp',
  'agent_id',
  'agent_name',
  'method',
  'event_kind',
  'authorized',
  'correlation_id',
  'signal',
  'source',
] as const;

/** The rows of at most one of the smallest stretches, without those of rehearsals. Decisions, which are most of a row, are read only where they may say that it was denied. */
async function rowsOf(db: Kysely<LedgerTables>, scope: SumScope, first: number, last: number): Promise<HuntRow[]> {
  const denied = await deniedIn(db, scope, first, last);
  const rows = await filtered(db.selectFrom('ledger_entries').select(COLUMNS), {
    ...scope,
    seqFrom: first,
    seqTo: last,
  })
    .orderBy('seq')
    .execute();
  await turn();
  const ofCalls = rows.filter((row) => !isRehearsal(row));
  return ofCalls.map((row) => ({
    seq: Number(row.seq),
    at: row.timestamp,
    agentId: row.agent_id as string,
    agentName: row.agent_name,
    method: row.method as string,
    authorized: Number(row.authorized) === 1,
    correlationId: row.correlation_id,
    signal: row.signal,
    denied: denied.has(Number(row.seq)),
  }));
}

/** The places of those rows whose call was refused for good. A call that was let through says so in its row, or names no such outcome. */
async function deniedIn(
  db: Kysely<LedgerTables>,
  scope: SumScope,
  first: number,
  last: number,
): Promise<ReadonlySet<number>> {
  const denied = new Set<number>();
  for (let from = first; from <= last; ) {
    const rows = await filtered(
      db.selectFrom('ledger_entries').select(['seq', 'event_kind', 'method', 'authorized', 'policy_decision']),
      { ...scope, seqFrom: from, seqTo: last },
    )
      .where(
        sql<SqlBool>`(coalesce(event_kind, method) = 'hil.denied' or (coalesce(event_kind, method) = 'proxy.verdict'
          and (authorized = 0 or policy_decision like '%"deny"%' or policy_decision like '%"rate_limited"%')))`,
      )
      .orderBy('seq')
      .limit(DECISIONS)
      .execute();
    for (const { seq, event_kind: event, method, authorized, policy_decision: decision } of rows)
      if (
        isDenial({
          kind: event ?? (method as string),
          decision: decision === null ? null : (JSON.parse(decision) as JsonObject),
          authorized: Number(authorized) === 1,
        })
      )
        denied.add(Number(seq));
    if (rows.length < DECISIONS) break;
    from = Number(rows.at(-1)?.seq) + 1;
  }
  return denied;
}
