import type { Ledger, NewLedgerRow } from '../../contracts/ledger.js';

/** A ledger that takes every row; `take` has them first, and may refuse them. */
export function takingLedger(take: (rows: readonly NewLedgerRow[]) => unknown = () => undefined): Ledger {
  let seq = 0;
  return {
    async append(rows) {
      await take(rows);
      return rows.map(({ id = '' }) => ({ status: 'created', id, seq: (seq += 1), entry_hash: '', chain_version: 1 }));
    },
  };
}
