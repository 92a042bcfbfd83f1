import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import type { Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { POLICY_ENGINE } from './service.js';

/**
 * What names and shipped data say of a tool: by the rules that judge it if they are loaded here, otherwise by those that ship with Gate.
 */
export async function toolNames({
  beside,
}: Pick<Opening<never>, 'beside'>): Promise<Pick<PolicySet, 'classOf' | 'ruleOn'>> {
  const policies = await beside(POLICY_ENGINE);
  return policies?.tools ?? needed('the policies', loadPolicySet({ directory: shippedPolicyDirectory() }));
}
