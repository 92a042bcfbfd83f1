import type { Command } from 'commander';
import type { AgentRecord } from '../contracts/identity.js';
import { oneLine } from '../domain/printable.js';
import {
  agentPath,
  findAgent,
  fullName,
  registryOf,
  type StandingFlags,
  unknownAgent,
  withPerson,
} from './agent-standing.js';
import { CliError } from './errors.js';
import { print } from './output.js';

interface EnvelopeFlags extends StandingFlags {
  readonly scope: readonly string[];
  readonly yellow: readonly string[];
  readonly reason?: string;
}

const HELP = `
A grant lets an agent call the tool <name> by the scope tool:<name>, and ask a person whether it may by yellow:<name>.
People delegate no more than the envelope holds; without one they delegate nothing.`;

type Sets = Pick<AgentRecord, 'scope_envelope' | 'yellow_envelope'>;

const CHANGES = {
  widen: {
    says: 'let people delegate more to an agent',
    option: 'to be added',
    to: ({ scope_envelope: scope, yellow_envelope: yellow }: Sets, of: EnvelopeFlags): Sets => ({
      scope_envelope: [...scope, ...of.scope],
      yellow_envelope: [...yellow, ...of.yellow],
    }),
  },
  narrow: {
    says: 'let people delegate less to an agent; grants that hold more are taken back',
    option: 'to be taken away',
    to: ({ scope_envelope: scope, yellow_envelope: yellow }: Sets, of: EnvelopeFlags): Sets => ({
      scope_envelope: scope.filter((one) => !of.scope.includes(one)),
      yellow_envelope: yellow.filter((one) => !of.yellow.includes(one)),
    }),
  },
} as const;

const collected = (one: string, before: readonly string[]): readonly string[] => [...before, one];

/** `gate agents widen`, `gate agents narrow`: what people may delegate to an agent. */
export function registerEnvelopes(agents: Command): void {
  for (const [name, { says, option, to }] of Object.entries(CHANGES))
    withPerson(agents.command(name))
      .description(says)
      .argument('<name>', 'the agent, or tenant/agent')
      .option('--scope <scope>', `a scope ${option}, as tool:list_files; may be said again`, collected, [])
      .option('--yellow <scope>', `a yellow scope ${option}, as yellow:wire_transfer; may be said again`, collected, [])
      .option('--reason <text>', 'why; recorded in the ledger')
      .addHelpText('after', HELP)
      .action(async (typed: string, _own: EnvelopeFlags, command: { optsWithGlobals(): EnvelopeFlags }) => {
        const { reason, json: asJson, ...given } = command.optsWithGlobals();
        if (given.scope.length + given.yellow.length === 0)
          throw new CliError('say what: --scope, --yellow, or both', 2);
        const registry = registryOf(given, typed);
        const agent = await findAgent(registry, typed);
        if (!agent) throw unknownAgent(registry.tenant, typed);
        const changed = await registry.target.ask<AgentRecord>(
          'identity',
          'POST',
          agentPath(agent, `/envelope/${name}`),
          {
            ...to(agent, given),
            ...(reason !== undefined && { reason }),
          },
        );
        if (asJson) return print(changed);
        const all = [...changed.scope_envelope, ...changed.yellow_envelope].map(oneLine);
        process.stdout.write(`people may delegate to ${fullName(changed)}: ${all.join(', ') || 'nothing'}\n`);
      });
}
