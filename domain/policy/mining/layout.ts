import type { Json, JsonObject } from '../../../contracts/json.js';
import type { ApprovedPart } from '../../../contracts/policy-mining.js';
import { canonicalJson } from '../../crypto/digest.js';

/** The arguments of a call as mining compares them: the names of every object in them, and each value that is no object, by where it stands. */
export interface Layout {
  /** Calls with other names have another key. */
  readonly key: string;
  readonly objects: ApprovedPart['objects'];
  /** By JSON pointer, in the order of the pointers. A list is one value. */
  readonly values: ReadonlyMap<string, Json>;
}

const MOST = { depth: 6, values: 64, characters: 1_024 };

/** Null for arguments of which no short rule can say what they are. */
export function layoutOf(args: JsonObject): Layout | null {
  const objects: { pointer: string; names: string[] }[] = [];
  const values: [string, Json][] = [];
  const open: { readonly pointer: string; readonly value: JsonObject; readonly depth: number }[] = [
    { pointer: '', value: args, depth: 1 },
  ];
  for (let one = open.shift(); one !== undefined; one = open.shift()) {
    const names = Object.keys(one.value).toSorted();
    objects.push({ pointer: one.pointer, names });
    if (one.depth > MOST.depth || objects.length + values.length + names.length > MOST.values) return null;
    for (const name of names) {
      const value = one.value[name] as Json;
      if (!name.isWellFormed() || name.length > MOST.characters) return null;
      const pointer = `${one.pointer}/${escaped(name)}`;
      if (isObject(value)) open.push({ pointer, value, depth: one.depth + 1 });
      else if (isPlain(value)) values.push([pointer, value]);
      else return null;
    }
  }
  values.sort(([one], [other]) => (one < other ? -1 : 1));
  return { key: canonicalJson(objects), objects, values: new Map(values) };
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
/** The names that a pointer goes through (RFC 6901). */
export const namesOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Numbers that two parsers read alike, and texts that are short enough to be shown to who decides. */
function isPlain(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  if (typeof value === 'string') return value.length <= MOST.characters && value.isWellFormed();
  if (!Array.isArray(value)) return true;
  const text = JSON.stringify(value);
  return text.length <= MOST.characters && text.isWellFormed() && !UNSURE_NUMBER.test(text);
}
/** In a list of JSON: a number with an exponent or many digits. */
const UNSURE_NUMBER = /\d[eE]|\d{16}/;
