import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Option } from 'commander';
import { LITE_SETTINGS } from '../config/lite.js';
import { CliError } from './errors.js';
import { stackIsKnown } from './stack-target.js';
import { ledgerPath } from './target.js';
import { gateCommand } from './output.js';

const DEFAULT_LEDGER = LITE_SETTINGS.ledger.type.parse(undefined);
export const ledgerOption = () =>
  new Option('--ledger <file>', 'the ledger file').env('GATE_LITE_LEDGER').default(DEFAULT_LEDGER);

const fileOfStack = (): string => join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'data', 'ledger.db');

/** For commands that read a file only: the one that `ledgerPath` names, or where it names the stack of this folder, the stack's file. */
export function meantLedger(named: string | undefined): string {
  const ofStack = fileOfStack();
  return ledgerPath(named) ?? (stackIsKnown() || existsSync(ofStack) ? ofStack : DEFAULT_LEDGER);
}

/** Never creates the file. Reports in one line why it cannot be read. */
export async function readable<Result>(file: string, look: () => Promise<Result>): Promise<Result> {
  if (!existsSync(file) && file === fileOfStack() && stackIsKnown())
    throw new CliError(
      `the ledger of this stack is in Postgres; \`${gateCommand()} export --to FILE\` makes a file of it, and --ledger FILE reads that`,
    );
  if (!existsSync(file) || !statSync(file).isFile())
    throw new CliError(
      `no ledger file at ${file}; --ledger or GATE_LITE_LEDGER names another, and it is made by the first \`${gateCommand()} lite\``,
    );
  return look();
}

/** Only one process may write a file, because two writers would each keep their own state of it. */
export async function withLock<Result>(ledger: string, work: () => Promise<Result>): Promise<Result> {
  if (ledger === ':memory:') return work();
  const { withFileLock } = await import('../stack/file-lock.js');
  let begun = false;
  try {
    return await withFileLock(`${resolve(ledger)}.lock`, { timeoutMs: 500 }, () => {
      begun = true;
      return work();
    });
  } catch (error) {
    if (begun) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CliError(
      code === 'EACCES' || code === 'EROFS'
        ? `${ledger}: its folder is read-only; nothing could be recorded`
        : `${ledger} is in use by another gate process (${message})`,
    );
  }
}
