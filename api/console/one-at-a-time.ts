import { GateError } from '../../domain/errors.js';

type Words = string | ((goesOnSecs: number) => string);
export type OneAtATime = <Value>(whose: string, work: () => Promise<Value>) => Promise<Value>;

/**
 * Lets one piece of work of a kind run for each name, however many people ask. Throws `rate_limited` for another one meanwhile, in words that
 * may say for how many seconds the first one goes on.
 */
export function oneAtATime(words: Words, clock = () => performance.now()): OneAtATime {
  const taken = placesFor(1, words, clock);
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
export function placesFor(most: number, words: Words, clock = () => performance.now()): (whose: string) => () => void {
  const held = new Map<string, Set<{ readonly sinceMs: number }>>();
  return (whose) => {
    const places = held.get(whose) ?? new Set();
    const [oldest] = places;
    if (oldest && places.size >= most) {
      const told = typeof words === 'string' ? words : words(Math.round((clock() - oldest.sinceMs) / 1_000));
      throw new GateError('rate_limited', told, { fields: { retry_after_secs: 10 } });
    }
    const place = { sinceMs: clock() };
    held.set(whose, places.add(place));
    return () => {
      if (places.delete(place) && places.size === 0) held.delete(whose);
    };
  };
}
