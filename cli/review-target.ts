import { existsSync } from 'node:fs';
import { CliError } from './errors.js';
import { signInHere } from './kept-sign-in.js';
import { DEFAULT_LEDGER, INIT_FILE, type LiteFlags, type LiteTarget } from './lite-target.js';
import { type PersonTarget, personTarget } from './person-target.js';
import { stackIsKnown, type StackTarget } from './stack-target.js';
import {
  type ConsoleFlags,
  type FileTarget,
  ledgerPath,
  ledgerTarget,
  operatorTarget,
  stackIsMeant,
} from './target.js';

/** Where a command asks that is about reviews. */
export type ReviewTarget = StackTarget | LiteTarget | PersonTarget;

/**
 * Who decides: whoever signed in with `gate login`, at the console that is named, at that of the stack of this folder, or, where neither a stack
 * nor a lite is known here, at the last one. Otherwise whoever commands act as without a sign-in.
 */
export function reviewTarget(flags: LiteFlags & ConsoleFlags, operator?: string): ReviewTarget {
  if (flags.console !== undefined && (flags.endpoint !== undefined || operator !== undefined))
    throw new CliError('--console goes neither with --endpoint nor with --as', 2);
  if (flags.endpoint !== undefined || operator !== undefined) return operatorTarget(flags, operator);
  return personHere(flags, !stackIsMeant() && liteLiesHere()) ?? operatorTarget(flags);
}

/** Who is signed in; `null` for nobody, or where something else is meant here. Throws CliError where nobody is at the console that is named. */
function personHere({ console }: ConsoleFlags, elseMeant: boolean): PersonTarget | null {
  if (console === undefined && (elseMeant || (stackIsMeant() && !stackIsKnown()))) return null;
  const kept = signInHere(console);
  if (kept === null && console !== undefined)
    throw new CliError(`nobody is signed in at ${console}: gate login --console ${console}`, 3);
  return kept && personTarget(kept);
}

const liteLiesHere = (): boolean => existsSync(INIT_FILE) || existsSync(DEFAULT_LEDGER);

/** The ledger file that is named or lies here; otherwise who is signed in; otherwise the running stack. */
export function auditTarget(given: string | undefined, flags: ConsoleFlags): StackTarget | FileTarget | PersonTarget {
  if (given !== undefined && flags.console !== undefined) throw new CliError('--console does not go with --ledger', 2);
  return personHere(flags, ledgerPath(given) !== null) ?? ledgerTarget(given);
}
