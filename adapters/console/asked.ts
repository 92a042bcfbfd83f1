import { errorText, GateError } from '../../domain/errors.js';
import { within } from '../../domain/within.js';

/** How long the console's own store may say nothing. Every page begins with it, and its browser waits. */
export const ANSWER_MS = 5_000;

/** Asks the console's own store. A fault of it, or no answer in time, is `store_unavailable`, by the name of what was asked for. */
export const askedOf =
  (what: string, answerMs = ANSWER_MS) =>
  async <Value>(ask: () => Promise<Value>): Promise<Value> => {
    const late = () =>
      new Error(
        `their store did not answer within ${answerMs / 1000} s; ask again in a moment, and look at what was done`,
      );
    try {
      return await within(answerMs, ask(), late);
    } catch (error) {
      throw new GateError('store_unavailable', `${what}: ${errorText(error)}`, { cause: error });
    }
  };
