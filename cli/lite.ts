import { existsSync, realpathSync, rmSync, renameSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { ConfigError, type Env } from '../config/env.js';
import { flagOf, isSwitch, LITE_SETTINGS, type LiteConfig } from '../config/lite.js';
import type { VerifyResult } from '../contracts/ledger.js';
import type { Lite } from '../lite/serve.js';
import { ledgerOption, readable } from './lite-files.js';
import { registerReport } from './lite-report.js';
import { addSettingFlags, readEnvFile, registerLiteInit } from './lite-init.js';
import { CliError } from './target.js';

/** Loaded by the command that needs it: the others answer at once. */
const serve = () => import('../lite/serve.js');
const files = () => import('../lite/ledger-file.js');

/** The one-process edition, and what is done with its file. */
export function registerLiteCommands(program: Command): void {
  const lite = program
    .command('lite')
    .description('run Gate in one process over one file; `gate lite -- <command>` puts it before a stdio MCP server')
    .argument('[command...]', 'an MCP server that speaks over its standard streams, with its arguments, behind --')
    .option('--quiet', 'print nothing but errors');
  lite.addOption(
    new Option('--env-file <file>', 'settings, one VARIABLE=value per line; flags and the environment beat them'),
  );
  addSettingFlags(lite, isSwitch);
  // What stands behind `init` is its own: it has a --port and a --mode too.
  lite.enablePositionalOptions();
  registerLiteInit(lite, (envFile) => runLite([], { envFile }));
  lite.action(runLite);

  registerReport(program);

  program
    .command('pins')
    .description("list whose tools are pinned; --forget accepts an agent's new definitions: its next list is pinned")
    .addOption(ledgerOption())
    .option('--forget <tenant/agent>', 'stop the server first; leaves a row in the ledger')
    .option('--json', 'print JSON instead of text')
    .action(async ({ ledger, forget, json }: { ledger: string; forget?: string; json?: boolean }) => {
      const { forgetPins, pinOwners } = await import('../lite/tool-pins.js');
      if (forget !== undefined) {
        const [tenant, agent, more] = forget.split('/');
        if (!tenant || !agent || more !== undefined) throw new CliError('--forget takes tenant/agent', 2);
        const forgotten = await readable(ledger, () => withLock(ledger, () => forgetPins(ledger, { tenant, agent })));
        if (forgotten === 0) throw new CliError(`no tools of ${forget} are pinned`);
        return void process.stdout.write(`forgot ${forgotten} tools of ${forget}; the next list is pinned\n`);
      }
      const owners = await readable(ledger, () => pinOwners(ledger));
      if (json) return void process.stdout.write(`${JSON.stringify(owners, null, 2)}\n`);
      if (owners.length === 0) return void process.stdout.write('(no tools are pinned)\n');
      for (const { tenant, agent, tools, since } of owners)
        process.stdout.write(`${tenant}/${agent}  ${tools} tools since ${since}\n`);
    });

  program
    .command('export')
    .description('copy the ledger of a Postgres database into a new ledger file, byte for byte, and verify the copy')
    .requiredOption('--to <file>', 'the file to make; one that is there is never replaced')
    .addOption(
      new Option('--schema <name>', 'the schema of the ledger; the database is the one of GATE_DATABASE_URL').default(
        'ledger',
      ),
    )
    .action(async ({ to, schema }: { to: string; schema: string }) => {
      const [{ exportChain }, { verifyFile }, { readConfig }, { SHARED_SETTINGS }] = await Promise.all([
        import('../domain/ledger/export-chain.js'),
        files(),
        import('../config/env.js'),
        import('../config/shared.js'),
      ]);
      const { databaseUrl: url } = readConfig('export', { databaseUrl: SHARED_SETTINGS.databaseUrl }, process.env);
      if (url === undefined)
        throw new CliError('set GATE_DATABASE_URL; a ledger that is a file already is copied with `gate backup`', 2);
      const { entries, sidecars } = await exportChain({ url, schema }, to);
      const result = await verifyFile(to);
      if (!result.valid)
        throw new CliError(
          `exported ${entries} entries to ${to}, and the chain does not hold at seq ${result.first_invalid_seq ?? '-'}`,
          2,
        );
      const { head_hash: head = '-', length = 0 } = result.commitment ?? {};
      const { checked = 0, unchecked = 0 } = (result['sidecars'] ?? {}) as { checked?: number; unchecked?: number };
      process.stdout.write(
        `exported ${to} - ${entries} entries verified, ${sidecars} sidecars, ${checked} of them opened\n`,
      );
      process.stdout.write(`head ${head} length ${length}\n`);
      if (unchecked > 0)
        process.stdout.write(
          `sidecars and head are sealed with the ledger's keys: set GATE_LEDGER_SIDECAR_KEYS, or put them in ${to}.keys, to check and read them\n`,
        );
    });

  program
    .command('backup')
    .description('copy a ledger file, also one in use, and verify the copy')
    .addOption(ledgerOption())
    .requiredOption('--output <file>', 'where to; overwritten')
    .action(async ({ ledger, output }: { ledger: string; output: string }) => {
      const { backupLedger, verifyFile } = await files();
      if (existsSync(output) && existsSync(ledger) && realpathSync(output) === realpathSync(ledger))
        throw new CliError('--output is the ledger itself', 2);
      // An earlier backup stays until there is a better one.
      const copy = `${output}.part`;
      const remove = (file: string) => ['', '-wal', '-shm'].forEach((end) => rmSync(`${file}${end}`, { force: true }));
      let pages: number;
      let result: VerifyResult;
      try {
        pages = await readable(ledger, () => backupLedger(ledger, copy));
        result = await verifyFile(copy, ledger);
        if (!result.valid)
          throw new CliError(`the copy does not verify (seq ${result.first_invalid_seq ?? '-'}); it was removed`, 2);
        remove(output);
        renameSync(copy, output);
      } finally {
        remove(copy);
      }
      process.stdout.write(`snapshot ${output} OK - ${pages} pages, ${result.entries_checked} entries verified\n`);
      const keys = existsSync(`${ledger}.keys`) ? `${ledger}.keys` : 'them';
      process.stdout.write(`its keys are not in it: keep ${keys} apart from it, and safe\n`);
    });

  program
    .command('restore')
    .description('put a verified backup in the place of a ledger file; stop the server first')
    .addOption(ledgerOption())
    .requiredOption('--input <file>', 'the backup')
    .option('--force', 'also where a ledger is there already')
    .action(async ({ ledger, input, force }: { ledger: string; input: string; force?: boolean }) => {
      const { backupLedger, verifyFile } = await files();
      if (existsSync(ledger) && !force) throw new CliError(`${ledger} is there already; --force replaces it`);
      const before = await readable(input, () => verifyFile(input, ledger));
      if (!before.valid)
        throw new CliError(`${input} does not verify (seq ${before.first_invalid_seq ?? '-'}); nothing was changed`, 2);
      await withLock(ledger, async () => {
        const aside = `${ledger}.restoring`;
        rmSync(aside, { force: true });
        await backupLedger(input, aside);
        for (const suffix of ['-wal', '-shm']) rmSync(`${ledger}${suffix}`, { force: true });
        renameSync(aside, ledger);
        const after = await verifyFile(ledger, ledger);
        if (!after.valid) throw new CliError(`${ledger} does not verify after the copy`, 2);
        process.stdout.write(`restored ${ledger} from ${input} - ${after.entries_checked} entries verified\n`);
      });
    });

  program
    .command('replay')
    .description('judge a recorded call again from its recorded inputs; exits 2 at the first difference')
    .argument('<correlation id>', 'the X-Gate-Correlation-Id of the call')
    .addOption(ledgerOption())
    .option(
      '--policies <folder>',
      'rules to judge with; without it ./policies where it holds compiled rules, else those built in',
    )
    .option('--json', 'print JSON instead of text')
    .action(async (id: string, { ledger, policies, json }: { ledger: string; policies?: string; json?: boolean }) => {
      const { replayCall } = await import('../lite/replay.js');
      const result = await readable(ledger, () => replayCall(ledger, id, policies));
      if (json) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
      else if (result.difference === null)
        process.stdout.write(
          `the same: ${result.recorded.outcome} (${result.recorded.tier}), rules ${result.recorded.policy_version}, ${result.compared} facts compared\n`,
        );
      else
        process.stdout.write(
          `DIFFERENT at ${result.difference.at}: recorded ${result.difference.recorded}, now ${result.difference.now}\n${result.differences} of ${result.compared} facts differ\n`,
        );
      if (result.difference !== null) process.exitCode = 2;
    });
}

type Given = Record<string, string | boolean | undefined>;

async function runLite(command: string[], given: Given): Promise<void> {
  const [{ readLiteConfig }, { startLite }] = await Promise.all([import('../config/lite.js'), serve()]);
  const say = (line: string) => (given['quiet'] ? undefined : process.stdout.write(`${line}\n`));
  const { envFile } = given;
  const env = typeof envFile === 'string' ? { ...readEnvFile(envFile), ...process.env } : process.env;
  const config = usageFirst(() => readLiteConfig(withFlags(env, given)));
  const [name, ...args] = command;
  if (name !== undefined && config.upstreamUrl)
    throw new CliError('an upstream is either a URL or a command; give one of --upstream and --', 2);
  const stopAsked = new Promise<string>((asked) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => asked(signal));
  });
  await withLock(config.ledger, async () => {
    const running = await startLite({
      config,
      child: name === undefined ? undefined : { command: name, args, env: childEnv(process.env) },
    });
    say(readyPage(running, config, name === undefined ? undefined : shownCommand(command)));
    const why = await stopAsked;
    say(`\n${why}: finishing calls under way (again: stop at once)`);
    process.once('SIGINT', () => process.exit(130));
    process.once('SIGTERM', () => process.exit(143));
    await running.close();
    say('stopped; parked calls stay parked until the next start');
  });
}

/** A word that is none of a setting's words is wrong usage (2); what is well written and unsafe is a refusal (1). */
function usageFirst<Config>(read: () => Config): Config {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const words = Object.values(LITE_SETTINGS).filter(({ type }) =>
      type.safeParse('\0').error?.issues.some(({ code }) => code === 'invalid_value'),
    );
    const usage = error.faults.some((fault) => words.some(({ variable }) => fault.startsWith(`${variable}:`)));
    throw usage ? new CliError(error.message, 2) : error;
  }
}

/** Flags beat variables; a switch without a value is on. */
function withFlags(env: Env, given: Given): Env {
  const flags = Object.values(LITE_SETTINGS).flatMap((setting) => {
    const name = flagOf(setting)
      .slice(2)
      .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const value = given[name];
    if (value === undefined) return [];
    return [[setting.variable, String(value)] as const];
  });
  return { ...env, ...Object.fromEntries(flags) };
}

/** The child gets the caller's environment without what is Gate's own: its tokens and keys are not the tool's to know. */
const childEnv = (env: Env): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('GATE_'),
    ),
  );

/** One process per file: two writers would each keep their own picture of it. */
async function withLock<Result>(ledger: string, work: () => Promise<Result>): Promise<Result> {
  if (ledger === ':memory:') return work();
  const { withFileLock } = await import('../scripts/file-lock.js');
  let begun = false;
  try {
    return await withFileLock(`${resolve(ledger)}.lock`, { timeoutMs: 500 }, () => {
      begun = true;
      return work();
    });
  } catch (error) {
    if (begun) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CliError(
      code === 'EACCES' || code === 'EROFS'
        ? `${ledger}: its folder is read-only; nothing could be recorded`
        : `${ledger} is in use by another gate process (${message})`,
    );
  }
}

/** What a newcomer sees: where Gate is, what is open, and a first call that works as it is printed. */
export function readyPage(running: Lite, config: LiteConfig, child: string | undefined): string {
  const { access, policies, resumed, url } = running;
  const tools = child ?? (config.upstreamUrl && shownAddress(config.upstreamUrl));
  const warnings = [
    config.verboseVerdicts &&
      'verbose verdicts are ON: denials tell a caller what each detector saw (GATE_LITE_VERBOSE_VERDICTS)',
    config.callbackAllowPrivate.length > 0 &&
      `callbacks may reach ${config.callbackAllowPrivate.join(', ')} although that is not public (GATE_LITE_CALLBACK_ALLOW_PRIVATE)`,
  ].filter((warning) => warning !== false);
  const auth = access.agents === 'open' ? '' : ` -H "Authorization: Bearer $GATE_LITE_TOKEN"`;
  const curl = (header: string, tool: string, args: string) =>
    [
      `  curl -s ${url}/mcp -H 'Content-Type: application/json'${auth} \\`,
      `    -H '${header}' -H "X-Gate-Idempotency-Id: $(node -p 'crypto.randomUUID()')" \\`,
      `    -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${args}}}'`,
    ].join('\n');
  const decision = 'X-Gate-Decision-Contract: gate.decision/v1';
  return `
Gate lite is ready at ${url} (${config.mode}, ${config.profile})

  ledger     ${config.ledger}${resumed > 0 ? ` (${resumed} calls go on from before)` : ''}
  rules      ${policies.builtIn ? 'built in' : policies.directory}, version ${policies.version}
  tools      ${tools ?? 'none: calls are judged, none is executed (--upstream URL, or gate lite -- <mcp server>)'}
  agents     ${access.agents === 'open' ? 'ANONYMOUS: whoever reaches this port may call (GATE_LITE_TOKEN)' : access.agents}
  operators  ${access.operators === 'open' ? 'ANONYMOUS: whoever reaches this port may decide (GATE_LITE_DECIDE_TOKEN)' : access.operators}
  page       ${url}/${notices(config)}${warnings.map((warning) => `\n  WARNING    ${warning}`).join('')}

An allow, a deny, and a call that waits for you:

${curl(decision, 'read_file', '{"path":"notes.txt"}')}

${curl(decision, 'delete_file', '{"path":"notes.txt"}')}

${curl(decision, 'wire_transfer', '{"from":"operating","to":"vendor","amount":25}')}
  npx gate pending --endpoint ${url}

  npx gate audit --ledger ${config.ledger}     npx gate verify --ledger ${config.ledger}

Ctrl-C stops it.
`;
}

/** Without what may be a secret in it: user information and query. */
const shownAddress = (text: string): string => {
  const { origin, pathname } = new URL(text);
  return origin + pathname;
};

const notices = ({ webhookUrl, slackWebhookUrl }: LiteConfig): string =>
  webhookUrl || slackWebhookUrl
    ? `\n  notices    webhook ${webhookUrl ? 'on' : 'off'}, chat ${slackWebhookUrl ? 'on' : 'off'}`
    : '';

/** What is run, without its further arguments, which may be secrets. */
const shownCommand = (command: readonly string[]): string =>
  `${command.slice(0, 2).join(' ')}${command.length > 2 ? ' …' : ''}`;
