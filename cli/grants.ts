import type { Command } from 'commander';
import type { ListedGrant } from '../contracts/grants.js';
import { oneLine } from '../domain/printable.js';
import { allOf, bareName, registryOf, type StandingFlags, withPerson } from './agent-standing.js';
import { gateCommand, print } from './output.js';
import { table } from './table.js';

interface GrantsFlags extends StandingFlags {
  readonly agent?: string;
  readonly all?: boolean;
  readonly reason?: string;
}

const HEAD = ['grant', 'agent', 'on behalf of', 'for', 'uses', 'until'].map((name) => ({
  head: name,
  whole: name === 'grant',
}));

/** `gate grants`: what people delegated to agents, and the end of it. */
export function registerGrants(program: Command): void {
  const grants = withPerson(program.command('grants'))
    .description('what people delegated to agents: the grants that are neither over nor taken back')
    .option('--agent <name>', 'only those of this agent')
    .option('--all', 'also those that are over or were taken back')
    .action(async ({ agent, all, json: asJson, ...given }: GrantsFlags) => {
      const registry = registryOf(given, agent);
      const { target, tenant } = registry;
      const active = all ? 'false' : 'true';
      const query = { tenant, active, ...(agent !== undefined && { agent_name: bareName(agent) }) } as const;
      const found = await allOf(target.each('/grants', { query }));
      if (asJson) return print(found);
      if (found.length === 0)
        return void process.stdout.write(
          `(nobody of ${oneLine(registry.tenant)} has ${all ? 'a grant' : 'a grant that is neither over nor taken back'})\n`,
        );
      process.stdout.write(`${table(HEAD, found.map(rowOf))}\n`);
      if (!all && found.some((one) => 'tampered' in one))
        process.stdout.write(
          `what somebody edited in the store says nothing: \`${gateCommand()} grants revoke <grant>\` takes that grant back\n`,
        );
    });
  withPerson(grants.command('revoke'))
    .description('take a grant back: no proxy takes it within two seconds, and no call that waits runs with it')
    .argument('<grant>', 'its id')
    .option('--reason <text>', 'why; recorded in the ledger')
    .action(async (jti: string, _own: GrantsFlags, command: { optsWithGlobals(): GrantsFlags }) => {
      const { reason, json: asJson, ...given } = command.optsWithGlobals();
      const revoked = await registryOf(given).target.ask<{ id: string; revoked_at: string }>(
        'identity',
        'POST',
        '/revoke',
        {
          kind: 'grant',
          jti,
          ...(reason !== undefined && { reason }),
        },
      );
      if (asJson) return print(revoked);
      process.stdout.write(`taken back: the grant ${oneLine(revoked.id)}, at ${revoked.revoked_at}\n`);
    });
}

function rowOf(grant: ListedGrant): readonly string[] {
  if ('tampered' in grant) return [grant.jti, 'edited in the store', '', '', '', ''];
  return [
    grant.jti,
    grant.agent_spiffe.slice(grant.agent_spiffe.lastIndexOf('/') + 1),
    `${grant.human_sub} (${grant.idp})`,
    [...grant.scope, ...grant.yellow_scope].join(' '),
    grant.max_uses === null ? String(grant.uses) : `${grant.uses} of ${grant.max_uses}`,
    grant.revoked_at === null
      ? [grant.exp, ...(grant.recurrence_summary === null ? [] : [grant.recurrence_summary])].join('; ')
      : `taken back ${grant.revoked_at} by ${grant.revoked_by ?? 'nobody'}`,
  ];
}
