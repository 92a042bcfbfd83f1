import { holdsName, holdsValue, plain } from '../argument-names.js';
import { withoutAccents } from '../argument-values.js';
import { type Checkpoint, unlimited } from '../in-place.js';
import { skeletonsOf } from '../skeleton.js';
import { unpacked } from '../packed-text.js';

/** More say nothing that these do not: a null is among them. */
const LISTED = 64;
const LONGEST = 256;
/** Texts in texts, together: each level of packing doubles the escapes of its quotes, so there are few. */
const PACKED_CHARACTERS = 8_388_608;
const PIECE = 2_048;
const NOT_ASCII = /[^\0-\x7f]/;

/**
 * What the arguments say of the environment, under these names in any spelling, at every level, in pairs (`{"name": "env", "value": "prod"}`) and in JSON
 * that is packed in texts: each text once, with the letters that it is read as, and null where it is no text. Throws what `checkpoint` throws.
 */
export function readEnvironments(
  given: unknown,
  named: readonly string[],
  checkpoint: Checkpoint = unlimited,
): readonly (string | null)[] {
  const names = new Set(named.map(nameOf));
  const found = new Set<string | null>();
  const note = (value: unknown): void => {
    if (typeof value !== 'string' || value.length > LONGEST || found.size >= LISTED) found.add(null);
    else found.add(NOT_ASCII.test(value) ? skeletonsOf([value]).plain.trim() : value);
  };
  let left = PACKED_CHARACTERS;
  let read = 0;
  const opened = new Set<string>();
  // A stack of its own: arguments may be nested deeper than calls of functions.
  const waiting: unknown[] = [given];
  while (waiting.length > 0) {
    const value = waiting.pop();
    read += 1;
    if (read % PIECE === 0) checkpoint();
    if (typeof value === 'string') {
      if (value.length > left || opened.has(value)) continue;
      opened.add(value);
      left -= value.length;
      for (const document of unpacked(value)?.documents ?? []) waiting.push(document);
    } else if (Array.isArray(value)) for (const item of value as unknown[]) waiting.push(item);
    else if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value);
      const isPaired = members.some(
        ([key, text]) => holdsName(key) && typeof text === 'string' && names.has(nameOf(text)),
      );
      for (const [key, member] of members) {
        if (names.has(nameOf(key)) || (isPaired && holdsValue(key))) note(member);
        waiting.push(member);
      }
    }
  }
  return [...found];
}

const nameOf = (name: string): string => plain(withoutAccents(name)).replace(/s$/, '');
