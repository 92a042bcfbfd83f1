import { readFileSync } from 'node:fs';
import { errorText } from '../domain/errors.js';
import { CliError } from './errors.js';

/** The text of a file that somebody named on the command line. Where it cannot be read, that is wrong usage, told by its name. */
export function textOf(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`${flag} ${file}: ${unreadable(error)}`, 2);
  }
}

/** Why a file could not be read, in words. */
export function unreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'is a folder, not a file';
  if (code === 'EACCES') return 'may not be read by this user';
  return errorText(error);
}
