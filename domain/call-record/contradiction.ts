import type { CallState } from '../../contracts/call.js';
import type { EventKind } from '../../contracts/event-kinds.js';
import type { HeldRows } from '../../contracts/ledger.js';
import type { CallRecord } from './record.js';
import { ledgerRowId } from './rows.js';
import { within } from '../within.js';

/** Kinds of rows that say that a call is over, and how its review ended. */
const OVER: readonly EventKind[] = ['upstream.outcome', 'call.aborted', 'call.abandoned', 'alarm.record_tampered'];
const REFUSED: readonly EventKind[] = ['hil.denied', 'hil.expired'];

/** Kinds of rows that cannot exist while a record is in this state: each is written by a move that leaves the state for good. */
const NOT_BESIDE: Readonly<Partial<Record<CallState, readonly EventKind[]>>> = {
  decided: [...OVER, ...REFUSED, 'hil.approved', 'hil.created', 'proxy.verdict'],
  parked: [...OVER, ...REFUSED, 'hil.approved'],
  allowed: [...OVER, ...REFUSED, 'hil.approved', 'hil.created'],
  approved: [...OVER, ...REFUSED],
  intended: [...OVER, ...REFUSED],
};

type Looked = Pick<CallRecord, 'correlation_id' | 'state'>;

/** The ids of the rows that would contradict a record, to ask the ledger for; none where the call is over. */
export const idsAgainst = ({ correlation_id: id, state }: Looked): string[] =>
  (NOT_BESIDE[state] ?? []).map((kind) => ledgerRowId(id, kind));

/**
 * What the ledger says against an open record that was found, by the ids of the rows it holds of the call; `null` where it says nothing.
 * An older record that was put back has its own MAC, and a process that has just started has seen no newer one; but its rows are in the
 * chain, which nobody shortens unnoticed. A record moves before its rows are written: one that still stands after this was asked was put back.
 */
export function contradictionOf({ correlation_id: id, state }: Looked, held: ReadonlySet<string>): string | null {
  const told = NOT_BESIDE[state]?.find((kind) => held.has(ledgerRowId(id, kind)));
  return told ? `an older record was put back: it is ${state}, and the ledger has its ${told}` : null;
}

const ASK_LIMIT_MS = 500;
const ASK_AGAIN_MS = 2_000;

/**
 * Asks the ledger about a record that is being read. `null` where it does not answer at once, and for a while afterwards without asking,
 * so that an outage of the ledger does not slow calls down. What was not asked is asked at the next read.
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
