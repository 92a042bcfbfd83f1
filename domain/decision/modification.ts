import { BATCH_METHOD } from '../../contracts/call-methods.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { Modification, ModificationDiff } from '../../contracts/review.js';
import { canonicalDigest } from '../crypto/digest.js';
import { pathText } from './argument-path.js';

/** Which rule a modification breaks (docs/architecture/reviews.md#modify). */
export const MODIFICATION_FAULTS = [
  'no_arguments',
  'missing_path',
  'array_on_path',
  'not_a_scalar',
  'duplicate_path',
  'no_change',
] as const;
export type ModificationFault = (typeof MODIFICATION_FAULTS)[number];

/** A modification that does not fit the request. `path` names the replacement, as its keys joined with dots. */
export class ModificationRefused extends Error {
  override readonly name = 'ModificationRefused';
  constructor(
    readonly fault: ModificationFault,
    readonly path: string,
  ) {
    super(path === '' ? fault : `${fault}: ${path}`);
  }
}

/**
 * The request with the replaced arguments; the request itself is not changed. Only an existing scalar below `params.arguments` is replaced:
 * nothing is added or removed, no list is entered, and no two replacements name one place. In a batch a path leads through
 * `calls`, the place of a call and its `arguments`, and to nothing else. Throws ModificationRefused.
 */
export function modified(body: JsonObject, { replacements }: ModificationDiff): JsonObject {
  const copy = structuredClone(body);
  const { whole, isBatch } = argumentsOf(copy);
  if (!whole) throw new ModificationRefused('no_arguments', '');
  const met = new Set<string>();
  for (const { path, value } of replacements) {
    const name = pathText(path);
    const key = JSON.stringify(path);
    if (met.has(key)) throw new ModificationRefused('duplicate_path', name);
    met.add(key);
    const [root, within] = isBatch ? inBatch(whole, path) : [whole, path];
    if (!root) throw new ModificationRefused('missing_path', name);
    const leaf = within.at(-1) as string;
    let place: JsonObject = root;
    for (const segment of within.slice(0, -1)) {
      if (Array.isArray(own(place, segment))) throw new ModificationRefused('array_on_path', name);
      const next = objectIn(place, segment);
      if (!next) throw new ModificationRefused('missing_path', name);
      place = next;
    }
    const was = own(place, leaf);
    if (was === undefined) throw new ModificationRefused('missing_path', name);
    if (was !== null && typeof was === 'object') throw new ModificationRefused('not_a_scalar', name);
    if (was === value) throw new ModificationRefused('no_change', name);
    place[leaf] = value;
  }
  return copy;
}

/** What a path of a diff leads to; `undefined` where nothing is there. */
export function valueAt(body: JsonObject, path: readonly string[]): Json | undefined {
  const { whole, isBatch } = argumentsOf(body);
  const [root, within] = whole && isBatch ? inBatch(whole, path) : [whole, path];
  let value: Json | undefined = root;
  for (const key of within)
    value =
      value !== undefined && value !== null && typeof value === 'object' && !Array.isArray(value)
        ? own(value, key)
        : undefined;
  return value;
}

/** The same path from the request itself on. */
export const pathInRequest = (body: JsonObject, path: readonly string[]): readonly string[] =>
  body['method'] === BATCH_METHOD && !objectIn(objectIn(body, 'params') ?? {}, 'arguments')
    ? ['params', ...path]
    : ['params', 'arguments', ...path];

/** The object below which arguments are replaced: of a batch, in either of its forms, the batch itself. */
function argumentsOf(body: JsonObject): { readonly whole: JsonObject | undefined; readonly isBatch: boolean } {
  const params = objectIn(body, 'params');
  const named = params && objectIn(params, 'arguments');
  const isBatch = body['method'] === BATCH_METHOD;
  return { whole: isBatch ? (named ?? params) : named, isBatch };
}

/**
 * The one form of a diff: its replacements in the order of their paths, and 0 for -0. Two diffs that change the same are equal in it, so that a
 * repeat of a decision is known as one, and row, record and ledger say the same. What it makes of a request is the same.
 */
export function canonicalDiff({ contract, replacements }: ModificationDiff): ModificationDiff {
  const keyed = replacements.map(({ path, value }) => ({
    key: JSON.stringify(path),
    replacement: { path, value: value === 0 ? 0 : value },
  }));
  const inOrder = keyed.toSorted((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));
  return { contract, replacements: inOrder.map(({ replacement }) => replacement) };
}

/** The new values in words: `amount = 20, limits.max = 5`. As they were written, so whoever shows them escapes them. */
export const changesTold = ({ replacements }: ModificationDiff): string =>
  replacements.map(({ path, value }) => `${pathText(path)} = ${JSON.stringify(value)}`).join(', ');

/** The request that a signed change makes of this one; `null` when it does not fit, or makes another one than was signed. */
export function changedBody(body: JsonObject, { diff, reviewed_digest }: Modification): JsonObject | null {
  try {
    const candidate = modified(body, diff);
    return canonicalDigest(candidate) === reviewed_digest ? candidate : null;
  } catch (error) {
    if (error instanceof ModificationRefused) return null;
    throw error;
  }
}

/** The arguments of the call of a batch that a path names, and what of the path leads on from there. */
function inBatch(batch: JsonObject, path: readonly string[]): readonly [JsonObject | undefined, readonly string[]] {
  if (!isInBatchCall(path)) return [undefined, path];
  const calls = own(batch, 'calls');
  const call = Array.isArray(calls) ? calls[Number(path[1])] : undefined;
  const given =
    call !== null && typeof call === 'object' && !Array.isArray(call) ? objectIn(call, 'arguments') : undefined;
  return [given, path.slice(3)];
}

/** Whether a path leads to an argument of a call of a batch: `calls.0.arguments.amount`. */
export const isInBatchCall = (path: readonly string[]): boolean =>
  path.length > 3 && path[0] === 'calls' && /^(?:0|[1-9]\d{0,2})$/.test(path[1] ?? '') && path[2] === 'arguments';

const own = (object: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;

function objectIn(object: JsonObject, key: string): JsonObject | undefined {
  const value = own(object, key);
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined;
}
