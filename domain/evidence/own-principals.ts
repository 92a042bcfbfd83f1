/** As whom Gate's services write rows of their own: alarms, changes of policies and of classes of tools, what the ledger did. */
const SERVICES: ReadonlySet<string> = new Set(['gate-proxy', 'gate-ledger', 'gate-policy-engine', 'gate-operator']);
/** Where a tenant's coming and leaving stands. */
const TENANT = 'tenant:';

/** Rows of a call, and of who made it. Only an agent has them. */
const OF_AGENTS: readonly string[] = [
  'proxy.',
  'brain.',
  'policy.evaluated',
  'hil.',
  'upstream.',
  'execution.',
  'response.',
  'identity.',
  'agent_',
  'active_agent.',
  'behavior_',
];

/**
 * What of Gate itself is behind rows, where no agent is. An agent may have any name, so it is told by the kinds of all its rows too: whoever is
 * called `gate-proxy` and calls something is an agent.
 */
export function ownPrincipal(agentId: string, methods: readonly string[]): 'service' | 'tenant' | null {
  if (methods.some((method) => OF_AGENTS.some((kind) => method.startsWith(kind)))) return null;
  if (SERVICES.has(agentId)) return 'service';
  return agentId.startsWith(TENANT) ? 'tenant' : null;
}
