import { Argument, type Command } from 'commander';

/** `gate prepare`: what a deployment runs before its services start. */
export function registerPrepare(program: Command): void {
  program
    .command('prepare')
    .description(
      'make the database (roles), the engine (namespace, search attributes) or the workflows (their bundle, in an image) ready; may run at every start',
    )
    .addArgument(new Argument('<what>', 'which').choices(['database', 'engine', 'workflows']))
    .action(async (what: string) => {
      const { prepareDatabase, prepareEngine, prepareWorkflows } = await import('../stack/prepare.js');
      const progress = (line: string) => void process.stdout.write(`${line}\n`);
      if (what === 'workflows') return prepareWorkflows({ progress });
      await (what === 'database' ? prepareDatabase : prepareEngine)({ env: process.env, progress });
    });
}
