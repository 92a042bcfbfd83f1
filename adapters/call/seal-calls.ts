import type { Kysely } from 'kysely';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { Store } from '../store/database.js';
import { sealStore } from '../store/seal-store.js';
import { RECORD_COLUMNS, recordSealing, type RecordRow } from '../../domain/call/sealed-record.js';
import type { CallTables } from './tables.js';

const PAGE = 500;

/**
 * Run it at every opening (`adapters/store/seal-store.ts`). A record of an earlier Gate gets its MAC if its sealed verdict and decision
 * lead to the state it is in; otherwise it is closed as tampered. `others` converts what else an earlier Gate left in the same place, in
 * the same transaction and under the same mark; never again afterwards.
 */
export function sealCalls(
  store: Store<CallTables>,
  keys: KeyRing,
  now: () => number = Date.now,
  others: (transaction: Kysely<CallTables>) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const sealing = recordSealing(keys);
  return sealStore(store, {
    keys,
    table: 'call_seal',
    message: 'gate.call-store/1: every record has a mac',
    use: 'call-store',
    rows: 'call records',
    keysAre: 'record keys',
    anyWithMac: async (transaction) =>
      (await transaction
        .selectFrom('call_records')
        .select('correlation_id')
        .where('mac', 'is not', null)
        .limit(1)
        .executeTakeFirst()) !== undefined,
    async adoptAll(transaction) {
      await adoptAll(transaction);
      await others(transaction);
    },
  });

  async function adoptAll(transaction: Kysely<CallTables>): Promise<void> {
    for (let after = ''; ; ) {
      const rows: RecordRow[] = await transaction
        .selectFrom('call_records')
        .select(RECORD_COLUMNS)
        .where('correlation_id', '>', after)
        .orderBy('correlation_id')
        .limit(PAGE)
        .execute();
      for (const row of rows) {
        const adopted = sealing.adopted(row);
        await transaction
          .updateTable('call_records')
          .set('fault' in adopted ? sealing.condemned(row, adopted.fault, now()) : adopted)
          .where('correlation_id', '=', row.correlation_id)
          .execute();
      }
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.correlation_id;
    }
  }
}
