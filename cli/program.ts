import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config/env.js';
import { GateError } from '../domain/errors.js';
import { PROJECT_ROOT } from '../scripts/project-root.js';
import { registerLiteCommands } from './lite.js';
import { CliError } from './target.js';

/** Exit codes: 0 done, 1 failed, 2 wrong usage or an invalid chain. */
const USAGE = 2;

/** Adds what `gate` can do beside the lite edition, loading it. */
export type OtherCommands = (program: Command) => Promise<void>;

/** `first` is the command that was typed: lite is ready sooner without what only the other commands need. */
async function createProgram(first: string | undefined, addOthers: OtherCommands): Promise<Command> {
  const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string };
  const program = new Command('gate')
    .description(
      'Gate stands between AI agents and their tools: nothing happens unless Gate allowed it, and what happened can be proved.',
    )
    .version(version)
    .showHelpAfterError('(gate --help lists the commands)')
    // What stands behind a command is that command's own, its flags too.
    .enablePositionalOptions()
    .exitOverride();
  if (first !== 'lite') await addOthers(program);
  registerLiteCommands(program);
  return program;
}

/** Runs what was typed and comes back with the exit code. One clear line for what an operator can mend; a stack only for a fault in Gate. */
export async function runCommand(argv: readonly string[], addOthers: OtherCommands): Promise<number> {
  // Whoever read the output may have gone; a server goes on, and a command has nothing to add.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const program = await createProgram(argv[2], addOthers);
    await program.parseAsync([...argv]);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    if (
      error instanceof ConfigError ||
      error instanceof CliError ||
      error instanceof GateError ||
      (error instanceof Error && error.name === 'StartError')
    ) {
      process.stderr.write(`gate: ${error.message}\n`);
      return error instanceof CliError ? error.exitCode : 1;
    }
    process.stderr.write(`gate: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
}
