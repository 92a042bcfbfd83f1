import type { CallInput } from '../../contracts/call.js';

/** The most that a tenant, and an agent of it, may spend in a month, in micro-units; `null` without a limit (docs/architecture/budgets.md). */
export interface Budgets {
  readonly tenantMicros: number | null;
  readonly agentMicros: number | null;
}
export const NO_BUDGETS: Budgets = { tenantMicros: null, agentMicros: null };

/** What the proxy asks of the store for a call that may cost something, or whose budget is limited. */
export interface AskedSpend extends Budgets {
  /** The most that the call may cost: the inspection of each of its calls, and each tool of it. */
  readonly mostMicros: number;
  /** What its tools cost of that. */
  readonly toolsMicros: number;
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

/**
 * The most that a call may cost, and what each of its tools does; `null` where it costs nothing and nobody set a budget: nothing is kept then. Each call of a
 * batch is inspected.
 */
export function askedSpend(
  tools: readonly string[],
  priceOf: (tool: string) => number,
  inspectionMicros: number,
  budgets: Budgets,
): AskedSpend | null {
  const prices = new Map<string, number>();
  let toolsMicros = 0;
  for (const tool of tools) {
    const micros = priceOf(tool);
    if (micros > 0) prices.set(tool, micros);
    toolsMicros += micros;
  }
  const mostMicros = inspectionMicros * Math.max(1, tools.length) + toolsMicros;
  if (mostMicros === 0 && budgets.tenantMicros === null && budgets.agentMicros === null) return null;
  return { ...budgets, mostMicros, toolsMicros, prices: Object.fromEntries(prices) };
}

/** Its agent had spent its budget when the call came: it is judged without paying for it, and the rules say no. */
export const isSpent = ({ spend }: Pick<CallInput, 'spend'>): boolean =>
  spend?.budget !== undefined && spend.budget.spent_micros >= spend.budget.budget_micros;
