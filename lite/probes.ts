import { ConfigError } from '../config/env.js';
import type { LiteConfig } from '../config/lite.js';
import { errorText } from '../domain/errors.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import { checkedProbes } from '../domain/probes/named.js';
import type { AskUrl } from '../domain/probes/ports.js';
import type { ActivityPorts } from '../workers/activities.js';

/** The probes of the settings; `undefined` where none is named. Throws ConfigError for one that may not be a probe. */
export function liteProbes(
  config: LiteConfig,
  policies: Pick<PolicySet, 'classOf'>,
  toolsName: string,
): ActivityPorts['probes'] {
  try {
    const named = checkedProbes({ ...config, reads: (tool) => policies.classOf(toolsName, tool)?.class === 'read' });
    if (named === undefined) return undefined;
    let asking: Promise<AskUrl> | undefined;
    return {
      of: named.of,
      // Loaded at its first use, because a start does not need it.
      async askUrl(...asked) {
        asking ??= import('../activities/clients/probe-url.js').then(({ createProbeUrl }) =>
          createProbeUrl(named.reach),
        );
        return (await asking)(...asked);
      },
    };
  } catch (error) {
    throw new ConfigError('lite', [`GATE_LITE_PROBES: ${errorText(error)}`]);
  }
}
