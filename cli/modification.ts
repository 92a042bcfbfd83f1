import { readFile } from 'node:fs/promises';
import { MODIFICATION_CONTRACT, type ModificationDiff, modificationDiff } from '../contracts/review.js';
import { assigned } from '../domain/review/argument-path.js';
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

/**
 * `amount=100` replaces by a number, `memo=paid` by a text; what reads as JSON is taken as JSON. `"limits.max"=1` names one key, `limits.max=1`
 * the key of an object.
 */
function replacementOf(text: string): { path: readonly string[]; value: unknown } {
  const said = assigned(text);
  if (said === null) throw new CliError(`--set ${text}: write path=value, a key with a dot in it as "a.b"=value`, 2);
  const { path, value } = said;
  try {
    return { path, value: JSON.parse(value) as unknown };
  } catch {
    return { path, value };
  }
}

async function jsonIn(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, 2);
  }
}
