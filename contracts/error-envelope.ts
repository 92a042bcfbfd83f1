import { z } from 'zod';
import { ERROR_CODES, type ErrorCodeName } from './error-codes.js';

/**
 * What every refusal holds (docs/architecture/requests-and-answers.md#error-envelope). The sentence is `reason`, and `reasoning` from the
 * proxy; what else a code tells stands beside it.
 */
export const errorEnvelope = z.looseObject({
  error: z.enum(Object.keys(ERROR_CODES) as [ErrorCodeName, ...ErrorCodeName[]]),
  reason: z.string().optional(),
  reasoning: z.string().optional(),
  correlation_id: z.string(),
});
