import type { CallState } from '../../contracts/call.js';
import type { EventKind } from '../../contracts/event-kinds.js';
import type { CallRecord } from './record.js';
import { ledgerRowId } from './rows.js';

/** Rows that say that a call is over, and those that say how its review ended. */
const OVER: readonly EventKind[] = ['upstream.outcome', 'call.aborted', 'call.abandoned', 'alarm.record_tampered'];
const REFUSED: readonly EventKind[] = ['hil.denied', 'hil.expired'];

/** Rows that cannot be there while a record stands in this state: each is written by a move that leads away from it for good. */
const NOT_BESIDE: Readonly<Partial<Record<CallState, readonly EventKind[]>>> = {
  decided: [...OVER, ...REFUSED, 'hil.approved', 'hil.created', 'proxy.verdict'],
  parked: [...OVER, ...REFUSED, 'hil.approved'],
  allowed: [...OVER, ...REFUSED, 'hil.approved', 'hil.created'],
  approved: [...OVER, ...REFUSED],
  intended: [...OVER, ...REFUSED],
};

/** Which of these ids the ledger has a row under. Also one that readers do not see any more: hidden or edited, it was written. */
export type HeldRows = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * What the ledger says against an open record that was found there, by the ids of the rows it holds of the call; `null` where it says
 * nothing. An older record that was put back has its own MAC, and a process that has just started has seen no newer one; but its rows are
 * in the chain, which nobody shortens unnoticed.
 */
export async function contradictionOf(record: CallRecord, held: HeldRows): Promise<string | null> {
  const against = (NOT_BESIDE[record.state] ?? []).map(
    (kind) => [kind, ledgerRowId(record.correlation_id, kind)] as const,
  );
  if (against.length === 0) return null;
  const rows = await held(against.map(([, id]) => id));
  const told = against.find(([, id]) => rows.has(id))?.[0];
  return told ? `an older record was put back: it is ${record.state}, and the ledger has its ${told}` : null;
}
