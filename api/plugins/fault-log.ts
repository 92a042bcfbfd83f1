import { ERROR_CODES } from '../../contracts/error-codes.js';
import { errorText, type GateError } from '../../domain/errors.js';

/** The part of a service's log that is written to here. */
interface Log {
  error(fields: object, text: string): void;
  debug(fields: object, text: string): void;
}

/** Whoever meets the same fault after so long a silence meets another outage. */
const OVER_AFTER_MS = 60_000;
/** Reasons that are remembered; there are a few, unless they name what differs from call to call. */
const REMEMBERED = 100;

/**
 * The log of what a service refuses because something is wrong. What may be asked again after a wait is an outage: one line for each, without
 * a stack, at its first request; the other requests are logged at `debug`. Everything else is a fault of its own, with its stack.
 */
export function createFaultLog(now: () => number = () => performance.now()) {
  const seen = new Map<string, number>();
  return (log: Log, { code, message }: GateError, thrown: Error, correlationId: string): void => {
    const each = { err: thrown, correlation_id: correlationId };
    if (ERROR_CODES[code].retry !== 'after_wait') return log.error(each, code);
    const reason = thrown.cause === undefined ? message : errorText(thrown.cause);
    const outage = `${code} ${reason}`;
    const lastMs = seen.get(outage);
    if (seen.size >= REMEMBERED) seen.clear();
    seen.set(outage, now());
    if (lastMs !== undefined && now() - lastMs < OVER_AFTER_MS) return log.debug(each, code);
    log.error({ correlation_id: correlationId, code, reason }, 'refused; more of the same are told at level debug');
  };
}
