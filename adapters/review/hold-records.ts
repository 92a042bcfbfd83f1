import type { Kysely } from 'kysely';
import { type LegalHoldReceipt, legalHoldReceipt } from '../../contracts/legal-hold.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { LegalHold } from '../../domain/review/retention.js';
import { TAMPER_CHECK } from '../../domain/decision/transitions.js';
import { asked } from './faults.js';
import type { ReviewTables } from './tables.js';

const MAC_FORM = 'gate.legal-hold/1';
const MAC_USE = 'legal-hold';

export type HoldOperation = ReviewTables['review_holds'];

/** The operations on legal holds as they are kept for good, each under a MAC of its own. */
export function holdRecords({ db, keys }: { readonly db: Kysely<ReviewTables>; readonly keys: KeyRing }) {
  const authenticated = (operation: Omit<HoldOperation, 'mac'>): string => {
    const { operation_id, tenant, pending_id, request, receipt } = operation;
    return JSON.stringify([MAC_FORM, operation_id, tenant, pending_id, request, receipt]);
  };

  function isOwn(done: HoldOperation): boolean {
    try {
      return keys.authentic(done.mac, authenticated(done), MAC_USE);
    } catch (cause) {
      throw new GateError('payload_unavailable', 'the key of this receipt is not here', { cause });
    }
  }

  /** What counts of an operation: one of Gate's own, and one that applied a hold also where its key is not here. */
  function counted(done: HoldOperation): LegalHoldReceipt | null {
    const said = readReceipt(done.receipt);
    try {
      return isOwn(done) ? said : null;
    } catch {
      return said?.action === 'apply' ? said : null;
    }
  }

  return {
    isOwn,
    sealed: (operation: Omit<HoldOperation, 'mac'>): HoldOperation => ({
      ...operation,
      mac: keys.authenticate(authenticated(operation), MAC_USE),
    }),

    /** Of a row whose own words are not Gate's: the hold that its operations left it under, and whose row that was; `null` where none did. */
    async heldBy(pendingId: string): Promise<{ readonly hold: LegalHold; readonly tenant: string } | null> {
      const done = await asked(() =>
        db.selectFrom('review_holds').selectAll().where('pending_id', '=', pendingId).execute(),
      );
      const last = done
        .flatMap((operation) => {
          const receipt = counted(operation);
          return receipt ? [{ receipt, tenant: operation.tenant }] : [];
        })
        // Of two in one millisecond the hold stands: it can be released once more.
        .sort(({ receipt: a }, { receipt: b }) =>
          a.updated_at === b.updated_at ? b.action.localeCompare(a.action) : a.updated_at < b.updated_at ? -1 : 1,
        )
        .at(-1);
      if (last?.receipt.action !== 'apply') return null;
      const { hold_id, updated_at: since } = last.receipt;
      return { hold: { hold_id, by: TAMPER_CHECK, since }, tenant: last.tenant };
    },
  };
}

function readReceipt(text: string): LegalHoldReceipt | null {
  try {
    return legalHoldReceipt.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
