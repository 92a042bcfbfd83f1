import { ERROR_CODES, type ErrorCodeName } from '../contracts/error-codes.js';
import type { Json } from '../contracts/json.js';

/**
 * The one error Gate's own code throws on purpose: a stable code, the status it travels under, a sentence that says what to do
 * next, and fields that belong into the answer. `cause` stays inside the service.
 */
export class GateError extends Error {
  readonly code: ErrorCodeName;
  readonly status: number;
  readonly fields: Readonly<Record<string, Json>>;

  constructor(code: ErrorCodeName, detail?: string, options: { fields?: Record<string, Json>; cause?: unknown } = {}) {
    super(detail ?? ERROR_CODES[code].meaning, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GateError';
    this.code = code;
    this.status = ERROR_CODES[code].status;
    this.fields = options.fields ?? {};
  }
}

/** The text of whatever was thrown; never a stack. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What may be promised of a call whose answer did not come: its id is safe to ask, and may turn out to be used up. */
export const ASK_AGAIN =
  'ask again under the same id, which runs at most once; where it then is call_abandoned or attempt_not_begun nothing was executed and a new id is needed';
