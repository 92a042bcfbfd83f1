import { endOf, endTold, isExecutedHere } from '../../../domain/evidence/ended.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { isRehearsal, REHEARSAL_TOLD } from '../../../domain/review/rehearsal.js';
import { settled } from '../../services.js';
import type { Notice, Visit } from '../../visit.js';

/** Most tools answer within this time; the page after an approval then says what came of it. */
const PATIENCE_MS = 1_500;

export interface CameOfIt {
  readonly kind: Notice['kind'];
  readonly words: string;
}

/** What came of a call that was approved, from the ledger, because anybody can write an address. Without the ledger it says nothing. */
export async function cameOfIt({ services }: Visit, row: PendingRequest): Promise<CameOfIt> {
  if (isRehearsal(row)) return { kind: 'good', words: REHEARSAL_TOLD };
  const { correlation_id: id } = row;
  const rows = await settled('ledger', services.ledger.ended(id, PATIENCE_MS));
  if (!rows.ok) return { kind: 'good', words: '' };
  const ended = endOf(rows.value);
  if (ended !== null) {
    const { isGood, words } = endTold(ended);
    return { kind: isGood ? 'good' : 'bad', words };
  }
  return {
    kind: 'good',
    words: isExecutedHere(rows.value) ? 'Gate executes it now: load this page again for what came of it.' : '',
  };
}

/** What the ledger has of a call that waits. */
export interface SaidOfIt {
  /** What an approval of it does. */
  readonly effect: string | null;
  /** What inspection found. */
  readonly inspected: string | null;
}

/** Said before a decision is given; `null` for what is not known. */
export async function saidOf({ services }: Visit, { correlation_id: id }: PendingRequest): Promise<SaidOfIt> {
  const rows = await settled('ledger', services.ledger.call(id));
  if (!rows.ok) return { effect: null, inspected: null };
  const executes = isExecutedHere(rows.value);
  const inspection = rows.value.findLast(({ event_kind: kind }) => kind === 'brain.inspection');
  return {
    effect:
      executes === null
        ? null
        : executes
          ? 'Once it is approved, Gate executes it, once.'
          : 'Once it is approved, its agent may act: Gate executes nothing here.',
    inspected:
      inspection === undefined
        ? null
        : inspection.policy_decision?.['available'] === false
          ? `none, the call was judged without it: ${inspection.reasoning}`
          : inspection.reasoning,
  };
}
