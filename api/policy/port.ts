import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';
import type { EgressPolicy } from '../../domain/responses/port.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';

/** What other services use policy through. `tools` says what names and data say of a tool; it is known only where the rules are loaded. */
export type PolicyPort = PolicyEvaluator & EgressPolicy & { readonly tools?: Pick<PolicySet, 'classOf' | 'ruleOn'> };
