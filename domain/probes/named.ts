import { type CallbackAllowlist, checkCallbackUrl, parseCallbackAllowlist } from '../outbound/callback-url.js';
import { type Probes, refusedProbe } from './probes.js';

/** The probes as an operator's settings name them. */
export interface NamedProbes {
  readonly probes?: Probes | undefined;
  readonly probeAllowlist: readonly string[];
  readonly probeAllowPrivate: readonly string[];
  /** Whether a tool is known to read: by the rules' data, or by its name. */
  readonly reads: (tool: string) => boolean;
}

/**
 * The probes, and where their addresses may lead; `undefined` where none was named. Throws, naming the first that may not be one: a tool that
 * is not known to read, or an address outside the allowlist.
 */
export function checkedProbes({
  probes,
  probeAllowlist,
  probeAllowPrivate: allowPrivate,
  reads,
}: NamedProbes):
  | { readonly of: Probes; readonly reach: { allowlist: CallbackAllowlist; allowPrivate: readonly string[] } }
  | undefined {
  if (probes === undefined) return undefined;
  const allowlist = parseCallbackAllowlist(probeAllowlist);
  const refused = refusedProbe(probes, {
    reads,
    mayReach: (url) => checkCallbackUrl(url, allowlist, { allowPrivate }),
  });
  if (refused !== null) throw new Error(refused);
  return { of: probes, reach: { allowlist, allowPrivate } };
}
