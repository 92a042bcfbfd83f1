import { z } from 'zod';
import { reviewStatus } from './review.js';

/** What a link or a button of a card does with a call. A change of arguments needs to be seen whole, so none carries `modify`. */
export const linkedAction = z.enum(['approve', 'deny']);
export type LinkedAction = z.infer<typeof linkedAction>;

/** A link to a decision. `url` leads to the console, where one is set. */
export const decisionLink = z.strictObject({
  token: z.string(),
  action: linkedAction,
  pending_id: z.uuid(),
  expires_at: z.iso.datetime(),
  url: z.string().optional(),
});

/** The body of `POST /decision-link/verify`. */
export const verifyDecisionLink = z.strictObject({ token: z.string().max(512) });

/**
 * What a link leads to. Only `ok` is valid. `gone`: there is no such row for this caller. `not_pending`: the row is settled, so a link that was
 * used once leads nowhere.
 */
export const verifiedDecisionLink = z.strictObject({
  valid: z.boolean(),
  reason: z.enum(['ok', 'expired', 'invalid', 'not_pending', 'gone']),
  pending_id: z.uuid().optional(),
  action: linkedAction.optional(),
  pending: z
    .strictObject({
      agent_id: z.string(),
      method: z.string(),
      tool: z.string().nullable(),
      risk_summary: z.string(),
      status: reviewStatus,
      correlation_id: z.uuid(),
      tenant: z.string(),
    })
    .optional(),
});
export type VerifiedDecisionLink = z.infer<typeof verifiedDecisionLink>;
