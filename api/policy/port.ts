import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';
import type { ResponsePolicy } from '../../domain/inspection/response-port.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';

/** What other services use policy through. `tools` says what names and data say of a tool; it is known only where the rules are loaded. */
export type PolicyPort = PolicyEvaluator & ResponsePolicy & { readonly tools?: Pick<PolicySet, 'classOf' | 'ruleOn'> };
