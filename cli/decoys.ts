import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { decoyAction } from '../contracts/decoy-kinds.js';
import { type decoyHits, type DecoyHit, type decoyList, type DecoyRecord, EVERY_TENANT } from '../contracts/decoys.js';
import { oneLine } from '../domain/printable.js';
import { type Registry, registryOf, type StandingFlags, withPerson } from './agent-standing.js';
import { textOf } from './named-file.js';
import { gateCommand, print } from './output.js';
import { table } from './table.js';

interface AddFlags extends StandingFlags {
  readonly valueFile?: string;
  readonly advertise?: boolean;
  readonly action?: string;
  readonly schemaFile?: string;
  readonly description?: string;
  readonly everybody?: boolean;
  readonly reason?: string;
}

const ADD_HELP = `
Without --value-file the decoy is a tool: whoever calls it is denied, in every mode, as if an operator had denied the tool.
With it, it is what stands in that file: an account number or a key that nobody should use, in any spelling or encoding.
Its agent is suspended (by default where agents see the tool), or a person decides about each of its calls from then on.`;

/** `gate decoys`: what nobody should call or use, and who did. */
export function registerDecoys(program: Command): void {
  const decoys = program.command('decoys').description('tools and values that nobody should use, and who did');
  withPerson(decoys.command('list', { isDefault: true }))
    .description('the decoys of the tenant, and how often they were touched')
    .action(async ({ json: asJson, ...given }: StandingFlags) => {
      const { target, tenant } = registryOf(given);
      const { decoys: found } = await target.ask<z.infer<typeof decoyList>>('identity', 'GET', `/decoys?${of(tenant)}`);
      if (asJson) return print(found);
      process.stdout.write(
        found.length === 0 ? `(${oneLine(tenant)} has no decoy)\n` : `${table(DECOY_HEAD, found.map(decoyRow))}\n`,
      );
    });
  withPerson(decoys.command('hits'))
    .description('who touched decoys, the newest first')
    .action(async ({ json: asJson, ...given }: StandingFlags) => {
      const { target, tenant } = registryOf(given);
      const { hits } = await target.ask<z.infer<typeof decoyHits>>('identity', 'GET', `/decoys/hits?${of(tenant)}`);
      if (asJson) return print(hits);
      process.stdout.write(
        hits.length === 0 ? `(nobody of ${oneLine(tenant)} touched a decoy)\n` : `${toldHits(hits)}\n`,
      );
    });
  withPerson(decoys.command('add'))
    .description('set a decoy: it counts at every proxy within two seconds')
    .argument('<name>', 'of the tool; of a value, what people call it')
    .option('--value-file <file>', 'a value that nobody should use')
    .option('--advertise', 'agents see the tool in their lists')
    .addOption(
      new Option('--action <action>', 'what happens to the agent beside the denial').choices(decoyAction.options),
    )
    .option('--schema-file <file>', 'what lists show as the input of the tool: a JSON Schema of type "object"')
    .option('--description <text>', 'what lists show of the tool')
    .option('--everybody', 'for every tenant that has none by this name')
    .option('--reason <text>', 'why; recorded in the ledger')
    .addHelpText('after', ADD_HELP)
    .action(async (name: string, { json: asJson, ...flags }: AddFlags) => {
      const { valueFile, schemaFile, advertise, action, description, everybody, reason, ...given } = flags;
      const registry = registryOf(given);
      const value = valueFile === undefined ? undefined : textOf('--value-file', valueFile).trim();
      const added = await registry.target.ask<DecoyRecord>('identity', 'POST', '/decoys', {
        tenant: tenantOf(registry, everybody),
        name,
        ...(value !== undefined && { kind: 'value', value }),
        advertised: advertise === true,
        ...(action !== undefined && { action }),
        ...(schemaFile !== undefined && { schema_json: textOf('--schema-file', schemaFile).trim() }),
        ...(description !== undefined && { description }),
        ...(reason !== undefined && { reason }),
      });
      if (asJson) return print(added);
      process.stdout.write(
        `a decoy: the ${added.kind} ${oneLine(added.name)}; ${DONE[added.action]}\nwho touches it: ${gateCommand()} decoys hits\n`,
      );
    });
  withPerson(decoys.command('remove'))
    .description('take a decoy away')
    .argument('<name>', 'as it was added')
    .option('--everybody', 'the one of every tenant')
    .action(async (name: string, { json: asJson, everybody, ...given }: StandingFlags & { everybody?: boolean }) => {
      const registry = registryOf(given);
      const path = `/decoys/${encodeURIComponent(name)}?${of(tenantOf(registry, everybody))}`;
      const removed = await registry.target.ask<{ retired: true }>('identity', 'DELETE', path);
      if (asJson) return print(removed);
      process.stdout.write(`taken away: the decoy ${oneLine(name)}\n`);
    });
}

const of = (tenant: string): string => new URLSearchParams({ tenant }).toString();
const tenantOf = ({ tenant }: Registry, everybody = false): string => (everybody ? EVERY_TENANT : tenant);

const DONE: Readonly<Record<DecoyRecord['action'], string>> = {
  suspend: 'whoever touches it is suspended',
  force_hil: 'a person decides about every call of whoever touched it',
  none: 'whoever touches it is denied, and nothing else',
};
const LAST_CALL = 'last call';
const heads = (...names: readonly string[]) =>
  names.map((name, at) => ({ head: name, whole: at === 0 || name === LAST_CALL }));
const DECOY_HEAD = heads('decoy', 'kind', 'of', 'shown', 'then', 'hits', 'last');
const decoyRow = (decoy: DecoyRecord): readonly string[] => [
  decoy.name,
  decoy.kind === 'tool' ? 'tool' : `value ${decoy.value_hint ?? ''}`,
  decoy.tenant === EVERY_TENANT ? 'everybody' : decoy.tenant,
  decoy.advertised ? 'yes' : 'no',
  decoy.action,
  String(decoy.hits),
  decoy.last_hit_at ?? '',
];
const HITS_HEAD = heads('agent', 'decoy', 'hits', 'first', 'last', LAST_CALL, 'then');
const hitRow = (hit: DecoyHit): readonly string[] => [
  hit.agent_name,
  hit.decoy,
  String(hit.hits),
  hit.first_at,
  hit.last_at,
  hit.correlation_id,
  hit.contained,
];
/** The id of a call is asked for with `gate audit`. */
export const toldHits = (hits: readonly DecoyHit[], width?: number): string =>
  table(HITS_HEAD, hits.map(hitRow), width);
