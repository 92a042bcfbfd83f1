import type { ErrorCodeName } from '../../contracts/error-codes.js';

/** The workflow's type. Under another name the callbacks that are open would find no code to go on with. */
export const CALLBACK = 'callback';

/** In the memo of a callback: the call whose end it tells. */
export const OF_CALL = 'of_call';

/** Types of failures that no further attempt mends. */
export const FINAL_FAILURES = ['callback_not_allowed'] as const satisfies readonly ErrorCodeName[];
