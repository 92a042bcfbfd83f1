import { SERVER_EXECUTION_CONTRACT } from '../../contracts/call.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import { told } from './reports/summaries.js';

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

/** The same in words for who approved it. */
export function endTold({ stage, why }: CallEnd): { readonly isGood: boolean; readonly words: string } {
  const because = why.trim() === '' ? '' : `: ${told(why)}`;
  switch (stage) {
    case 'none':
      return { isGood: true, words: 'Gate executes nothing here: its agent asked for the decision, and may act now.' };
    case 'completed':
      return { isGood: true, words: 'Gate executed it, once.' };
    case 'failed':
      return { isGood: false, words: `Gate executed it, once, and the tool answered with an error${because}.` };
    case 'uncertain':
      return {
        isGood: false,
        words: `Nobody knows whether it ran${because}. It is not sent again; look at the tool itself.`,
      };
    case 'not-executed':
      return { isGood: false, words: `It was not executed${because}.` };
  }
}
