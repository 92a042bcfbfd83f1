import { Option, type Command } from 'commander';
import { schemaOf } from '../adapters/store/schema.js';
import { CliError } from './errors.js';

/** `gate export`: copies a Postgres ledger into a file. */
export function registerExport(program: Command): void {
  program
    .command('export')
    .description('copy the ledger of a Postgres database into a new ledger file, byte for byte, and verify the copy')
    .requiredOption('--to <file>', 'the file to make; one that is there is never replaced')
    .addOption(
      new Option('--schema <name>', 'the schema of the ledger; the database is the one of GATE_DATABASE_URL').default(
        schemaOf('ledger'),
      ),
    )
    .action(async ({ to, schema }: { to: string; schema: string }) => {
      const [{ exportChain }, { verifyFile }, { readConfig }, { SHARED_SETTINGS }] = await Promise.all([
        import('../adapters/ledger/export-chain.js'),
        import('../lite/ledger-file.js'),
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
}
