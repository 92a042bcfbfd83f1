import { sql, type Kysely } from 'kysely';
import type { KeyRing } from '../crypto/key-ring.js';
import { errorText, GateError } from '../errors.js';
import type { Store } from '../store/database.js';
import type { CallTables } from './call-store.js';
import { RECORD_COLUMNS, recordSealing, type RecordRow } from './sealed-record.js';

const PAGE = 500;

/**
 * To be run once at every opening, before a record is read. The first time it gives every record of an earlier Gate its MAC, as far as its
 * sealed verdict and decision lead to the state it is in, and closes the others as tampered; then it marks the store, under the record
 * key. From then on a record without a MAC is one that somebody put there. A store that holds a record with a MAC was marked: where the
 * mark is gone, somebody took it away, and nothing is given a MAC again. All in one transaction.
 *
 * Throws `store_unavailable` when the mark was made with keys that are not here: a Gate with the wrong keys would close every call.
 */
export async function sealCalls(store: Store<CallTables>, keys: KeyRing, now: () => number = Date.now): Promise<void> {
  const sealing = recordSealing(keys);
  await store.db.transaction().execute(async (transaction) => {
    if (store.kind === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtextextended('gate.call-seal', 0))`.execute(transaction);
    const mark = await transaction.selectFrom('call_seal').select('mac').executeTakeFirst();
    if (mark && !holds(mark.mac)) throw otherKeys('the mark does not hold');
    if (mark && sealing.sealIsCurrent(mark.mac)) return;
    if (!mark && !(await anyWithMac(transaction))) await adoptAll(transaction);
    const mac = sealing.sealOfStore();
    await transaction
      .insertInto('call_seal')
      .values({ id: 1, mac })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ mac }))
      .execute();
  });

  function holds(mac: string): boolean {
    try {
      return sealing.sealHolds(mac);
    } catch (error) {
      throw otherKeys(errorText(error));
    }
  }

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

const anyWithMac = async (transaction: Kysely<CallTables>): Promise<boolean> =>
  (await transaction
    .selectFrom('call_records')
    .select('correlation_id')
    .where('mac', 'is not', null)
    .limit(1)
    .executeTakeFirst()) !== undefined;

const otherKeys = (why: string): GateError =>
  new GateError(
    'store_unavailable',
    `the call records were written under other record keys (${why}): give Gate those keys, or put the store back that belongs to these`,
  );
