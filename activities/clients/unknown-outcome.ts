import type { UpstreamOutcome } from '../../domain/pipeline/upstream.js';

/** The other end did not answer within the time that it had. */
export class TimedOut extends Error {
  constructor() {
    super('the request timed out');
  }
}

/** The outcome of a request that left and met no answer that can be read. `error` is what ended the waiting, if anything did. */
export const unknownOutcome = (reason: string, error?: unknown): UpstreamOutcome & { kind: 'unknown' } => ({
  kind: 'unknown',
  cause: error instanceof TimedOut ? 'timeout' : 'invalid_answer',
  reason,
});
