import { ERROR_CODES, type ErrorCodeName } from '../contracts/error-codes.js';
import type { Json } from '../contracts/json.js';

/**
 * The only error that Gate's own code throws on purpose: a stable code, the HTTP status for it, a sentence that says what to do next, and
 * fields for the answer. `cause` never leaves the service.
 */
export class GateError extends Error {
  readonly code: ErrorCodeName;
  readonly status: number;
  readonly fields: Readonly<Record<string, Json>>;
  /** The name of the service that said it, or of which it tells, where another one was asked. It is no part of an answer. */
  declare readonly service?: string;

  constructor(code: ErrorCodeName, detail?: string, options: { fields?: Record<string, Json>; cause?: unknown } = {}) {
    super(detail ?? ERROR_CODES[code].meaning, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GateError';
    this.code = code;
    this.status = ERROR_CODES[code].status;
    this.fields = options.fields ?? {};
  }

  /** The same error, as one of that service, unless it is of another one already. */
  of(service: string): this {
    return this.service === undefined ? Object.assign(this, { service }) : this;
  }
}

/** Whether what was asked for may have been done all the same: an answer was lost, or a store failed after it was sent on. */
export const isInDoubt = ({ code, fields }: GateError): boolean =>
  code === 'orchestrator_unavailable' || fields['in_doubt'] === true;

/** Says which role was needed and which one the person has. */
export const roleTooLow = (required: string, actual: string): GateError =>
  new GateError('role_too_low', `This needs the role ${required}, and yours is ${actual}. Nothing was done.`, {
    fields: { required, actual },
  });

/** The message of anything thrown, never a stack. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What a caller may rely on when no answer came: asking again under the same id is safe, but the id may be used up. */
export const ASK_AGAIN =
  'ask again under the same id, which runs at most once; where it then is call_abandoned or attempt_not_begun nothing was executed and a new id is needed';
