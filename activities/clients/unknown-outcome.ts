import type { UnknownCause, UpstreamOutcome } from '../../domain/pipeline/upstream.js';

/** The other end did not answer in time. */
export class TimedOut extends Error {
  constructor() {
    super('the request timed out');
  }
}

/** The caller stopped waiting for the answer. */
export class Cancelled extends Error {
  constructor() {
    super('nobody waits for the answer any more');
  }
}

const causeOf = (error: unknown): UnknownCause => {
  if (error instanceof TimedOut) return 'timeout';
  return error instanceof Cancelled ? 'cancelled' : 'invalid_answer';
};

/** The outcome of a request that was sent and got no readable answer. `error` is what ended the wait, if anything did. */
export const unknownOutcome = (reason: string, error?: unknown): UpstreamOutcome & { kind: 'unknown' } => ({
  kind: 'unknown',
  cause: causeOf(error),
  reason,
});
