import 'reflect-metadata';
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

/** `first` is the command that was typed: lite is ready sooner without what only the other commands need. */
export async function createProgram(first?: string): Promise<Command> {
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
  if (first !== 'lite') {
    const [processes, operator] = await Promise.all([import('./processes.js'), import('./operator.js')]);
    processes.registerProcessCommands(program);
    operator.registerOperatorCommands(program);
  }
  registerLiteCommands(program);
  return program;
}

/** One clear line for what an operator can mend; a stack only for what is a fault in Gate. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    const program = await createProgram(argv[2]);
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

// Whoever read the output may have gone; a server goes on, and a command has nothing to add.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
process.exitCode = await main(process.argv);
