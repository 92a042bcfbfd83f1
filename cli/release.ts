import type { Command } from 'commander';
import type { AgentReleased, Containment } from '../contracts/identity.js';
import {
  agentPath,
  findAgent,
  fullName,
  registryOf,
  type StandingFlags,
  suspendableAgent,
  toldRelease,
  unknownAgent,
  withPerson,
} from './agent-standing.js';
import { CliError } from './errors.js';
import { print } from './output.js';
import { registerStopReleases } from './stops.js';

interface ReleaseFlags extends StandingFlags {
  readonly reason?: string;
  readonly forceHil?: boolean;
}

const HELP = `
Two people let go what was stopped: one asks, which counts for a day, and another one confirms with the same
command. In the development stack the second operator is --as second. Where only one operator is known
(GATE_HIL_OPERATORS), and the console vouches for nobody else, nobody can confirm: add one, and start Gate again.`;

/** `gate release`: lets an agent go that was stopped. */
export function registerRelease(program: Command): void {
  const release = program
    .command('release')
    .description('let go an agent, a tool or a tenant that was stopped; two people do that together');
  registerStopReleases(release, HELP);
  withPerson(release.command('agent'))
    .description('ask for the end of a stop, or confirm what somebody else asked for')
    .argument('<name>', 'the agent, or tenant/agent')
    .option('--reason <text>', 'why; recorded in the ledger')
    .option(
      '--force-hil',
      'let its calls run again by the rules alone (`gate contain agent --force-hil`); one person does that',
    )
    .addHelpText('after', HELP)
    .action(async (typed: string, { reason, forceHil, json: asJson, ...given }: ReleaseFlags) => {
      const registry = registryOf(given, typed);
      const before = await findAgent(registry, typed);
      if (!before) throw unknownAgent(registry.tenant, typed);
      const said = { ...(reason !== undefined && { reason }) };
      if (forceHil) {
        if (!before.force_hil) throw new CliError(`no person has to decide about the calls of ${fullName(before)}`, 4);
        const path = agentPath(before, '/containment/clear');
        const cleared = await registry.target.ask<Containment>('identity', 'POST', path, said);
        if (asJson) return print(cleared);
        return void process.stdout.write(`the calls of ${fullName(before)} are judged by the rules alone again\n`);
      }
      if (before.state === 'active')
        throw new CliError(
          `${fullName(before)} is not stopped${before.force_hil ? `; a person decides about its calls until ${before.force_hil.expires_at}, which --force-hil ends` : ''}`,
          4,
        );
      const after = await registry.target.ask<AgentReleased>('identity', 'POST', agentPath(before, '/unsuspend'), said);
      if (asJson) return print(after);
      process.stdout.write(toldRelease(before, suspendableAgent(after), after.somebody_else));
    });
}
