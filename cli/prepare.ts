import { Argument, type Command } from 'commander';

/** `gate prepare`: what a deployment does before its services start. */
export function registerPrepare(program: Command): void {
  program
    .command('prepare')
    .description('make the database (roles) or the engine (namespace, search attributes) ready; may run at every start')
    .addArgument(new Argument('<what>', 'which').choices(['database', 'engine']))
    .action(async (what: string) => {
      const { prepareDatabase, prepareEngine } = await import('../stack/prepare.js');
      const progress = (line: string) => void process.stdout.write(`${line}\n`);
      await (what === 'database' ? prepareDatabase : prepareEngine)({ env: process.env, progress });
    });
}
