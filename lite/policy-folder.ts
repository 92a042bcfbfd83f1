import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GateError } from '../domain/errors.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../domain/policy/policy-sources.js';

/** Where lite's rules are. */
export interface PolicyFolder {
  readonly directory: string;
  readonly builtIn: boolean;
}

/**
 * The folder that is named, `./policies` where it holds compiled rules, else the rules that ship with Gate. Throws `policy_unavailable`
 * when a named folder holds none.
 */
export function policyFolder(named: string | undefined): PolicyFolder {
  if (named !== undefined) {
    if (!existsSync(join(named, POLICY_LAYOUT.wasm)))
      throw new GateError('policy_unavailable', `${named} holds no compiled rules (${POLICY_LAYOUT.wasm} is missing)`);
    return { directory: named, builtIn: false };
  }
  if (existsSync(join('policies', POLICY_LAYOUT.wasm))) return { directory: resolve('policies'), builtIn: false };
  return { directory: shippedPolicyDirectory(), builtIn: true };
}
