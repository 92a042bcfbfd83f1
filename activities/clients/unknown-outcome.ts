import type { UnknownCause, UpstreamOutcome } from '../../domain/pipeline/upstream.js';

/** The other end did not answer within the time that it had. */
export class TimedOut extends Error {
  constructor() {
    super('the request timed out');
  }
}

/** Whoever waited for the answer stopped waiting. */
export class Cancelled extends Error {
  constructor() {
    super('nobody waits for the answer any more');
  }
}

const causeOf = (error: unknown): UnknownCause => {
  if (error instanceof TimedOut) return 'timeout';
  return error instanceof Cancelled ? 'cancelled' : 'invalid_answer';
};

/** The outcome of a request that left and met no answer that can be read. `error` is what ended the waiting, if anything did. */
export const unknownOutcome = (reason: string, error?: unknown): UpstreamOutcome & { kind: 'unknown' } => ({
  kind: 'unknown',
  cause: causeOf(error),
  reason,
});
