import { existsSync, statSync } from 'node:fs';
import { Option } from 'commander';
import { LITE_SETTINGS } from '../config/lite.js';
import { CliError } from './target.js';

const DEFAULT_LEDGER = LITE_SETTINGS.ledger.type.parse(undefined);
export const ledgerOption = () =>
  new Option('--ledger <file>', 'the ledger file').env('GATE_LITE_LEDGER').default(DEFAULT_LEDGER);

/** A file that is only looked at is never made; what keeps it from being read is one line. */
export async function readable<Result>(file: string, look: () => Promise<Result>): Promise<Result> {
  if (!existsSync(file) || !statSync(file).isFile()) throw new CliError(`no ledger file at ${file}`);
  return look();
}
