import { uuidFromDigest } from '../crypto/digest.js';
import type { RevokedBy } from './revoked-by.js';

/** Whose budget it is (docs/architecture/budgets.md). */
export interface BudgetOf {
  readonly tenant: string;
  /** `null`: the tenant whole. */
  readonly agent: string | null;
}

/** As proxies and workers are told it. */
export interface ToldBudget extends BudgetOf {
  /** `null`: no limit any more. */
  readonly budgetMicros: number | null;
  readonly changedMs: number;
}

/** A budget that somebody set, or took away. */
export interface SetBudget extends BudgetOf {
  readonly budgetMicros: number | null;
  readonly setMs: number;
  readonly setBy: string;
  readonly reason: string | null;
}

export interface BudgetStore {
  /** Those of a tenant: its own first, then those of its agents by their names. */
  budgets(tenant: string): Promise<readonly SetBudget[]>;
  /** The same sum again changes nothing. Throws `budgets_exhausted` where too many agents of the tenant have one. */
  setBudget(of: BudgetOf, budgetMicros: number | null, by: RevokedBy): Promise<void>;
}

/** A budget has one row, however often it is set. */
export const budgetIdOf = ({ tenant, agent }: BudgetOf): string =>
  agent === null
    ? uuidFromDigest('gate.identity-budget/tenant', tenant)
    : uuidFromDigest('gate.identity-budget/agent', tenant, agent);
