import type { CallSpend, CallState } from '../../contracts/call.js';
import type { CallRecord, VerdictEvidence } from './record.js';
import { isFinal, TAMPERED } from './transitions.js';

type Ended = Pick<CallRecord, 'state' | 'evidence' | 'outcome' | 'decision'>;

/** `inspectedMicros` is what the inspections cost that a record names: models may have been paid for others, that nobody used. */
export interface CallCost {
  readonly inspectedMicros: number;
  /** Reading what tools answered, and the price of each that ran, or of which nobody knows. */
  readonly ranMicros: number;
}
/** Of a call that nothing is known of but what its models were paid. */
export const ONLY_PAID: CallCost = { inspectedMicros: 0, ranMicros: 0 };

/**
 * What a call cost that has ended, by its record. `null` while it has not ended, or costs are not kept of it. A record that is not what Gate wrote cost all
 * that was reserved.
 */
export function costOf({ state, evidence, outcome, decision }: Ended): CallCost | null {
  const { call } = evidence;
  if (!call.spend || !isFinal(state, call.contract)) return null;
  if (state === TAMPERED) return { inspectedMicros: call.spend.reserved_micros, ranMicros: 0 };
  const inspectedMicros = (evidence.inspection?.cost_micros ?? 0) + (decision?.changed?.cost_micros ?? 0);
  const answers = [outcome?.inspected, ...(evidence.steps ?? []).map(({ inspected }) => inspected)];
  const read = answers.reduce((sum, one) => sum + (one?.cost_micros ?? 0), 0);
  const ranMicros = read + toolsCost(state, evidence, outcome?.reconciled !== undefined, call.spend);
  return { inspectedMicros, ranMicros };
}

/** What the attempt of a call, or its host's, cost by the prices of its tools; absent where they have none. `isReconciled`: somebody said how it ended. */
export function pricePaid(
  stage: 'completed' | 'failed' | 'uncertain' | 'not_run' | 'allowed' | 'aborted' | 'abandoned' | 'tampered',
  evidence: VerdictEvidence,
  isReconciled = false,
): { readonly price_micros?: number } {
  const { spend } = evidence.call;
  if (!spend || Object.keys(spend.prices).length === 0) return {};
  return { price_micros: toolsCost(stage === 'failed' ? 'completed' : stage, evidence, isReconciled, spend) };
}

function toolsCost(
  state: CallState,
  { call, steps = [], sibling_tools: siblings }: VerdictEvidence,
  isReconciled: boolean,
  spend: CallSpend,
): number {
  // Tools are called as their upstream likes, also `constructor`.
  const prices = new Map(Object.entries(spend.prices));
  const sum = (tools: readonly string[]) => tools.reduce((micros, tool) => micros + (prices.get(tool) ?? 0), 0);
  const all = siblings ?? [call.tool];
  const ran = steps.filter(({ stage }) => stage !== 'not_run').map(({ tool }) => tool);
  switch (state) {
    // Whoever only asked for a verdict runs the call himself, and Gate is not told that he did not.
    case 'allowed':
    case 'approved':
      return sum(all);
    case 'completed':
      // Whose evidence it is that a batch ran, says so of all its calls.
      return sum(siblings && !isReconciled ? ran : all);
    case 'uncertain':
      // With the one that was under way; none after it was sent.
      return sum(siblings ? [...ran, ...siblings.slice(steps.length, steps.length + 1)] : all);
    default:
      return sum(ran);
  }
}
