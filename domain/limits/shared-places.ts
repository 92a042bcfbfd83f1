import { GateError } from '../errors.js';

/** Somebody's part of the places: whose it is, as a refusal names it, and how many there are. */
export type Share = readonly [whose: string, most: number];

const RETRY_AFTER_SECS = 15;

/**
 * Places of open streams, each of which counts in several shares. What comes back gives the place back; it is called once. `rate_limited` where
 * a share is used up, naming it; a refused stream counts in none.
 */
export function createSharedPlaces(): (shares: readonly Share[]) => () => void {
  const held = new Map<string, number>();
  const add = (whose: string, by: number): void => {
    const count = (held.get(whose) ?? 0) + by;
    if (count === 0) held.delete(whose);
    else held.set(whose, count);
  };
  return (shares) => {
    for (const [whose, most] of shares)
      if ((held.get(whose) ?? 0) >= most)
        throw new GateError('rate_limited', `${most} streams of ${whose} are open`, {
          fields: { retry_after_secs: RETRY_AFTER_SECS },
        });
    for (const [whose] of shares) add(whose, 1);
    return () => {
      for (const [whose] of shares) add(whose, -1);
    };
  };
}
