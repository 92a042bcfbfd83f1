import { SERVER_EXECUTION_CONTRACT } from '../../contracts/call.js';
import type { LedgerEntry } from '../../contracts/ledger.js';

/** What came of a call's approval. */
export interface CallEnd {
  /** `none`: nothing is executed here, because its agent asked for the decision alone. */
  readonly stage: 'none' | 'completed' | 'failed' | 'uncertain' | 'not-executed';
  readonly why: string;
}

/** Whether a row tells of a look of a probe, or of one call of a batch: neither says how the whole ended. */
export const isLook = ({ policy_decision: said }: Pick<LedgerEntry, 'policy_decision'>): boolean =>
  said?.['stage'] === 'probed' || said?.['stage'] === 'step';

const ENDS: ReadonlySet<string> = new Set(['upstream.outcome', 'call.aborted', 'call.abandoned']);

/** Whether Gate executes a call once it is approved, by its rows; `null` where its verdict is not among them. */
export function isExecutedHere(rows: readonly LedgerEntry[]): boolean | null {
  const contract = rows.find(({ event_kind: kind }) => kind === 'proxy.verdict')?.policy_decision?.['contract'];
  return typeof contract === 'string' ? contract === SERVER_EXECUTION_CONTRACT : null;
}

/** How an approved call ended, by its rows; `null` where it has not. */
export function endOf(rows: readonly LedgerEntry[]): CallEnd | null {
  const ended = rows.findLast((row) => ENDS.has(row.event_kind ?? '') && !isLook(row));
  if (ended === undefined) return isExecutedHere(rows) === false ? { stage: 'none', why: '' } : null;
  const stage = ended.policy_decision?.['stage'];
  const known = stage === 'completed' || stage === 'failed' || stage === 'uncertain' ? stage : 'not-executed';
  return { stage: known, why: ended.reasoning };
}
