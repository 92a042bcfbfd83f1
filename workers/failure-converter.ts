import { DefaultFailureConverter } from '@temporalio/common';

/** Failure texts can quote a request, so they are encrypted like every payload. Loaded by path, by client and worker. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
