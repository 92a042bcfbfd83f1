import { existsSync, renameSync, rmSync } from 'node:fs';
import type { Command } from 'commander';
import { CliError } from './errors.js';
import { ledgerOption, readable, withLock } from './ledger-file.js';

/** `gate restore`: replaces a ledger file by a backup. */
export function registerRestore(program: Command): void {
  program
    .command('restore')
    .description('put a verified backup in the place of a ledger file; stop the server first')
    .addOption(ledgerOption())
    .requiredOption('--input <file>', 'the backup')
    .option('--force', 'also where a ledger is there already')
    .action(async ({ ledger, input, force }: { ledger: string; input: string; force?: boolean }) => {
      const { backupLedger, verifyFile } = await import('../lite/ledger-file.js');
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
}
