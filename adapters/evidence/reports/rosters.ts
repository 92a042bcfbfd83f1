import type { Kysely } from 'kysely';
import { type Roster, rosterOf, rosterOfAll, SILENCE_KINDS } from '../../../domain/evidence/reports/silence.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { filtered, turn } from '../../ledger/rows.js';
import type { Summed } from './stretch-sums.js';

/** Who is there, and when each was active last. */
export const rostersOver = (db: Kysely<LedgerTables>): Summed<Roster> => ({
  async read(scope, first, last) {
    const rows = await filtered(
      db.selectFrom('ledger_entries').select(['timestamp', 'agent_id', 'agent_name', 'tenant', 'event_kind']),
      { ...scope, eventKinds: SILENCE_KINDS, seqFrom: first, seqTo: last },
    )
      .orderBy('seq')
      .execute();
    await turn();
    return rosterOf(
      rows.map((row) => ({
        kind: row.event_kind as string,
        agentId: row.agent_id as string,
        agentName: row.agent_name,
        tenant: row.tenant,
        at: row.timestamp,
      })),
    );
  },
  addUp: rosterOfAll,
  sizeOf: ({ size }) => size,
});
