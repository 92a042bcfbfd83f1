import type { Command } from 'commander';
import type { FileLogOptions } from './evidence.js';
import { ledgerOf, logKey, logOrigin } from './log-file.js';
import { writeOut } from './output.js';
import { ledgerFile, textAsConsole, withLedgerFile } from './target.js';

/** `gate checkpoint`: prints the ledger's current signed checkpoint. */
export function registerCheckpoint(program: Command): void {
  program
    .command('checkpoint')
    .description('print the signed checkpoint of the ledger; who keeps it can prove later that the log only grew')
    .option('--out <file>', 'write it to a file instead')
    .addOption(ledgerFile())
    .addOption(logKey())
    .addOption(logOrigin())
    .action(async ({ out, ledger: given, ...by }: FileLogOptions & { out?: string; ledger?: string }) => {
      const { withLogOfFile } = await import('./evidence.js');
      const ledger = ledgerOf(given, by);
      const checkpoint = ledger
        ? await withLedgerFile(ledger, (opened) => withLogOfFile(opened, ledger, by, (log) => log.checkpoint()))
        : await textAsConsole('ledger', 'GET', '/checkpoint');
      if (out === undefined) process.stdout.write(checkpoint);
      else writeOut(out, checkpoint);
    });
}
