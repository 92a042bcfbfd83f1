import { endOf, endTold, isExecutedHere } from '../../../domain/evidence/ended.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { settled } from '../../services.js';
import type { Notice, Visit } from '../../visit.js';

/** Most tools answer within this time; the page after an approval then says what came of it. */
const PATIENCE_MS = 1_500;

export interface CameOfIt {
  readonly kind: Notice['kind'];
  readonly words: string;
}

/** What came of a call that was approved, from the ledger, because anybody can write an address. Without the ledger it says nothing. */
export async function cameOfIt({ services }: Visit, { correlation_id: id }: PendingRequest): Promise<CameOfIt> {
  const rows = await settled('The ledger', services.ledger.ended(id, PATIENCE_MS));
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

/** What an approval of a call does, said before it is given; `null` where that is not known. */
export async function effectOf({ services }: Visit, { correlation_id: id }: PendingRequest): Promise<string | null> {
  const rows = await settled('The ledger', services.ledger.call(id));
  const executes = rows.ok ? isExecutedHere(rows.value) : null;
  if (executes === null) return null;
  return executes
    ? 'Once it is approved, Gate executes it, once.'
    : 'Once it is approved, its agent may act: Gate executes nothing here.';
}
