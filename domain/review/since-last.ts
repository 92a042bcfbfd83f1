import type { Json, JsonObject } from '../../contracts/json.js';
import type { ArgumentChange, PendingRequest, ShownValue, SinceLastCall } from '../../contracts/review.js';
import { canonicalDigest, digestOf } from '../crypto/digest.js';
import { argumentsOfRead } from '../mcp/read-methods.js';
import { foreignText } from '../text.js';

/** Larger requests are not compared: opening two of them for every look would cost more than it tells. */
export const MAX_COMPARED_BYTES = 262_144;
/** Changes that are listed; the others are counted. */
const MAX_CHANGES = 16;
const MAX_VALUE = 160;
const MAX_PATH = 200;

/** What a tool would get of this request. A tool that is called without arguments gets none, whatever else stands in the call. */
export function argumentsOf({ method, params = null }: JsonObject): Json {
  const read = argumentsOfRead(method, params);
  if (read) return read;
  const named =
    params !== null && typeof params === 'object' && !Array.isArray(params) ? params['arguments'] : undefined;
  return named ?? (method === 'tools/call' ? {} : params);
}

/**
 * What differs between the arguments of two calls, by JSON Pointer (RFC 6901). Lists are compared place by place. Both are strict JSON, so no
 * deeper than that allows.
 */
export function changesBetween(
  before: Json,
  after: Json,
): { readonly changes: ArgumentChange[]; readonly changes_omitted: number } {
  const changes: ArgumentChange[] = [];
  let changes_omitted = 0;
  const add = (path: string, kind: ArgumentChange['kind'], was: Json | undefined, is: Json | undefined): void => {
    if (changes.length === MAX_CHANGES) changes_omitted += 1;
    else
      changes.push({
        path: shortened(path, MAX_PATH),
        kind,
        ...(was !== undefined && { before: shown(was) }),
        ...(is !== undefined && { after: shown(is) }),
      });
  };
  const compare = (path: string, was: Json | undefined, is: Json | undefined): void => {
    if (was === is) return;
    if (was === undefined) return add(path, 'added', undefined, is);
    if (is === undefined) return add(path, 'removed', was, undefined);
    if (isObject(was) && isObject(is)) {
      for (const name of new Set([...Object.keys(is), ...Object.keys(was)]))
        compare(`${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, own(was, name), own(is, name));
    } else if (Array.isArray(was) && Array.isArray(is)) {
      for (let at = 0; at < Math.max(was.length, is.length); at += 1) compare(`${path}/${at}`, was[at], is[at]);
    } else add(path, 'changed', was, is);
  };
  compare('', before, after);
  return { changes, changes_omitted };
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const own = (value: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(value, name) ? value[name] : undefined;

/** A long value by its beginning and its digest, so that two of them with the same beginning are told apart. */
function shown(value: Json): ShownValue {
  const json = JSON.stringify(value);
  return json.length <= MAX_VALUE ? { json } : { json: foreignText(json, MAX_VALUE), ...sizeOf(value, json) };
}
/** Of a text its own, as the arguments beside it are told. */
const sizeOf = (value: Json, json: string) =>
  typeof value === 'string'
    ? { characters: value.length, sha256: digestOf(value) }
    : { characters: json.length, sha256: canonicalDigest(value) };
const shortened = (path: string, units: number): string =>
  path.length <= units ? path : `${foreignText(path, units)}… ${canonicalDigest(path)}`;

/** What the arguments of a call have other than those of an earlier one, as far as both rows show their requests. */
export function comparedWith(
  earlier: PendingRequest,
  row: PendingRequest,
  tooLarge: boolean,
): Pick<SinceLastCall, 'arguments' | 'changes' | 'changes_omitted'> {
  const shows = [earlier, row].map(({ retention }) => retention['payload_availability']);
  const found = (told: SinceLastCall['arguments']) => ({ arguments: told, changes: [], changes_omitted: 0 });
  if (shows.includes('purged') || shows.includes('minimized')) return found('purged');
  if (shows.includes('unavailable')) return found('unavailable');
  if (tooLarge) return found('too_large');
  const compared = changesBetween(argumentsOf(earlier.request_payload), argumentsOf(row.request_payload));
  return compared.changes.length === 0 ? found('same') : { arguments: 'changed', ...compared };
}

/**
 * The same in words, one line each: first which call that was, then the differences. As an agent wrote them, so whoever shows them escapes them.
 */
export function sinceLastTold(last: SinceLastCall | null): string[] {
  if (last === null) return [NONE_SINCE];
  return [`${last.created_at}, ${endedTold(last)} (${last.pending_id}): ${comparedTold(last)}`, ...changesTold(last)];
}
export const NONE_SINCE = "none of this agent's last calls that waited was of this tool";

export const endedTold = ({ status, modified, decided_by }: SinceLastCall): string =>
  status === 'pending'
    ? 'still waits'
    : `${status}${modified ? ' with changes' : ''}${decided_by === null ? '' : ` by ${decided_by}`}`;

export const comparedTold = (last: SinceLastCall): string => COMPARED[last.arguments];

export const changesTold = ({ changes, changes_omitted }: SinceLastCall): string[] => [
  ...changes.map(({ path, kind, before, after }) => {
    const where = `${kind} ${path === '' ? 'all' : path}`;
    // Who only looks on is told no value.
    const values = [before, after].flatMap((value) => (value ? valueTold(value) : []));
    return values.length === 0 ? where : `${where}: ${values.join(' -> ')}`;
  }),
  ...(changes_omitted > 0 ? [`and ${changes_omitted} more differences`] : []),
];

const COMPARED: Readonly<Record<SinceLastCall['arguments'], string>> = {
  same: 'asked with the same arguments',
  changed: 'asked with other arguments',
  purged: 'its arguments are not kept any more',
  unavailable: 'its arguments cannot be opened',
  too_large: 'too large to be compared here',
};
const valueTold = ({ json, characters, sha256 }: ShownValue): string =>
  sha256 === undefined
    ? json
    : `${json}… (${characters?.toLocaleString('en')} characters, ${sha256.replace('sha256:', 'sha256 ')})`;
