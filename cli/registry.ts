import type { Command } from 'commander';
import {
  certificationRequest,
  type AgentRecord,
  type CertifiedAgent,
  type OrphanRecord,
} from '../contracts/identity.js';
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
import { textOf } from './named-file.js';
import { print } from './output.js';
import { table } from './table.js';

interface ChangeFlags extends StandingFlags {
  readonly reason?: string;
}
interface Globals<Flags> {
  optsWithGlobals(): Flags;
}

/** `gate agents transfer`, `describe`, `certify`, `decommission` and `orphans`: what people say of agents. */
export function registerRegistry(agents: Command): void {
  const change = (name: string, says: string, argument: readonly [string, string]) =>
    withPerson(agents.command(name))
      .description(says)
      .argument('<name>', 'the agent, or tenant/agent')
      .argument(...argument)
      .option('--reason <text>', 'why; recorded in the ledger');
  const posted = async <Answer>(typed: string, what: string, body: object, given: StandingFlags) => {
    const registry = registryOf(given, typed);
    const agent = await findAgent(registry, typed);
    if (!agent) throw unknownAgent(registry.tenant, typed);
    return registry.target.ask<Answer>('identity', 'POST', agentPath(agent, what), body);
  };
  const because = (reason: string | undefined) => (reason === undefined ? {} : { reason });

  change('transfer', 'give an agent to a team: who is of it may narrow and stop the agent', [
    '<team>',
    'a group of the provider by which people sign in',
  ]).action(async (typed: string, team: string, _own: ChangeFlags, command: Globals<ChangeFlags>) => {
    const { reason, json: asJson, ...given } = command.optsWithGlobals();
    const body = { owner_team: team, ...because(reason) };
    const changed = await posted<AgentRecord>(typed, '/owner-team', body, given);
    if (asJson) return print(changed);
    process.stdout.write(`${fullName(changed)} is of the team ${oneLine(changed.owner_team ?? '')}\n`);
  });
  change('describe', 'say what an agent is for', ['[text]', 'in words; without it nothing is said any more']).action(
    async (typed: string, text: string | undefined, _own: ChangeFlags, command: Globals<ChangeFlags>) => {
      const { reason, json: asJson, ...given } = command.optsWithGlobals();
      const body = { description: text ?? null, ...because(reason) };
      const changed = await posted<AgentRecord>(typed, '/description', body, given);
      if (asJson) return print(changed);
      process.stdout.write(`${fullName(changed)}: ${oneLine(changed.description ?? '(nothing is said of it)')}\n`);
    },
  );
  withPerson(agents.command('certify'))
    .description('certify that an agent passed its cases')
    .argument('<name>', 'the agent, or tenant/agent')
    .argument('<file>', 'what came of each case, as JSON: sdk_version, proxy_url, catalog_sha256, cases, total, passed')
    .action(async (typed: string, file: string, _own: StandingFlags, command: Globals<StandingFlags>) => {
      const { json: asJson, ...given } = command.optsWithGlobals();
      const certified = await posted<CertifiedAgent>(typed, '/certification', passedIn(file), given);
      if (asJson) return print(certified);
      const { certificate, certificate_sha256: digest, signature } = certified;
      process.stdout.write(
        `certified: ${oneLine(`${certificate.tenant}/${certificate.agent_name}`)} passed ${certificate.passed} of ${certificate.total} cases with ${oneLine(certificate.sdk_version)}\n` +
          `${digest}, signed with the key ${signature.key_id}\n`,
      );
    });
  withPerson(agents.command('decommission'))
    .description('end an agent for good: it does nothing any more, and its name is never used again')
    .argument('<name>', 'the agent, or tenant/agent')
    .requiredOption('--confirm <name>', 'the name of the agent once more')
    .option('--reason <text>', 'why; recorded in the ledger')
    .action(async (typed: string, _own: object, command: Globals<ChangeFlags & { readonly confirm: string }>) => {
      const { reason, confirm, json: asJson, ...given } = command.optsWithGlobals();
      if (confirm !== typed)
        throw new CliError(`--confirm ${oneLine(confirm)} is not ${oneLine(typed)}: nothing was done`, 2);
      const ended = await posted<AgentRecord>(typed, '/decommission', because(reason), given);
      if (asJson) return print(ended);
      process.stdout.write(`ended for good: ${fullName(ended)}; its certificates are taken back\n`);
    });
  withPerson(agents.command('orphans'))
    .description('names under which certificates were issued, and that no agent has')
    .action(async (_own: StandingFlags, command: Globals<StandingFlags>) => {
      const { json: asJson, ...given } = command.optsWithGlobals();
      const { target, tenant } = registryOf(given);
      const query = new URLSearchParams({ tenant });
      const orphans = await target.ask<OrphanRecord[]>('identity', 'GET', `/agents/orphans?${query.toString()}`);
      if (asJson) return print(orphans);
      const head = ['name', 'last certificate', 'certificates'].map((one) => ({ head: one, whole: one === 'name' }));
      const rows = orphans.map((one) => [one.agent_name, one.last_seen, String(one.svid_count)]);
      process.stdout.write(rows.length === 0 ? `(${oneLine(tenant)} has no orphan)\n` : `${table(head, rows)}\n`);
    });
}

function passedIn(file: string): object {
  let said: unknown;
  try {
    said = JSON.parse(textOf('<file>', file));
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file} is no JSON`, 2);
  }
  const { success, data, error } = certificationRequest.safeParse(said);
  if (success) return data;
  const [issue] = error.issues;
  throw new CliError(`${file}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not understood'}`, 2);
}
