import type { Command } from 'commander';
import { CliError } from './errors.js';
import type { FileLogOptions } from './evidence.js';
import { logKey, logOrigin, logTarget } from './log-file.js';
import { writeOut } from './output.js';
import { hasUuidForm } from '../domain/uuid.js';
import { ledgerFile } from './target.js';

interface ProveOptions extends FileLogOptions {
  readonly out: string;
  readonly since?: string;
  readonly ledger?: string;
}

/** `gate prove`: writes a proof of one row under a signed checkpoint. */
export function registerProve(program: Command): void {
  program
    .command('prove')
    .description('write a proof bundle of one ledger row: `gate verify --bundle` checks it without Gate')
    .argument('<seq | entry id>', 'the row')
    .requiredOption('--out <file>', 'where to; overwritten')
    .option('--since <file>', 'a checkpoint that was kept: the bundle then proves that the log only grew since')
    .addOption(ledgerFile())
    .addOption(logKey())
    .addOption(logOrigin())
    .action(async (row: string, { out, since, ledger: given, ...by }: ProveOptions) => {
      const { proveEntry, proverOver, readEvidence, withLogOfFile } = await import('./evidence.js');
      const seq = /^[1-9][0-9]{0,15}$/.test(row) ? Number(row) : null;
      if (seq === null && !hasUuidForm(row)) throw new CliError(`${row} is neither a seq nor the id of an entry`, 2);
      const entry = seq === null ? { id: row } : { seq };
      const kept = since === undefined ? undefined : readEvidence(since).toString('utf8');
      const target = logTarget(given, by);
      const bundle =
        target.kind === 'file'
          ? await target.read((opened) => withLogOfFile(opened, target.file, by, (log) => proveEntry(log, entry, kept)))
          : await proveEntry(
              proverOver((path) => target.ask('ledger', 'GET', path)),
              entry,
              kept,
            );
      writeOut(out, `${JSON.stringify(bundle, null, 2)}\n`);
      process.stdout.write(`${out}: entry ${bundle.inclusion.seq} in a log of ${bundle.inclusion.tree_size} entries\n`);
    });
}
