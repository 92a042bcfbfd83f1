import { Option } from 'commander';
import { CliError } from './errors.js';
import type { FileLogOptions } from './evidence.js';
import type { StackTarget } from './stack-target.js';
import { type FileTarget, ledgerTarget } from './target.js';

export const logKey = () =>
  new Option(
    '--key <file>',
    'for a ledger file: the Ed25519 key (PEM) that signs its checkpoint, or the public or verifier key of the log whose newest one is taken',
  );
export const logOrigin = () =>
  new Option('--origin <name>', 'for a ledger file: the name of the log that --key signs for').env(
    'GATE_LEDGER_ORIGIN',
  );

/** What to make proofs from: a file, or the running stack, which signs with its own key. */
export function logTarget(given: string | undefined, { key }: FileLogOptions): FileTarget | StackTarget {
  const target = ledgerTarget(given);
  if (target.kind === 'stack' && key !== undefined)
    throw new CliError('--key is for a ledger file: give --ledger, too', 2);
  return target;
}
