import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GateError } from '../domain/errors.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';

/** Where lite's rules are. */
export interface PolicyFolder {
  readonly directory: string;
  readonly builtIn: boolean;
}

/** Names the rules that ship with Gate, in place of a folder. */
const BUILT_IN = 'built-in';

/**
 * The folder that is named, `./policies` where it holds compiled rules, else the rules that ship with Gate; `built-in` names those.
 * Throws `policy_unavailable` when a folder holds none, or rules that nobody compiled: they must not be passed over in silence.
 */
export function policyFolder(named: string | undefined): PolicyFolder {
  if (named === BUILT_IN) return { directory: shippedPolicyDirectory(), builtIn: true };
  if (named !== undefined) {
    if (!existsSync(join(named, POLICY_LAYOUT.wasm)))
      throw new GateError('policy_unavailable', `${named} holds no compiled rules (${POLICY_LAYOUT.wasm} is missing)`);
    return { directory: named, builtIn: false };
  }
  if (existsSync(join('policies', POLICY_LAYOUT.wasm))) return { directory: resolve('policies'), builtIn: false };
  if (holdsRules('policies'))
    throw new GateError(
      'policy_unavailable',
      `./policies holds rules that are not compiled (${POLICY_LAYOUT.wasm} is missing); compile them, or say --policies ${BUILT_IN} to run without them`,
    );
  return { directory: shippedPolicyDirectory(), builtIn: true };
}

const holdsRules = (folder: string): boolean =>
  existsSync(folder) &&
  statSync(folder).isDirectory() &&
  readdirSync(folder, { recursive: true }).some((path) => String(path).endsWith('.rego'));
