import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CliError } from './errors.js';

export const ADMIN_TOKEN = 'GATE_IDENTITY_ADMIN_TOKEN';

/** The setting, or what a start of Gate made in this folder. */
export function administratorToken(): string {
  const set = process.env[ADMIN_TOKEN];
  if (set !== undefined && set !== '') return set;
  const file = join(resolve(process.env['GATE_STATE_DIR'] ?? '.gate'), 'secrets', 'identity-admin-token');
  if (!existsSync(file))
    throw new CliError(`no token of the administrator is known here (${file} is missing): set ${ADMIN_TOKEN}`, 2);
  return readFileSync(file, 'utf8').trim();
}
