import type { SilenceEntry } from '../../../contracts/cases.js';
import type { Store } from '../../store/database.js';
import { reading } from '../../../domain/ledger/chain-store.js';

export interface SilenceTables {
  silence_allowlist: SilenceEntry;
}

/** Agents whose silence is not reported (docs/architecture/ledger-reads.md#watchdogs). Never part of the chain. */
export interface SilenceAllowlist {
  /** Sorted by agent id. */
  list(): Promise<SilenceEntry[]>;
  /** True when the agent was added; an existing entry stays unchanged. */
  allow(given: Omit<SilenceEntry, 'created_at'>): Promise<boolean>;
  /** False when the agent was not on the list. */
  remove(agentId: string): Promise<boolean>;
}

export const createSilenceAllowlist = ({ db }: Store<SilenceTables>, clock: () => number): SilenceAllowlist => ({
  list: () => reading(() => db.selectFrom('silence_allowlist').selectAll().orderBy('agent_id').execute()),
  allow: (given) =>
    reading(async () => {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('silence_allowlist')
        .values({ ...given, created_at: new Date(clock()).toISOString() })
        .onConflict((conflict) => conflict.column('agent_id').doNothing())
        .executeTakeFirstOrThrow();
      return (numInsertedOrUpdatedRows ?? 0n) > 0n;
    }),
  remove: (agentId) =>
    reading(async () => {
      const { numDeletedRows } = await db
        .deleteFrom('silence_allowlist')
        .where('agent_id', '=', agentId)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    }),
});
