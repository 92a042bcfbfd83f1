import { type Kysely, sql } from 'kysely';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { errorText, GateError } from '../../domain/errors.js';
import { asAtOpening, type Store } from './database.js';

export interface SealedStore<Tables> {
  readonly keys: KeyRing;
  /** Where the mark lies: `id`, `mac`. */
  readonly table: string;
  /** The text of the mark, and the use that its key is derived for. */
  readonly message: string;
  readonly use: string;
  /** What the rows and the keys are called in messages to operators. */
  readonly rows: string;
  readonly keysAre: string;
  anyWithMac(transaction: Kysely<Tables>): Promise<boolean>;
  adoptAll(transaction: Kysely<Tables>): Promise<void>;
  /** The mark of a Gate that had fewer tables with MACs; `adopt` gives the rows of the others theirs. */
  readonly earlier?: { readonly message: string; adopt(transaction: Kysely<Tables>): Promise<void> };
}

/**
 * Run it at every opening, before a row is read. The first time, `adoptAll` gives every row of an earlier Gate its MAC, and then the store
 * is marked under its key. From then on a row without a MAC was put there by somebody else. A store with a row that has a MAC was marked;
 * if its mark is missing, somebody removed it, and no row gets a MAC any more. All in one transaction. Throws `store_unavailable` when the
 * mark was made with other keys: a Gate with the wrong keys would close every row.
 */
export async function sealStore<Tables>(
  store: Store<Tables>,
  { keys, table, message, use, rows, keysAre, anyWithMac, adoptAll, earlier }: SealedStore<Tables>,
): Promise<void> {
  const seal = async (transaction: Kysely<Tables>): Promise<void> => {
    if (store.kind === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtextextended(${`gate.${table}`}, 0))`.execute(transaction);
    // Writes first, so that of two processes that open a file at once one waits for the other: whoever has read cannot begin to write any more then.
    else await sql`update ${sql.table(table)} set id = id where id = 0`.execute(transaction);
    const marks = transaction as unknown as Kysely<Record<string, { id: number; mac: string }>>;
    const mark = await marks.selectFrom(table).select('mac').executeTakeFirst();
    if (mark && !holds(mark.mac, message)) {
      if (!earlier || !holds(mark.mac, earlier.message)) throw otherKeys('the mark does not hold');
      await earlier.adopt(transaction);
    } else if (mark?.mac.startsWith(`${keys.activeKeyId}:`)) return;
    if (!mark && !(await anyWithMac(transaction))) await adoptAll(transaction);
    const mac = keys.authenticate(message, use);
    await marks
      .insertInto(table)
      .values({ id: 1, mac })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ mac }))
      .execute();
  };
  await asAtOpening(store, () => store.db.transaction().execute(seal));

  function holds(mac: string, text: string): boolean {
    try {
      return keys.authentic(mac, text, use);
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
