import { join, relative, resolve } from 'node:path';
import Table from 'cli-table3';
import { Argument, Option, type Command } from 'commander';
import { readConfig } from '../config/env.js';
import { LITE_SETTINGS } from '../config/lite.js';
import { APART_SETTINGS, PROCESS_NAMES, type ProcessName, settingLines, START_SETTINGS } from '../config/processes.js';
import { SHARED_SETTINGS } from '../config/shared.js';
import type { DevelopmentFile, Stack } from '../stack/development.js';
import { CliError } from './target.js';

/** Compositions are loaded by the command that needs one: the others answer at once. */
const development = () => import('../stack/development.js');
const separate = () => import('../stack/separate.js');

const SERVICES = PROCESS_NAMES.filter((name) => name !== 'worker');

/** Commands that run processes, and those that make a place ready for them. */
export function registerProcessCommands(program: Command): void {
  program
    .command('start')
    .description('bring up the whole stack on this machine, with what it needs; Ctrl-C stops it tidily')
    .option('--quiet', 'print nothing but errors')
    .action(async ({ quiet }: { quiet?: boolean }) => {
      const say = (line: string) => (quiet ? undefined : process.stdout.write(`${line}\n`));
      const started = Date.now();
      const stopAsked = untilAsked();
      const { startDevelopment } = await development();
      const bringUp = startDevelopment({ env: process.env, progress: (line) => say(`  ${line}`) });
      const first = await Promise.race([bringUp, stopAsked]);
      if (typeof first === 'string') {
        say('stopping before the start was done');
        await bringUp.then((stack) => stack.stop()).catch(() => undefined);
        return;
      }
      say(readyPage(first.development, resolve(process.env.GATE_STATE_DIR ?? '.gate'), Date.now() - started));
      await untilStopped(first, stopAsked, say);
    });

  program
    .command('serve')
    .description('run one service as a process of its own; `gate config <service>` lists its settings')
    .addArgument(new Argument('<service>', 'which').choices(SERVICES))
    .action((service: ProcessName) => runApart(service));

  program
    .command('worker')
    .description('run the worker of every workflow and activity as a process of its own')
    .action(() => runApart('worker'));

  program
    .command('config')
    .description('print the settings of a process with their meaning and default')
    .addArgument(
      new Argument('[process]', 'which; without it those of `gate start`').choices([...PROCESS_NAMES, 'lite']),
    )
    .option('--check', 'read the settings of this environment and the files they name; exits 1 with every fault')
    .addOption(new Option('--json', 'print JSON instead of a table').conflicts('check'))
    .action(async (name: ProcessName | 'lite' | undefined, { check, json }: { check?: boolean; json?: boolean }) => {
      if (check) {
        if (!name || name === 'lite') throw new CliError('--check needs a service or the worker', 2);
        const { loadSettings } = await separate();
        loadSettings(name, process.env);
        return void process.stdout.write(`the settings of ${name} are complete\n`);
      }
      const groups = name === 'lite' ? { lite: LITE_SETTINGS } : name ? APART_SETTINGS[name] : START_SETTINGS;
      const lines = settingLines(groups);
      if (json) return void process.stdout.write(`${JSON.stringify(lines, null, 2)}\n`);
      const table = new Table({
        head: ['variable', 'default', 'meaning'],
        style: { head: [], border: [] },
        colWidths: [null, 16, 70],
        wordWrap: true,
      });
      for (const { variable, default: value, secret, meaning } of lines)
        table.push([variable, value, secret ? `${meaning} Secret.` : meaning]);
      process.stdout.write(`${table.toString()}\n`);
    });

  program
    .command('prepare')
    .description('make the database (roles) or the engine (namespace, search attributes) ready; may run at every start')
    .addArgument(new Argument('<what>', 'which').choices(['database', 'engine']))
    .action(async (what: string) => {
      const { prepareDatabase, prepareEngine } = await import('../stack/prepare.js');
      const progress = (line: string) => void process.stdout.write(`${line}\n`);
      await (what === 'database' ? prepareDatabase : prepareEngine)({ env: process.env, progress });
    });

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
      const { DEPLOYMENT_FOLDERS, writeDeploymentFiles } = await import('../scripts/deployment-files.js');
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

interface DevPkiFlags {
  readonly into: string;
  readonly hosts: string;
  readonly database: string;
  readonly owner?: string;
}

const untilAsked = () =>
  new Promise<string>((asked) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => asked(signal));
  });

/** One process apart: logs to standard output, ends tidily on SIGTERM, fails when a part of it fails. */
async function runApart(name: ProcessName): Promise<void> {
  const stopAsked = untilAsked();
  const { startApart } = await separate();
  const bringUp = startApart(name, process.env);
  const first = await Promise.race([bringUp, stopAsked]);
  if (typeof first === 'string') {
    await bringUp.then((running) => running.stop()).catch(() => undefined);
    return;
  }
  const { logger, ports, stopped } = first;
  logger.info({ ...ports, pid: process.pid }, 'ready');
  const signal = await Promise.race([stopAsked, stopped.then(() => 'ended')]).catch(async (error: unknown) => {
    logger.fatal({ err: error }, 'failed');
    await first.stop();
    throw error;
  });
  logger.info({ signal }, 'stopping: refusing new work, finishing what is under way');
  process.once('SIGINT', () => process.exit(130));
  await first.stop();
  logger.info('stopped');
}

async function untilStopped(stack: Stack, stopAsked: Promise<string>, say: (line: string) => void): Promise<void> {
  let failed: unknown;
  const ended = stack.stopped.catch((error: unknown) => {
    failed = error;
  });
  const why = await Promise.race([stopAsked, ended.then(() => 'the worker ended')]);
  say(`\n${why}: finishing calls under way, then stopping (again: stop at once)`);
  process.once('SIGINT', () => process.exit(130));
  await stack.stop();
  if (failed) throw failed;
  say('stopped; parked calls stay parked until the next start');
}

/** The page a new user sees: where things are, and three commands that work as printed. */
export function readyPage(stack: DevelopmentFile, stateDir: string, tookMs: number): string {
  const here = (file: string) => relative(process.cwd(), file) || file;
  // Another terminal does not know of a folder that this one was told.
  const gate = here(stateDir) === '.gate' ? 'npx gate' : `GATE_STATE_DIR=${here(stateDir)} npx gate`;
  const curl = (id: string, tool: string, args: string) =>
    [
      `  curl -s --cacert ${here(stack.proxy.ca)} --cert ${here(stack.proxy.cert)} --key ${here(stack.proxy.key)} ${stack.proxy.url}/mcp \\`,
      `    -H 'Content-Type: application/json' -H 'X-Gate-Server-Execution-Contract: gate.server-execution/v1' \\`,
      `    -H "X-Gate-Idempotency-Id: $(node -p 'crypto.randomUUID()')" \\`,
      `    -d '{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":${args}}}'`,
    ].join('\n');
  return `
Gate is ready (${(tookMs / 1000).toFixed(1)} s)

  proxy      ${stack.proxy.url}/mcp   agents call here, with their certificate
  review     ${stack.hil.url}
  ledger     ${stack.ledger.url}
  workflows  ${stack.temporal.ui_url ?? stack.temporal.address}
  tools      ${stack.upstream.url}
  all of it  ${here(join(stateDir, 'dev.json'))}
  log        ${here(join(stateDir, 'logs', 'gate.log'))}

An allow, a deny, and a call that waits for you:

${curl('1', 'list_files', '{}')}

${curl('2', 'delete_file', '{"path":"notes.txt"}')}

${curl('3', 'wire_transfer', '{"from":"operating","to":"vendor","amount":25}')}
  ${gate} pending
  ${gate} decide <id> approve

Ctrl-C stops everything.
`;
}
