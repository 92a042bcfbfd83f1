import * as ledgers from '../../adapters/ledger/ledger-store.js';

type Opened = ledgers.OpenedLedger;

/** A ledger's parts, and what the parts do, as one object, for tests that do many things with a chain. The product has no such object. */
export type WholeLedger = Opened & Opened['writer'] & Opened['reader'] & Opened['verifier'] & Opened['retention'];

export const wholeLedger = (ledger: Opened): WholeLedger => ({
  ...ledger,
  ...ledger.writer,
  ...ledger.reader,
  ...ledger.verifier,
  ...ledger.retention,
});

export const openLedger = async (options: ledgers.OpenLedgerOptions): Promise<WholeLedger> =>
  wholeLedger((await ledgers.openLedger(options)).ledger);

export const ledgerOver = (...over: Parameters<typeof ledgers.ledgerOver>): WholeLedger =>
  wholeLedger(ledgers.ledgerOver(...over));
