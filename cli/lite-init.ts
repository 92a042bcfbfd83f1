import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { Option, type Command } from 'commander';
import type { Env } from '../config/env.js';
import { flagOf, LITE_SETTINGS } from '../config/lite.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { CliError } from './errors.js';
import { unreadable } from './named-file.js';
import { INIT_FILE } from './lite-target.js';
import { gateCommand } from './output.js';

const POLICIES = 'policies';

interface InitOptions {
  readonly upstream?: string;
  readonly mode: string;
  readonly port: string;
  readonly force?: boolean;
  readonly printConfig?: boolean;
  readonly launch?: boolean;
}

/** `gate lite init`: writes a folder of rules to edit, and a file of settings with fresh tokens. `--launch` starts lite with both. */
export function registerLiteInit(lite: Command, launch: (envFile: string) => Promise<void>): void {
  const { mode, port, upstreamUrl } = LITE_SETTINGS;
  lite
    .command('init')
    .description(
      `write ${INIT_FILE} with fresh tokens and ./${POLICIES} with the built-in rules, to start from; keeps what is there`,
    )
    .option('--upstream <url>', `${upstreamUrl.meaning} [${upstreamUrl.variable}]`)
    .addOption(
      new Option('--mode <mode>', 'observe first: nothing is refused, and `gate report` says what would have been')
        .choices(['observe', 'enforce'])
        .default('observe'),
    )
    .option('--port <value>', `${port.meaning} [${port.variable}]`, String(port.type.parse(undefined)))
    .option('--force', 'also replace what is there')
    .option('--print-config', 'print the settings instead of writing anything')
    .option('--launch', 'start lite with them')
    .action(async (options: InitOptions) => {
      const text = settingsText(options, mode.variable);
      if (options.printConfig) return void process.stdout.write(text);
      write(INIT_FILE, options.force, () => writeFileSync(INIT_FILE, text, { mode: 0o600 }));
      write(POLICIES, options.force, () => copyRules(POLICIES));
      process.stdout.write(
        [
          '',
          `start with         ${gateCommand()} lite --env-file ${INIT_FILE}`,
          `in a second shell  set -a; . ./${INIT_FILE}   (then the calls that are printed work as they are)`,
          `the rules' lists   ${join(POLICIES, 'data.json')}: change them and start again`,
          `${INIT_FILE} holds the tokens: keep it out of version control`,
          '',
        ].join('\n'),
      );
      if (options.launch) await launch(INIT_FILE);
    });
}

function write(name: string, force: boolean | undefined, make: () => void): void {
  if (existsSync(name) && !force) return void process.stdout.write(`kept     ${name} (--force replaces it)\n`);
  make();
  process.stdout.write(`written  ${name}\n`);
}

/** Copies what `gate lite` needs of the shipped folder: the rules, their data and the compiled set; no tests or cases. */
function copyRules(to: string): void {
  const from = shippedPolicyDirectory();
  for (const part of ['data.json', 'capabilities.json', 'compiled', 'gate'])
    cpSync(join(from, part), join(to, part), { recursive: true, filter: (path) => !path.endsWith('_test.rego') });
}

function settingsText({ mode, port, upstream }: InitOptions, modeVariable: string): string {
  const token = () => randomBytes(32).toString('base64url');
  // Shells also read this file, so an address with & or $ must be quoted.
  const quoted = (value: string) => (/^[\w.,:/@%+-]*$/.test(value) ? value : `'${value.replaceAll("'", '%27')}'`);
  const line = (variable: string, value: string, why: string) => `# ${why}\n${variable}=${quoted(value)}\n`;
  const { upstreamUrl, token: agentToken, decideToken, port: portSetting, mode: modeSetting } = LITE_SETTINGS;
  return [
    '# Settings of gate lite; flags and variables of the environment beat them. `npx gate lite --help` lists them all.\n',
    line(modeVariable, mode, modeSetting.meaning),
    line(portSetting.variable, port, portSetting.meaning),
    upstream
      ? line(upstreamUrl.variable, upstream, upstreamUrl.meaning)
      : `# ${upstreamUrl.meaning}\n# ${upstreamUrl.variable}=\n`,
    line(agentToken.variable, token(), agentToken.meaning),
    line(decideToken.variable, token(), decideToken.meaning),
  ].join('\n');
}

/** The settings of a file, as an environment. Throws CliError when it cannot be read or contains an unknown setting of lite. */
export function readEnvFile(file: string): Env {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`--env-file ${file} cannot be read: ${unreadable(error)}`, 2);
  }
  const read = parseEnv(text) as Env;
  const known = new Set(Object.values(LITE_SETTINGS).flatMap(({ variable }) => [variable, `${variable}_FILE`]));
  // A misspelt token would leave Gate open although its owner believes it is protected.
  const strange = Object.keys(read).find(
    (name) => name !== 'GATE_MODE' && name.startsWith('GATE_') && !known.has(name),
  );
  if (strange !== undefined) throw new CliError(`${file}: ${strange} is no setting of gate lite`, 2);
  return Object.fromEntries(Object.entries(read).filter(([name]) => name.startsWith('GATE_')));
}

/** Adds every setting as a flag, with its reason, variable and default. */
export function addSettingFlags(
  lite: Command,
  isSwitch: (setting: (typeof LITE_SETTINGS)[keyof typeof LITE_SETTINGS]) => boolean,
): void {
  for (const setting of Object.values(LITE_SETTINGS)) {
    const fallback = setting.type.safeParse(undefined).data;
    const shown =
      typeof fallback === 'string' || typeof fallback === 'number'
        ? `, default ${fallback}`
        : fallback === false
          ? ', default off'
          : Array.isArray(fallback)
            ? ', default empty'
            : ', default none';
    lite.addOption(
      new Option(
        `${flagOf(setting)} ${isSwitch(setting) ? '[value]' : '<value>'}`,
        `${setting.meaning} [${setting.variable}${shown}]`,
      ),
    );
  }
}
