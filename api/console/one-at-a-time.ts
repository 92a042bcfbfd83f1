import { GateError } from '../../domain/errors.js';

export type OneAtATime = <Value>(whose: string, work: () => Promise<Value>) => Promise<Value>;

/** Lets one piece of work of a kind run for each name, however many people ask. Throws `rate_limited` for another one meanwhile. */
export function oneAtATime(words: string): OneAtATime {
  const taken = placesFor(1, words);
  return async (whose, work) => {
    const free = taken(whose);
    try {
      return await work();
    } finally {
      free();
    }
  };
}

/** Gives each name so many places at most, and returns how one is given back. Throws `rate_limited` for one more. */
export function placesFor(most: number, words: string): (whose: string) => () => void {
  const held = new Map<string, Set<object>>();
  return (whose) => {
    const places = held.get(whose) ?? new Set();
    if (places.size >= most) throw new GateError('rate_limited', words, { fields: { retry_after_secs: 10 } });
    const place = {};
    held.set(whose, places.add(place));
    return () => {
      if (places.delete(place) && places.size === 0) held.delete(whose);
    };
  };
}
