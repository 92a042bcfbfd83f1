import { readFile } from 'node:fs/promises';
import { MODIFICATION_CONTRACT, type ModificationDiff, modificationDiff } from '../contracts/review.js';
import { CliError } from './errors.js';

export interface ModificationFlags {
  readonly set: readonly string[];
  readonly modify?: string | undefined;
}

/** The change that the flags name: `--set a.b=1` for each argument, or a file with the diff or only its replacements. */
export async function diffOf({ set, modify: file }: ModificationFlags): Promise<ModificationDiff> {
  if (set.length > 0 === (file !== undefined))
    throw new CliError('modify needs --set path=value (repeatable) or --modify FILE', 2);
  const given = file === undefined ? set.map(replacementOf) : await jsonIn(file);
  const read = modificationDiff.safeParse(
    Array.isArray(given) ? { contract: MODIFICATION_CONTRACT, replacements: given } : given,
  );
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new CliError(`not a modification: ${[...(issue?.path ?? [])].join('.')}: ${issue?.message ?? ''}`, 2);
}

/** `amount=100` replaces by a number, `memo=paid` by a text; what reads as JSON is taken as JSON. */
function replacementOf(text: string): { path: string[]; value: unknown } {
  const at = text.indexOf('=');
  if (at < 1) throw new CliError(`--set ${text}: write path=value`, 2);
  const value = text.slice(at + 1);
  try {
    return { path: text.slice(0, at).split('.'), value: JSON.parse(value) as unknown };
  } catch {
    return { path: text.slice(0, at).split('.'), value };
  }
}

async function jsonIn(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, 2);
  }
}
