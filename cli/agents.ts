import type { Command } from 'commander';
import { agentState, type AgentRecord } from '../contracts/identity.js';
import { oneLine } from '../domain/printable.js';
import { allOf, askedRelease, registryOf, type StandingFlags, withPerson } from './agent-standing.js';
import { registerEnrol } from './enrol.js';
import { registerEnvelopes } from './envelopes.js';
import { CliError } from './errors.js';
import { print } from './output.js';
import { registerRegistry } from './registry.js';
import { table } from './table.js';
import { registerWorkloadApi } from './workload-api.js';

interface AgentsFlags extends StandingFlags {
  readonly state?: string;
}

/** `gate agents`: the agents that identity knows, and what each may do. */
export function registerAgents(program: Command): void {
  const agents = program.command('agents');
  registerEnrol(agents);
  registerEnvelopes(agents);
  registerRegistry(agents);
  registerWorkloadApi(agents);
  withPerson(agents)
    .description('the agents that identity knows, and which of them are stopped')
    .option('--state <state>', `only those that are ${agentState.options.join(', ')}`)
    .action(async ({ state, json: asJson, ...given }: AgentsFlags) => {
      const known = agentState.options.find((one) => one === state);
      if (state !== undefined && known === undefined)
        throw new CliError(`a state is ${agentState.options.join(', ')}, not ${oneLine(state)}`, 2);
      const registry = registryOf(given);
      const query = { tenant: registry.tenant, ...(known && { state: known }) };
      const agents = await allOf(registry.target.each('/agents', { query }));
      if (asJson) return print(agents);
      if (agents.length === 0)
        return void process.stdout.write(
          `(identity knows no ${known ? `${known} ` : ''}agent of ${oneLine(registry.tenant)}; one whose certificates come from elsewhere is here once it was stopped)\n`,
        );
      const head = ['agent', 'team', 'state', 'since', 'by', 'why'].map((name) => ({
        head: name,
        whole: name === 'agent',
      }));
      process.stdout.write(`${table(head, agents.map(rowOf))}\n`);
    });
}

function rowOf(agent: AgentRecord): readonly string[] {
  const { state, release, force_hil: flag } = agent;
  const words = [
    state,
    ...(flag ? [`a person decides until ${flag.expires_at}`] : []),
    ...(release ? [askedRelease(release)] : []),
  ];
  const since = state === 'active' && flag ? flag.applied_at : (agent.state_changed_at ?? agent.created_at);
  const by = state === 'active' && flag ? flag.actor : (agent.state_changed_by ?? agent.created_by_sub);
  const why = state === 'active' && flag ? flag.reason : (agent.reason ?? '');
  return [agent.agent_name, agent.owner_team ?? '', words.join('; '), since, by, why];
}
