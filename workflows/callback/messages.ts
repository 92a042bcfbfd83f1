import type { ErrorCodeName } from '../../contracts/error-codes.js';

/** The workflow's type. Under another name, open callbacks would find no code to continue with. */
export const CALLBACK = 'callback';

/** In the memo of a callback: the call whose end it reports. */
export const OF_CALL = 'of_call';

/** Types of failures for which another attempt is useless. */
export const FINAL_FAILURES = ['callback_not_allowed'] as const satisfies readonly ErrorCodeName[];
