import type { CallInput, CallSpend, CallState } from '../../contracts/call.js';
import type { CallRecord, VerdictEvidence } from '../call-record/record.js';
import { isFinal, TAMPERED } from '../call-record/transitions.js';

/** The most that a tenant, and an agent of it, may spend in a month, in micro-units; `null` without a limit (docs/architecture/budgets.md). */
export interface Budgets {
  readonly tenantMicros: number | null;
  readonly agentMicros: number | null;
}
export const NO_BUDGETS: Budgets = { tenantMicros: null, agentMicros: null };

/** What the proxy asks of the store for a call that may cost something, or whose budget is limited. */
export interface AskedSpend extends Budgets {
  /** The most that the call may cost: its inspection, and each tool of it. */
  readonly mostMicros: number;
  /** What a call of a tool costs, by name; absent for those that cost nothing. */
  readonly prices: Readonly<Record<string, number>>;
}

/** Why nothing could be reserved. `asked` is what the call might cost, `spent` and `reserved` what stands against the budget. */
export interface OverBudget {
  readonly of: 'tenant' | 'agent';
  readonly budgetMicros: number;
  readonly spentMicros: number;
  readonly reservedMicros: number;
  readonly askedMicros: number;
}

/** What a tenant or an agent spent in a month, and what calls that have not ended may still spend. */
export interface Spent {
  readonly spentMicros: number;
  readonly reservedMicros: number;
}
export const NOTHING_SPENT: Spent = { spentMicros: 0, reservedMicros: 0 };

/** The month of a call, in UTC: everything that it costs counts in the month in which it came. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);
/** Seconds until the next month begins, in UTC. */
export function secondsToNextMonth(ms: number): number {
  const at = new Date(ms);
  return Math.ceil((Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1) - ms) / 1_000);
}

/** The most that a call may cost, and what each of its tools does; `null` where it costs nothing and nobody set a budget: nothing is kept then. */
export function askedSpend(
  tools: readonly string[],
  priceOf: (tool: string) => number,
  inspectionMicros: number,
  budgets: Budgets,
): AskedSpend | null {
  const prices: Record<string, number> = {};
  let mostMicros = inspectionMicros;
  for (const tool of tools) {
    const micros = priceOf(tool);
    if (micros > 0) prices[tool] = micros;
    mostMicros += micros;
  }
  if (mostMicros === 0 && budgets.tenantMicros === null && budgets.agentMicros === null) return null;
  return { ...budgets, mostMicros, prices };
}

/** Its agent had spent its budget when the call came: it is judged without paying for it, and the rules say no. */
export const isSpent = ({ spend }: Pick<CallInput, 'spend'>): boolean =>
  spend?.budget !== undefined && spend.budget.spent_micros >= spend.budget.budget_micros;

type Ended = Pick<CallRecord, 'state' | 'evidence' | 'outcome' | 'decision'>;

/**
 * What a call cost that has ended: what its models were paid, and the price of each tool that ran, or of which nobody knows. `null` while it has not
 * ended, or costs are not kept of it. A record that is not what Gate wrote cost all that was reserved.
 */
export function costOf({ state, evidence, outcome, decision }: Ended): number | null {
  const { call } = evidence;
  if (!call.spend || !isFinal(state, call.contract)) return null;
  if (state === TAMPERED) return call.spend.reserved_micros;
  const inspection = (evidence.inspection?.cost_micros ?? 0) + (decision?.changed?.cost_micros ?? 0);
  const answers = [outcome?.inspected, ...(evidence.steps ?? []).map(({ inspected }) => inspected)];
  const read = answers.reduce((sum, one) => sum + (one?.cost_micros ?? 0), 0);
  return inspection + read + toolsCost(state, evidence, outcome?.reconciled !== undefined, call.spend);
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
  const sum = (tools: readonly string[]) => tools.reduce((micros, tool) => micros + (spend.prices[tool] ?? 0), 0);
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
