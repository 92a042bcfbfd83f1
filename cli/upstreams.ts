import type { Command } from 'commander';
import type { UpstreamRecord } from '../contracts/upstreams.js';
import { oneLine } from '../domain/printable.js';
import { type Registry, registryOf, type StandingFlags, withPerson } from './agent-standing.js';
import { CliError } from './errors.js';
import { print } from './output.js';
import { table } from './table.js';

interface AddFlags extends StandingFlags {
  readonly tlsPin?: string;
  readonly spiffeId?: string;
  readonly ownerTeam?: string;
  readonly reason?: string;
}

const ADD_HELP = `
Registering an address opens no connection to it: where the tools are say GATE_UPSTREAM_URL and GATE_UPSTREAMS.
Calls of tools at any other address have the signal upstream_not_registered from then on.`;

/** `gate upstreams`: the servers of tools for which somebody vouched. */
export function registerUpstreams(program: Command): void {
  const upstreams = program.command('upstreams').description('the servers of tools for which somebody vouched');
  withPerson(upstreams.command('list', { isDefault: true }))
    .description('the upstreams of the tenant, retired ones too')
    .action(async ({ json: asJson, ...given }: StandingFlags) => {
      const registry = registryOf(given);
      const found = await listed(registry);
      if (asJson) return print(found);
      process.stdout.write(
        found.length === 0
          ? `(nobody vouched for an upstream of ${oneLine(registry.tenant)})\n`
          : `${table(HEAD, found.map(rowOf))}\n`,
      );
    });
  withPerson(upstreams.command('add'))
    .description('vouch for a server of tools: every proxy hears it within two seconds')
    .argument('<name>', 'what people call it')
    .argument('<url>', 'its address, as it is configured')
    .option('--tls-pin <digest>', 'SHA-256 of the public key that its connection has to show, as sha256:<64 hex>')
    .option('--spiffe-id <id>', 'the SPIFFE ID that its certificate has to have, instead of its host name')
    .option('--owner-team <team>', 'the team whose it is')
    .option('--reason <text>', 'why; recorded in the ledger')
    .addHelpText('after', ADD_HELP)
    .action(async (name: string, url: string, { json: asJson, ...flags }: AddFlags) => {
      const { tlsPin, spiffeId, ownerTeam, reason, ...given } = flags;
      const { target, tenant } = registryOf(given);
      const added = await target.ask<UpstreamRecord>('identity', 'POST', '/upstreams', {
        tenant,
        name,
        url,
        ...(tlsPin !== undefined && { tls_pin: tlsPin }),
        ...(spiffeId !== undefined && { spiffe_id: spiffeId }),
        ...(ownerTeam !== undefined && { owner_team: ownerTeam }),
        ...(reason !== undefined && { reason }),
      });
      if (asJson) return print(added);
      process.stdout.write(`vouched for: ${oneLine(added.name)} at ${oneLine(added.url)}\n`);
    });
  withPerson(upstreams.command('retire'))
    .description('vouch for a server no more; its address is never registered again')
    .argument('<name>', 'as it was added')
    .option('--reason <text>', 'why; recorded in the ledger')
    .action(async (name: string, { json: asJson, reason, ...given }: StandingFlags & { reason?: string }) => {
      const registry = registryOf(given);
      const found = (await listed(registry)).find((one) => one.name === name && one.state === 'active');
      if (!found)
        throw new CliError(
          `not_found: nobody vouches for an upstream ${oneLine(name)} of ${oneLine(registry.tenant)}`,
          4,
        );
      const path = `/upstreams/${found.id}/retire?${new URLSearchParams({ tenant: registry.tenant }).toString()}`;
      const body = reason === undefined ? {} : { reason };
      const retired = await registry.target.ask<UpstreamRecord>('identity', 'POST', path, body);
      if (asJson) return print(retired);
      process.stdout.write(`retired: ${oneLine(retired.name)}\n`);
    });
}

const listed = ({ target, tenant }: Registry): Promise<readonly UpstreamRecord[]> =>
  target.ask<UpstreamRecord[]>('identity', 'GET', `/upstreams?${new URLSearchParams({ tenant }).toString()}`);

const HEAD = ['upstream', 'address', 'shows', 'team', 'state', 'since', 'by'].map((head, at) => ({
  head,
  whole: at === 0,
}));
const rowOf = (one: UpstreamRecord): readonly string[] => [
  one.name,
  one.url,
  [...(one.tls_pin === null ? [] : ['a pinned key']), ...(one.spiffe_id === null ? [] : [one.spiffe_id])].join(', '),
  one.owner_team ?? '',
  one.state,
  one.retired_at ?? one.created_at,
  one.retired_by ?? one.created_by_sub,
];
