import type { Json, JsonObject } from '../../contracts/json.js';
import type { Checkpoint } from '../in-place.js';
import { unpacked } from '../packed-text.js';

/** How many of the names on the way to a value find it, the nearest ones: a tool's argument is no deeper below its name. */
const NAMES = 4;
/** JSON in a text, in a text, in a text. */
const PACKED = 3;
/** More than the texts of the largest request have, unpacked that often. */
const PACKED_CHARACTERS = 8_388_608;
const PIECE = 2_048;

/** The values of the arguments by the plain names at or above them; those without any name under the empty one. */
export type Fields = Readonly<Record<string, readonly Json[]>>;

/** A name without its spelling: letter case, separators and a plural "s"; `plain` of policies/gate/lib/arguments.rego. */
export const plainName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[_\-. :/]/g, '')
    .replace(/s$/, '');

/**
 * What rules find values of arguments by, wherever a call puts them: nested, listed, or packed as JSON into a text. Each value once per name; the
 * result is about as large as the arguments. Throws what `checkpoint` throws.
 */
export function readFields(given: JsonObject | undefined, checkpoint: Checkpoint): Fields {
  const found = new Map<string, Set<Json>>();
  const plain = new Map<string, string>();
  const nameOf = (key: string): string => {
    const known = plain.get(key) ?? plainName(key);
    plain.set(key, known);
    return known;
  };
  let left = PACKED_CHARACTERS;
  const opened = Array.from({ length: PACKED }, () => new Set<string>());
  let read = 0;
  const note = (names: readonly string[], value: Json): void => {
    for (const name of names.length === 0 ? [''] : names) {
      const values = found.get(name) ?? new Set<Json>();
      values.add(value);
      found.set(name, values);
    }
  };
  // A stack of its own: arguments may be nested deeper than calls of functions.
  const waiting: { readonly value: Json; readonly names: readonly string[]; readonly packed: number }[] = [
    { value: given ?? {}, names: [], packed: 0 },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    read += 1;
    if (read % PIECE === 0) checkpoint();
    const { value, names, packed } = next;
    if (Array.isArray(value)) for (const member of value) waiting.push({ value: member, names, packed });
    else if (typeof value === 'object' && value !== null)
      for (const [key, member] of Object.entries(value))
        waiting.push({ value: member, names: [...names.slice(1 - NAMES), nameOf(key)], packed });
    else {
      note(names, value);
      if (typeof value !== 'string' || packed >= PACKED || value.length > left) continue;
      // What a text says in two ways holds the same texts twice.
      if (opened[packed]?.has(value)) continue;
      opened[packed]?.add(value);
      left -= value.length;
      for (const document of unpacked(value)?.documents ?? [])
        waiting.push({ value: document as Json, names: [], packed: packed + 1 });
    }
  }
  const fields = Object.create(null) as Record<string, Json[]>;
  for (const [name, values] of found) fields[name] = [...values];
  return fields;
}
