import { z } from 'zod';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';

/** The last row that a page looked at, in the order of the list. */
export interface Place {
  /** As the store gives it, which may be no time at all where somebody edited it. */
  readonly created_ms: number | string;
  readonly id: string;
}

const CURSOR_FORM = 'gate.review-cursor/1';
const CURSOR_USE = 'review-cursor';
// What stands for the time may be anything that somebody wrote into a file; the tag covers it.
const cursorText = z.tuple([z.union([z.number(), z.string()]), z.uuid(), z.string()]);

const messageOf = (list: readonly unknown[], { created_ms, id }: Place): string =>
  JSON.stringify([CURSOR_FORM, list, created_ms, id]);

/** A place in one list, as its reader keeps it. `list` is whose rows it has, which of them, and in what order. */
export function cursorOf(keys: KeyRing, list: readonly unknown[], place: Place): string {
  const tag = keys.authenticate(messageOf(list, place), CURSOR_USE);
  return Buffer.from(JSON.stringify([place.created_ms, place.id, tag])).toString('base64url');
}

/** The place. Throws `invalid_cursor` for every text that `cursorOf` did not return for the same list. */
export function placeOf(keys: KeyRing, list: readonly unknown[], cursor: string): Place {
  try {
    const [created_ms, id, tag] = cursorText.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    const place = { created_ms, id };
    if (keys.authentic(tag, messageOf(list, place), CURSOR_USE)) return place;
  } catch {
    // No cursor at all, or one of a key that is not here any more.
  }
  throw new GateError('invalid_cursor');
}
