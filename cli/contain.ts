import type { Command } from 'commander';
import { agentRecord, type AgentRecord, type Containment } from '../contracts/identity.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import { oneLine } from '../domain/printable.js';
import {
  agentPath,
  bareName,
  findAgent,
  fullName,
  type Registry,
  registryOf,
  type StandingFlags,
  suspendableAgent,
  toldStop,
  unknownAgent,
  withPerson,
} from './agent-standing.js';
import { CliError } from './errors.js';
import { gateCommand, print } from './output.js';
import { registerStops } from './stops.js';

interface ContainFlags extends StandingFlags {
  readonly reason: string;
  readonly forceHil?: boolean;
  readonly for?: string;
  readonly register?: boolean;
}

const HELP = `
Stopped, no new call of the agent is let in, at every proxy within two seconds; its open connections by certificate, and
its event streams by token, end; and a call of it that waits does not run, whoever approves it. Its certificates of
identity are taken back: two people let it go again (gate release agent <name>), and then it needs a first one again.
Where somebody edited the row of what it may do in identity's store, it is stopped for good, and without a report.
With --force-hil it goes on: a person decides about every call that would have run by itself, until that time is over.`;

/** `gate contain`: stops an agent at once. */
export function registerContain(program: Command): void {
  const contain = program
    .command('contain')
    .description('stop an agent, a tool or a tenant at once, or have a person decide about the calls of an agent');
  registerStops(contain);
  withPerson(contain.command('agent'))
    .description('stop an agent: none of its calls runs any more')
    .argument('<name>', 'the agent, or tenant/agent; its id where somebody edited its row')
    .requiredOption('--reason <text>', 'why; recorded in the ledger')
    .option('--force-hil', 'do not stop it: a person decides about every call of it that may run')
    .option('--for <time>', 'with --force-hil: how long, as 30m, 2h or 1d (a minute to a week)')
    .option('--register', 'also where identity never enrolled it and it never called: the name must be right')
    .addHelpText('after', HELP)
    .action(async (typed: string, { reason, forceHil, for: time, register, json: asJson, ...given }: ContainFlags) => {
      if (time !== undefined && !forceHil) throw new CliError('--for belongs to --force-hil; a stop has no end', 2);
      const seconds = time === undefined ? undefined : secondsOf(time);
      const registry = registryOf(given, typed);
      const found = await findAgent(registry, typed).catch(byItsId);
      if (!found && !forceHil && agentRecord.shape.id.safeParse(bareName(typed)).success) {
        // Identity reads no edited row out, and stops its agent all the same.
        const unread = { id: bareName(typed), tenant: registry.tenant };
        return told(asJson, undefined, await stop(registry, unread, reason));
      }
      const agent =
        found ?? (register || (await hasCalled(registry, typed)) ? await registered(registry, typed) : null);
      if (!agent)
        throw unknownAgent(
          registry.tenant,
          typed,
          ', and the ledger has no call of one. If the name is right all the same, add --register',
        );
      if (!forceHil) return told(asJson, agent, await stop(registry, agent, reason));
      const set = await registry.target.ask<Containment>('identity', 'POST', agentPath(agent, '/containment'), {
        reason,
        ...(seconds !== undefined && { ttl_seconds: seconds }),
      });
      if (asJson) return print(set);
      process.stdout.write(
        `a person decides about every call of ${fullName(agent)} that may run, until ${set.force_hil?.expires_at}\n` +
          `sooner: ${gateCommand()} release agent ${oneLine(typed)} --force-hil\n`,
      );
    });
}

const stop = ({ target }: Registry, agent: Pick<AgentRecord, 'id' | 'tenant'>, reason: string): Promise<AgentRecord> =>
  target.ask<AgentRecord>('identity', 'POST', agentPath(agent, '/suspend'), { reason });

const toldEnd = (agent: AgentRecord): string =>
  `stopped for good: ${fullName(agent)}. Somebody edited the row of what it may do in identity's store, so it cannot be let go: register it anew under another name\n` +
  "there is no report of what was running; what could not be taken back is in identity's log\n";

function told(asJson: boolean | undefined, before: AgentRecord | undefined, stopped: AgentRecord): void {
  if (asJson) return print(stopped);
  // A decommissioned agent is refused before; that this one came out so is what an edited row made of the stop.
  if (stopped.state === 'decommissioned') return void process.stdout.write(toldEnd(stopped));
  process.stdout.write(toldStop(before, suspendableAgent(stopped)));
}

/** The error names the id of an agent whose row somebody edited. */
function byItsId(error: unknown): never {
  if (!(error instanceof CliError) || error.code !== 'identity_tampered') throw error;
  throw new CliError(
    `${error.message}; by that id it is stopped all the same: ${gateCommand()} contain agent <id> --reason "…"`,
    error.exitCode,
    error.code,
  );
}

/** Whether there is an agent of that name whom identity never enrolled: its certificates or tokens come from elsewhere. */
async function hasCalled({ target, tenant }: Registry, typed: string): Promise<boolean> {
  const query = new URLSearchParams({ tenant, agent_id: bareName(typed), limit: '1' });
  return (await target.ask<LedgerEntry[]>('ledger', 'GET', `/audit/agent/rows?${query.toString()}`)).length > 0;
}

const registered = ({ target, tenant }: Registry, typed: string): Promise<AgentRecord> =>
  target.ask<AgentRecord>('identity', 'POST', '/agents', {
    tenant,
    agent_name: bareName(typed),
  });

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function secondsOf(text: string): number {
  const [, number = '', unit = ''] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(number) * (UNITS[unit] ?? 0);
  if (seconds < 60 || seconds > 604_800)
    throw new CliError(`--for takes a minute to a week, as 30m, 2h or 1d, not ${oneLine(text)}`, 2);
  return seconds;
}
