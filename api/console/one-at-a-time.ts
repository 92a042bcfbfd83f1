import { GateError } from '../../domain/errors.js';

export type OneAtATime = <Value>(whose: string, work: () => Promise<Value>) => Promise<Value>;

/** Lets one piece of work of a kind run for each name, however many people ask. Throws `rate_limited` for another one meanwhile. */
export function oneAtATime(words: string): OneAtATime {
  const busy = new Set<string>();
  return async (whose, work) => {
    if (busy.has(whose)) throw new GateError('rate_limited', words, { fields: { retry_after_secs: 10 } });
    busy.add(whose);
    try {
      return await work();
    } finally {
      busy.delete(whose);
    }
  };
}
