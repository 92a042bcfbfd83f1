import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';

/** What its neighbours ask. `tools`: what names and data say of a tool, known where the rules are loaded. */
export type PolicyPort = PolicyEvaluator & { readonly tools?: Pick<PolicySet, 'classOf'> };
