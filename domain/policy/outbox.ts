import type { Ledger } from '../../contracts/ledger.js';
import { createLedgerOutbox, type LedgerOutbox } from '../ledger/outbox.js';
import type { PolicyStore } from './library-ports.js';
import { editedWords } from './sealed-policies.js';

export type PolicyOutbox = LedgerOutbox;

/** Brings the rows of changes into the ledger, in their order, for as long as it takes. */
export const createPolicyOutbox = (parts: {
  readonly store: Pick<PolicyStore, 'undelivered' | 'delivered'>;
  readonly ledger: Ledger;
  /** Told once per fault, also of rows that somebody else wrote, and null when it is over. */
  readonly onFault: (reason: string | null) => void;
  readonly lookMs?: number;
}): PolicyOutbox => createLedgerOutbox({ ...parts, what: 'rows of policy changes', named: editedWords });
