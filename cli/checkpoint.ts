import type { Command } from 'commander';
import type { FileLogOptions } from './evidence.js';
import { logKey, logOrigin, logTarget } from './log-file.js';
import { writeOut } from './output.js';
import { ledgerFile } from './target.js';

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
      const target = logTarget(given, by);
      const checkpoint =
        target.kind === 'file'
          ? await target.read((opened) => withLogOfFile(opened, target.file, by, (log) => log.checkpoint()))
          : await target.text('ledger', 'GET', '/checkpoint');
      if (out === undefined) process.stdout.write(checkpoint);
      else writeOut(out, checkpoint);
    });
}
