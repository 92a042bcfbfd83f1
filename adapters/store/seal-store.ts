import { type Kysely, sql } from 'kysely';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { Store } from './database.js';

export interface SealedStore<Tables> {
  readonly keys: KeyRing;
  /** Where the mark lies: `id`, `mac`. */
  readonly table: string;
  /** What the mark says, and the use its key is derived for. */
  readonly message: string;
  readonly use: string;
  /** The rows and the keys in an operator's words. */
  readonly rows: string;
  readonly keysAre: string;
  anyWithMac(transaction: Kysely<Tables>): Promise<boolean>;
  adoptAll(transaction: Kysely<Tables>): Promise<void>;
}

/**
 * To be run once at every opening, before a row is read. The first time `adoptAll` gives every row of an earlier Gate its MAC; then the
 * store is marked, under its key. From then on a row without a MAC is one that somebody put there. A store that holds a row with a MAC was
 * marked: where the mark is gone, somebody took it away, and nothing is given a MAC again. All in one transaction.
 *
 * Throws `store_unavailable` when the mark was made with keys that are not here: a Gate with the wrong keys would close every row.
 */
export async function sealStore<Tables>(
  store: Store<Tables>,
  { keys, table, message, use, rows, keysAre, anyWithMac, adoptAll }: SealedStore<Tables>,
): Promise<void> {
  await store.db.transaction().execute(async (transaction) => {
    if (store.kind === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtextextended(${`gate.${table}`}, 0))`.execute(transaction);
    const marks = transaction as unknown as Kysely<Record<string, { id: number; mac: string }>>;
    const mark = await marks.selectFrom(table).select('mac').executeTakeFirst();
    if (mark && !holds(mark.mac)) throw otherKeys('the mark does not hold');
    if (mark?.mac.startsWith(`${keys.activeKeyId}:`)) return;
    if (!mark && !(await anyWithMac(transaction))) await adoptAll(transaction);
    const mac = keys.authenticate(message, use);
    await marks
      .insertInto(table)
      .values({ id: 1, mac })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ mac }))
      .execute();
  });

  function holds(mac: string): boolean {
    try {
      return keys.authentic(mac, message, use);
    } catch (error) {
      throw otherKeys(errorText(error));
    }
  }

  function otherKeys(why: string): GateError {
    return new GateError(
      'store_unavailable',
      `the ${rows} were written under other ${keysAre} (${why}): give Gate those keys, or put the store back that belongs to these`,
    );
  }
}
