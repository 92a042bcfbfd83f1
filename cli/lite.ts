import { existsSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { ConfigError, type Env } from '../config/env.js';
import { unknownVariables, variablesOf } from '../config/unknown-settings.js';
import { upstreamsShown } from '../config/upstreams.js';
import { flagOf, isSwitch, LITE_SETTINGS, type LiteConfig } from '../config/lite.js';
import type { Lite } from '../lite/serve.js';
import { withLock } from './ledger-file.js';
import { registerLiteLink } from './lite-link.js';
import { addSettingFlags, readEnvFile, registerLiteInit } from './lite-init.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { gateCommand, observed } from './output.js';

/** Loaded only by the command that needs it, so that the others answer at once. */
const serve = () => import('../lite/serve.js');

/** The variables of an environment that nothing reads, in words. */
type Unknown = (env: Env) => readonly string[];
/** In an executable that is lite alone; `GATE_MODE` stands in for lite's own. */
const unknownToLite: Unknown = (env) =>
  unknownVariables(env, new Set([...variablesOf([{ lite: LITE_SETTINGS }]), 'GATE_MODE']));

/** `gate lite`: runs the one-process edition. `ofEditions` knows the settings of the others that are in the same program. */
export function registerLite(program: Command, ofEditions?: () => Promise<Unknown>): void {
  const lite = program
    .command('lite')
    .description('run Gate in one process over one file; `gate lite -- <command>` puts it before a stdio MCP server')
    .argument('[command...]', 'an MCP server that speaks over its standard streams, with its arguments, behind --')
    .option('--quiet', 'print nothing but errors');
  lite.addOption(
    new Option('--env-file <file>', 'settings, one VARIABLE=value per line; flags and the environment beat them'),
  );
  addSettingFlags(lite, isSwitch);
  // Options after `init` belong to `init`, which has a --port and a --mode too.
  lite.enablePositionalOptions();
  const run = (command: string[], given: Given) => runLite(command, given, ofEditions);
  registerLiteInit(lite, (envFile) => run([], { envFile }));
  registerLiteLink(lite);
  lite.action(run);
}

type Given = Record<string, string | boolean | undefined>;

async function runLite(command: string[], given: Given, ofEditions?: () => Promise<Unknown>): Promise<void> {
  const [{ readLiteConfig }, { startLite }] = await Promise.all([import('../config/lite.js'), serve()]);
  const say = (line: string) => (given['quiet'] ? undefined : process.stdout.write(`${line}\n`));
  const { envFile } = given;
  const env = typeof envFile === 'string' ? { ...readEnvFile(envFile), ...process.env } : process.env;
  const config = usageFirst(() => readLiteConfig(withFlags(env, given)), given);
  // Also under --quiet: a misspelt token leaves a port open that its owner believes is protected.
  if (unknownToLite(process.env).length > 0)
    for (const line of ((await ofEditions?.()) ?? unknownToLite)(process.env)) process.stderr.write(`gate: ${line}\n`);
  const [name, ...args] = command;
  if (name !== undefined && (config.upstreamUrl ?? config.upstreams))
    throw new CliError(
      'an upstream is a URL, a command or a file of several; give one of --upstream, -- and --upstreams',
      2,
    );
  // Asked again, it ends at once: at any moment from here on, also right after it was asked the first time.
  let stopping = false;
  const stopAsked = new Promise<string>((asked) => {
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const)
      process.on(signal, () => {
        if (stopping) process.exit(code);
        stopping = true;
        asked(signal);
      });
  });
  const isNew = config.ledger !== ':memory:' && !existsSync(config.ledger);
  await withLock(config.ledger, async () => {
    const running = await startLite({
      config,
      env,
      child: name === undefined ? undefined : { command: name, args, env: childEnv(process.env) },
    });
    say(readyPage(running, config, name === undefined ? undefined : shownCommand(command), isNew));
    const why = await stopAsked;
    say(`\n${why}: finishing calls under way (again: stop at once)`);
    await running.close();
    say('stopped; parked calls stay parked until the next start');
  });
}

/** A value that a setting does not know is wrong usage (2); a valid but unsafe value is a refusal (1). */
function usageFirst<Config>(read: () => Config, given: Given): Config {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const words = Object.values(LITE_SETTINGS).filter(({ type }) =>
      type.safeParse('\0').error?.issues.some(({ code }) => code === 'invalid_value'),
    );
    const usage = error.faults.some((fault) => words.some(({ variable }) => fault.startsWith(`${variable}:`)));
    const told = new ConfigError(
      'lite',
      error.faults.map((fault) => asTyped(fault, given)),
    );
    throw usage ? new CliError(told.message, 2) : told;
  }
}

/** Names the setting as it was given: somebody who typed a flag may not know the variable. */
function asTyped(fault: string, given: Given): string {
  const setting = Object.values(LITE_SETTINGS).find(({ variable }) => fault.startsWith(`${variable}:`));
  if (!setting || given[optionOf(setting)] === undefined) return fault;
  return `${flagOf(setting)}${fault.slice(setting.variable.length)}`;
}
/** The property name under which commander stores the value of a flag. */
const optionOf = (setting: (typeof LITE_SETTINGS)[keyof typeof LITE_SETTINGS]): string =>
  flagOf(setting)
    .slice(2)
    .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Flags override variables. A switch without a value is on. */
function withFlags(env: Env, given: Given): Env {
  const flags = Object.values(LITE_SETTINGS).flatMap((setting) => {
    const value = given[optionOf(setting)];
    if (value === undefined) return [];
    return [[setting.variable, String(value)] as const];
  });
  return { ...env, ...Object.fromEntries(flags) };
}

/** The child process gets the caller's environment without Gate's variables, so that it does not get Gate's tokens and keys. */
const childEnv = (env: Env): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('GATE_'),
    ),
  );

/** The first page for a new user: addresses, who may call and decide, and a first call that works as printed. */
export function readyPage(running: Lite, config: LiteConfig, child: string | undefined, isNew = false): string {
  const { access, policies, resumed, url } = running;
  const tools =
    child ??
    (config.upstreams && upstreamsShown(config.upstreams)) ??
    (config.upstreamUrl && shownAddress(config.upstreamUrl));
  const warnings = [
    config.verboseVerdicts &&
      'verbose verdicts are ON: denials tell a caller what each detector saw (GATE_LITE_VERBOSE_VERDICTS)',
    config.callbackAllowPrivate.length > 0 &&
      `callbacks may reach ${config.callbackAllowPrivate.join(', ')} although that is not public (GATE_LITE_CALLBACK_ALLOW_PRIVATE)`,
  ].filter((warning) => warning !== false);
  // The commands look for the decide token beside the ledger of the current folder.
  const elsewhere =
    running.ownDecideToken && config.ledger !== LITE_SETTINGS.ledger.type.parse(undefined)
      ? `GATE_LITE_LEDGER=${config.ledger} `
      : '';
  const endpoint = ` --endpoint ${url}`;
  const auth = access.agents === 'open' ? '' : ` -H "Authorization: Bearer $GATE_LITE_TOKEN"`;
  const curl = (header: string, tool: string, args: string) =>
    [
      `  curl -sS ${url}/mcp -H 'Content-Type: application/json'${auth} \\`,
      `    -H '${header}' -H "X-Gate-Idempotency-Id: $(node -p 'crypto.randomUUID()')" \\`,
      `    -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${args}}}'`,
    ].join('\n');
  const decision = 'X-Gate-Decision-Contract: gate.decision/v1';
  const first = tools
    ? `Your tools through Gate: the list of them, then a call (put one of their names for TOOL):

  curl -sS ${url}/mcp -H 'Content-Type: application/json'${auth} -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

${curl('X-Gate-Server-Execution-Contract: gate.server-execution/v1', 'TOOL', '{}')}

  An MCP client needs no header, only the address: ${url}/mcp (docs/how-to/call-from-an-mcp-client.md)
  A tool that may change something waits until you class it: ${elsewhere}${gateCommand()} tools${endpoint}`
    : `An allow, a deny, and a call that waits for you:

${curl(decision, 'read_file', '{"path":"notes.txt"}')}

${curl(decision, 'delete_file', '{"path":"notes.txt"}')}

${curl(decision, 'wire_transfer', '{"from":"operating","to":"vendor","amount":25}')}`;
  return `
Gate lite is ready at ${url} (${config.mode}, ${config.profile})${config.mode === 'observe' ? observed('GATE_LITE_MODE') : ''}

  ledger     ${config.ledger}${isNew ? ' (new: there was none)' : ''}${resumed > 0 ? ` (${resumed === 1 ? '1 call goes' : `${resumed} calls go`} on from before)` : ''}
  rules      ${policies.builtIn ? 'built in' : policies.directory}, version ${policies.version}
  tools      ${tools ? `${tools}${foundShown(running)}` : 'none: calls are judged under gate.decision/v1, executions are refused unjudged (--upstream URL, or gate lite -- <mcp server>)'}
  agents     ${access.agents === 'open' ? 'ANONYMOUS: whoever reaches this port may call (GATE_LITE_TOKEN)' : access.agents}
  operators  ${operatorsShown(running)}
  console    ${consoleShown(running, `${elsewhere}${gateCommand()} lite link${endpoint}`)}${notices(config)}${warnings.map((warning) => `\n  WARNING    ${warning}`).join('')}

${first}
  ${elsewhere}${gateCommand()} pending${endpoint}
  ${elsewhere}${gateCommand()} decide <id> approve${endpoint}

  ${gateCommand()} audit --ledger ${config.ledger}
  ${gateCommand()} verify --ledger ${config.ledger}

Ctrl-C stops it.
`;
}

/** What answered at the upstream's address, and what that means for the first call. */
function foundShown({ found }: Lite): string {
  if (found === null) return '';
  return found.kind === 'unclear'
    ? `\n             NOT REACHED: ${oneLine(found.words)}. Is it started? Until it answers no call is sent; it is asked again at the first one`
    : ` (${oneLine(found.words)})`;
}

function consoleShown({ signInLink, url }: Lite, another: string): string {
  const link = signInLink();
  return link === null
    ? `${url}/`
    : `${link}\n             signs you in once, within 10 minutes; \`${another}\` prints another`;
}

/** The token is shown only when it is created. Later the page names its file, where the commands find it. */
function operatorsShown({ access, ownDecideToken: own }: Lite): string {
  if (own === null) return access.operators;
  if (own.file === null) return `decide token ${own.token}, until this process ends`;
  return own.fresh
    ? `decide token ${own.token}, made just now and kept in ${own.file}`
    : `the decide token in ${own.file}`;
}

/** Without user information and query, which may be secret. */
const shownAddress = (text: string): string => {
  const { origin, pathname } = new URL(text);
  return origin + pathname;
};

const notices = ({ webhookUrl, slackWebhookUrl }: LiteConfig): string =>
  webhookUrl || slackWebhookUrl
    ? `\n  notices    webhook ${webhookUrl ? 'on' : 'off'}, chat ${slackWebhookUrl ? 'on' : 'off'}`
    : '';

/** The command without its later arguments, which may be secret. */
const shownCommand = (command: readonly string[]): string =>
  `${command.slice(0, 2).join(' ')}${command.length > 2 ? ' …' : ''}`;
