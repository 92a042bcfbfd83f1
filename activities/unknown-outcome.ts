import type { UnknownCause } from '../contracts/call.js';
import type { UpstreamOutcome } from '../domain/upstream/upstream.js';

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

/**
 * Whether a status may be the word of somebody before the upstream, who sent the request on and has no answer to it: 502, 503 and 504 (RFC
 * 9110, section 15.6), and all above that no standard knows, which content networks and proxies made for the same. 503 is as often said for
 * a connection that broke in the middle, or a limit of time, as where nothing runs. The upstream may have acted.
 */
export const isOfGateway = (status: number): boolean => (status >= 502 && status <= 504) || status >= 512;

/** The outcome of a request that such a gateway answered for. */
export const unknownBehind = (status: number): UpstreamOutcome & { kind: 'unknown' } => ({
  ...unknownOutcome(
    `HTTP ${status} without an answer to the call: a gateway may have said it, and the upstream may have acted`,
  ),
  status,
});
