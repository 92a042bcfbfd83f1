import type { CallState } from '../../contracts/call.js';
import type { EventKind } from '../../contracts/event-kinds.js';
import type { HeldRows } from '../../contracts/ledger.js';
import type { CallRecord } from './record.js';
import { ledgerRowId, SETTLED_ROW } from './rows.js';
import { within } from '../within.js';

/** Kinds of rows that say that a call has ended, and how its review ended. */
const OVER: readonly EventKind[] = ['upstream.outcome', 'call.aborted', 'call.abandoned', 'alarm.record_tampered'];
const REFUSED: readonly EventKind[] = ['hil.denied', 'hil.expired'];

/** A kind of row; of several rows of the kind, the one with this ordinal. */
type RowOf = EventKind | readonly [EventKind, number];

/** Rows that cannot exist while a record is in this state: each is written by a transition that leaves the state for good. */
const NOT_BESIDE: Readonly<Partial<Record<CallState, readonly RowOf[]>>> = {
  decided: [...OVER, ...REFUSED, 'hil.approved', 'hil.created', 'proxy.verdict'],
  parked: [...OVER, ...REFUSED, 'hil.approved'],
  allowed: [...OVER, ...REFUSED, 'hil.approved', 'hil.created'],
  approved: [...OVER, ...REFUSED],
  intended: [...OVER, ...REFUSED],
  uncertain: [['upstream.outcome', SETTLED_ROW]],
};

const rowIdOf = (id: string, row: RowOf): string =>
  typeof row === 'string' ? ledgerRowId(id, row) : ledgerRowId(id, ...row);

type Looked = Pick<CallRecord, 'correlation_id' | 'state'>;

/** The ids of the rows that would contradict a record, to ask the ledger about; none once the call has ended for good. */
export const idsAgainst = ({ correlation_id: id, state }: Looked): string[] =>
  (NOT_BESIDE[state] ?? []).map((row) => rowIdOf(id, row));

/**
 * What the ledger says against an open record, given the ids of the call's rows that it holds; `null` when it says nothing. An older record
 * that was put back has a valid MAC, and a process that has just started never saw the newer one; but the newer one's rows are in the
 * chain, which nobody can shorten unnoticed. A record moves before its rows are written. So a record that is still the stored one after the
 * ledger was asked, and that its rows contradict, was put back.
 */
export function contradictionOf({ correlation_id: id, state }: Looked, held: ReadonlySet<string>): string | null {
  const told = NOT_BESIDE[state]?.find((row) => held.has(rowIdOf(id, row)));
  return told
    ? `an older record was put back: it is ${state}, and the ledger has its ${typeof told === 'string' ? told : `later ${told[0]}`}`
    : null;
}

const ASK_LIMIT_MS = 500;
const ASK_AGAIN_MS = 2_000;

/**
 * Asks the ledger about a record that is being read. `null` when it does not answer at once; it is then not asked for a while, so that an
 * outage of the ledger does not slow calls down. The next read after that asks again.
 */
export function askedAtOnce({ held }: HeldRows): (ids: readonly string[]) => Promise<ReadonlySet<string> | null> {
  let againMs = Number.NEGATIVE_INFINITY;
  return async (ids) => {
    if (performance.now() < againMs) return null;
    try {
      return await within(ASK_LIMIT_MS, held(ids), () => new Error('the ledger did not answer in time'));
    } catch {
      againMs = performance.now() + ASK_AGAIN_MS;
      return null;
    }
  };
}
