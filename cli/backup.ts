import { existsSync, realpathSync, renameSync, rmSync } from 'node:fs';
import type { Command } from 'commander';
import type { VerifyResult } from '../contracts/ledger.js';
import { CliError } from './errors.js';
import { meantLedger, readable } from './ledger-file.js';
import { ledgerFile } from './target.js';

/** `gate backup`: a verified copy of a ledger file. */
export function registerBackup(program: Command): void {
  program
    .command('backup')
    .description('copy a ledger file, also one in use, and verify the copy')
    .addOption(ledgerFile())
    .requiredOption('--output <file>', 'where to; overwritten')
    .action(async ({ ledger: named, output }: { ledger?: string; output: string }) => {
      const ledger = meantLedger(named);
      const { backupLedger, verifyFile } = await import('../lite/ledger-file.js');
      if (existsSync(output) && existsSync(ledger) && realpathSync(output) === realpathSync(ledger))
        throw new CliError('--output is the ledger itself', 2);
      // An earlier backup stays until the new one is verified.
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
      process.stdout.write(
        `of ${ledger}\nsnapshot ${output} OK - ${pages} pages, ${result.entries_checked} entries verified\n`,
      );
      const keys = existsSync(`${ledger}.keys`) ? `${ledger}.keys` : 'them';
      process.stdout.write(`its keys are not in it: keep ${keys} apart from it, and safe\n`);
    });
}
