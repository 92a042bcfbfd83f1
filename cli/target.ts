import { existsSync } from 'node:fs';
import { Option } from 'commander';
import type { ReadOnlyLedger } from '../adapters/ledger/read-only.js';
import { CliError } from './errors.js';
import { DEFAULT_LEDGER, DEFAULT_LITE, type LiteFlags, liteHere, type LiteTarget, liteTarget } from './lite-target.js';
import { stackIsKnown, type StackTarget, stackTarget } from './stack-target.js';

export const endpoint = () =>
  new Option(
    '--endpoint <url>',
    `ask this lite process, by its address; without it the running stack of this folder, or ${DEFAULT_LITE} where none is known`,
  ).env('GATE_LITE_URL');
export const decideToken = () =>
  new Option(
    '--decide-token <token>',
    'the decide token of the lite process; better given as a variable, since others on this machine see flags',
  ).env('GATE_LITE_DECIDE_TOKEN');

export const ledgerFile = () =>
  new Option('--ledger <file>', 'this ledger file instead of the running stack').env('GATE_LITE_LEDGER');

export const consoleAt = () =>
  new Option(
    '--console <url>',
    'ask this console, by its address, as whoever signed in there with `gate login`; without it that of the running stack of this folder, or the last one',
  );

/** What is said of a console on the command line. */
export interface ConsoleFlags {
  readonly console?: string;
}

/** A ledger file, which is only read. */
export interface FileTarget {
  readonly kind: 'file';
  readonly file: string;
  read<T>(use: (ledger: ReadOnlyLedger) => Promise<T>): Promise<T>;
}

/** The lite process that is named; otherwise the running stack, and the lite of this folder where no stack is known. */
export function operatorTarget(flags: LiteFlags, operator?: string): StackTarget | LiteTarget {
  const url = flags.endpoint ?? (stackIsMeant() ? undefined : liteHere());
  return url === undefined ? stackTarget(flags.tenant, operator) : liteTarget({ ...flags, endpoint: url });
}

export const stackIsMeant = (): boolean => Boolean(process.env.GATE_STATE_DIR) || stackIsKnown();

/** The ledger file that is named or lies here; otherwise the running stack. */
export function ledgerTarget(given: string | undefined): StackTarget | FileTarget {
  const file = ledgerPath(given);
  return file ? { kind: 'file', file, read: (use) => withLedgerFile(file, use) } : stackTarget();
}

/** The named file; otherwise `gate-lite.db` if it is here and no stack is known; otherwise `null`, the running stack. */
export function ledgerPath(given: string | undefined): string | null {
  if (given !== undefined) return given;
  return !stackIsKnown() && existsSync(DEFAULT_LEDGER) ? DEFAULT_LEDGER : null;
}

async function withLedgerFile<T>(file: string, use: (ledger: ReadOnlyLedger) => Promise<T>): Promise<T> {
  const opened = await readOnly(file);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

async function readOnly(file: string): Promise<ReadOnlyLedger> {
  const [{ openLedgerReadOnly }, { keysBeside }] = await Promise.all([
    import('../adapters/ledger/read-only.js'),
    import('../lite/keys.js'),
  ]);
  try {
    return openLedgerReadOnly(file, { sidecarKeys: keysBeside(file) });
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}
