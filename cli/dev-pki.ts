import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config/env.js';
import { SHARED_SETTINGS } from '../config/shared.js';
import { CliError } from './errors.js';

interface DevPkiFlags {
  readonly into: string;
  readonly hosts: string;
  readonly database: string;
  readonly owner?: string;
}

/** `gate dev-pki`: makes development certificates for services in separate processes. */
export function registerDevPki(program: Command): void {
  program
    .command('dev-pki')
    .description('make development certificates and secrets, one folder per container, for services that stand apart')
    .requiredOption('--into <dir>', 'where the folders go')
    .requiredOption('--hosts <names>', 'names the containers are reached by, with commas between them')
    .option('--database <host:port/name>', 'where Postgres is', 'postgres:5432/gate')
    .option('--owner <uid:gid>', 'who the files belong to')
    .action(async ({ into, hosts, database, owner }: DevPkiFlags) => {
      const { stateDir, trustDomain } = readConfig('gate dev-pki', SHARED_SETTINGS, process.env);
      const ids = owner === undefined ? null : /^(\d{1,9}):(\d{1,9})$/.exec(owner);
      if (owner !== undefined && !ids) throw new CliError('--owner is written uid:gid, both numbers', 2);
      const { DEPLOYMENT_FOLDERS, writeDeploymentFiles } = await import('../stack/certificates/deployment-files.js');
      await writeDeploymentFiles({
        stateDir,
        into: resolve(into),
        trustDomain,
        hosts: hosts.split(',').filter((host) => host !== ''),
        database,
        ...(ids && { owner: { uid: Number(ids[1]), gid: Number(ids[2]) } }),
      });
      process.stdout.write(`certificates and secrets of ${DEPLOYMENT_FOLDERS.join(', ')}: ${resolve(into)}\n`);
    });
}
