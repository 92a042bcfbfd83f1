import {
  MODIFICATION_CONTRACT,
  type ModificationDiff,
  modificationDiff,
  type PendingRequest,
} from '../contracts/review.js';
import { parseStrictJson } from '../domain/mcp/strict-json.js';
import { assigned, pathText } from '../domain/decision/argument-path.js';
import { valueAt } from '../domain/decision/modification.js';
import { CliError } from './errors.js';
import { textOf } from './named-file.js';

export interface ModificationFlags {
  readonly set?: readonly string[] | undefined;
  readonly modify?: string | undefined;
}

/** The change that the flags name, and whether a file gave the whole diff: `--set a.b=1` for each argument, or a file with the arguments as they shall be, or with the diff. */
export async function diffOf({
  set = [],
  modify: file,
}: ModificationFlags): Promise<{ readonly diff: ModificationDiff; readonly whole: boolean }> {
  if (set.length > 0 === (file !== undefined))
    throw new CliError('modify needs --set path=value (repeatable) or --modify FILE', 2);
  const inFile = file === undefined ? null : jsonIn(file);
  const given = file === undefined ? diffWith(set.map(replacementOf)) : diffIn(inFile, file);
  const read = modificationDiff.safeParse(given);
  if (read.success) return { diff: read.data, whole: given === inFile };
  const [issue] = read.error.issues;
  throw new CliError(
    `${file ?? 'not a modification'}: ${[...(issue?.path ?? [])].join('.')}: ${issue?.message ?? ''}`,
    2,
  );
}

const diffWith = (replacements: readonly unknown[]) => ({ contract: MODIFICATION_CONTRACT, replacements });

/** What a file says: the diff, its replacements alone, or an object of arguments with their new values. */
function diffIn(given: unknown, file: string): unknown {
  if (Array.isArray(given)) return diffWith(given);
  if (!isObject(given))
    throw new CliError(`${file}: not an object of arguments and their new values, as in {"amount": 100}`, 2);
  // Both together: one of them alone may be an argument's name.
  if (Object.hasOwn(given, 'contract') && Object.hasOwn(given, 'replacements')) return given;
  return diffWith(valuesIn(given, [], file));
}

/** Every value below the object, with the keys that lead to it. */
function valuesIn(object: object, above: readonly string[], file: string): { path: string[]; value: unknown }[] {
  const entries = Object.entries(object);
  if (entries.length === 0)
    throw new CliError(`${file}: ${above.length === 0 ? 'names no argument' : `${pathText(above)} names no value`}`, 2);
  return entries.flatMap(([key, value]: [string, unknown]) => {
    const path = [...above, key];
    if (Array.isArray(value))
      throw new CliError(
        `${file}: ${pathText(path)} is a list; only a text, a number, true, false or null is replaced`,
        2,
      );
    return isObject(value) ? valuesIn(value, path, file) : [{ path, value }];
  });
}

const isObject = (value: unknown): value is object =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

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

function jsonIn(file: string): unknown {
  const text = textOf('--modify', file);
  try {
    // A name that stands twice would be read as the last of them.
    return parseStrictJson(text);
  } catch (error) {
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, 2);
  }
}

/**
 * Refuses a new value of another type than the one in its place: `amount=10x` is a text, and its tool takes a number. The full form of the diff says
 * what it means, and null is of every type.
 */
export function assertSameTypes({ replacements }: ModificationDiff, { request_payload }: PendingRequest): void {
  for (const { path, value } of replacements) {
    const was = valueAt(request_payload, path);
    // What is not there, and what is no scalar, is refused by the review service with its own words.
    if (was === undefined || was === null || value === null || typeof was === 'object' || typeof was === typeof value)
      continue;
    throw new CliError(
      `${pathText(path)} is ${JSON.stringify(was)}, a ${typeof was}, and ${JSON.stringify(value)} is a ${typeof value}; nothing was decided. To change its type, give the whole diff in a file (npx gate decide --help)`,
      2,
    );
  }
}
