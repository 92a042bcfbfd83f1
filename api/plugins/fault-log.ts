import { ERROR_CODES } from '../../contracts/error-codes.js';
import { errorText, type GateError } from '../../domain/errors.js';

/** The part of a service's log that is used here. */
interface Log {
  error(fields: object, text: string): void;
  debug(fields: object, text: string): void;
}

/** After this long without the same fault, its next occurrence counts as a new outage. */
const OVER_AFTER_MS = 60_000;
/** The number of reasons that are remembered. There are few, unless they contain text that differs from call to call. */
const REMEMBERED = 100;

/**
 * The log of refusals that are caused by a fault. A fault that may be retried after a wait is an outage: one line without a stack at its
 * first request, and the other requests at `debug`. Any other fault is logged each time, with its stack.
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
