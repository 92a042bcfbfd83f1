import { setTimeout as sleep } from 'node:timers/promises';
import { GateError } from '../domain/errors.js';

/** How long a step goes on asking a store or a service that fails: a restart of Postgres, or a file that somebody else holds. */
export const INSIST_MS = 4_000;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 500;

/**
 * Does the work again while it fails, for at most four seconds and not longer than `forMs`. Only for what may be done twice: readings, and
 * transitions that compare and set. A refusal (4xx) is an answer. Throws the last error.
 */
export async function insist<Result>(
  work: () => Promise<Result>,
  { forMs = INSIST_MS, signal }: { readonly forMs?: number; readonly signal?: AbortSignal | undefined } = {},
): Promise<Result> {
  const ends = performance.now() + Math.min(forMs, INSIST_MS);
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
    try {
      return await work();
    } catch (error) {
      const refused = error instanceof GateError && error.status < 500;
      if (refused || signal?.aborted || performance.now() + waitMs > ends) throw error;
      await sleep(waitMs);
    }
  }
}
