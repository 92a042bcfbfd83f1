import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { PROJECT_ROOT } from '../config/project-root.js';
import { CliError, NO_SUCH_THING } from './errors.js';

/** Exit codes of every command; printed by `gate --help`. */
const EXIT_CODES = `
Exit codes:
  0  done; what was verified holds
  1  failed, or refused to start; the last line says why
  2  wrong usage, or what was verified does not hold
  3  who asks may not (a token, a certificate)
  4  there is no such thing, or it stands otherwise by now (decided, expired, changed)
  5  no Gate answers there, or it could not
  130, 143  ended at once by Ctrl-C or SIGTERM, asked twice`;
const USAGE = 2;
/** What somebody types who looks for `gate decide`, and what is meant. */
const DECISIONS: Readonly<Record<string, string>> = {
  approve: 'approve',
  allow: 'approve',
  deny: 'deny',
  reject: 'deny',
};

/**
 * The commands of `gate` by name, with a loader for each. A command's file is loaded only when it is typed or when help lists all commands.
 */
export type Commands = Readonly<Record<string, () => Promise<(program: Command) => void>>>;

/** Names of errors that an operator can fix. Their classes are in files that most commands do not load. */
const MENDABLE: ReadonlySet<string> = new Set(['ConfigError', 'GateError', 'StartError']);

async function createProgram(typed: string | undefined, commands: Commands): Promise<Command> {
  const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string };
  const program = new Command('gate')
    .description(
      'Gate stands between AI agents and their tools: nothing happens unless Gate allowed it, and what happened can be proved.',
    )
    .version(version)
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError('(gate --help lists the commands)')
    // Options after a command belong to that command.
    .enablePositionalOptions()
    .exitOverride();
  if (typed === '--version' || typed === '-V') return program;
  if (typed !== undefined && Object.hasOwn(DECISIONS, typed))
    program
      .showSuggestionAfterError(false)
      .showHelpAfterError(`(gate decide <id> ${DECISIONS[typed]} does that; gate pending lists the ids)`);
  const named = typed !== undefined && Object.hasOwn(commands, typed) ? commands[typed] : undefined;
  for (const load of named ? [named] : Object.values(commands)) (await load())(program);
  nameTheirHelp(program, 'gate');
  return program;
}

/** After a wrong use of a command stands whose help says how it is used, and where the commands beside it are listed. */
function nameTheirHelp(group: Command, path: string): void {
  for (const command of group.commands) {
    const own = `${path} ${command.name()}`;
    command.showHelpAfterError(`(${own} --help says how it is used; ${path} --help lists the commands)`);
    nameTheirHelp(command, own);
  }
}

/**
 * Runs the typed command and returns the exit code. Prints one line for errors that an operator can fix, and a stack only for a fault in
 * Gate.
 */
export async function runCommand(argv: readonly string[], commands: Commands): Promise<number> {
  // The reader of the output may be gone. A server continues, and a command has nothing more to say.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const program = await createProgram(argv[2], commands);
    await program.parseAsync([...argv]);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    if (error instanceof Error && (error instanceof CliError || MENDABLE.has(error.name))) {
      process.stderr.write(`gate: ${error.message}\n`);
      if (error instanceof CliError) return error.exitCode;
      return 'code' in error && error.code === 'not_found' ? NO_SUCH_THING : 1;
    }
    process.stderr.write(`gate: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
}
