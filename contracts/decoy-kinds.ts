import { z } from 'zod';

export const decoyKind = z.enum(['tool', 'value']);
/** What happens to an agent that touches a decoy, beside its denial. */
export const decoyAction = z.enum(['suspend', 'force_hil', 'none']);
export type DecoyKind = z.infer<typeof decoyKind>;
export type DecoyAction = z.infer<typeof decoyAction>;
