import { z } from 'zod';

export const chat = z.enum(['slack', 'teams']);
export type Chat = z.infer<typeof chat>;

const userId = z.string().regex(/^[A-Za-z0-9:_.-]{1,128}$/, 'is not the id of a user of a chat');

/** The body of `POST /identities/upsert`. An account that is absent stays as it is. */
export const chatLinkRequest = z
  .strictObject({
    oidc_sub: z.string().min(1).max(256),
    slack_user_id: userId.optional(),
    teams_user_id: userId.optional(),
  })
  .refine(
    ({ slack_user_id, teams_user_id }) => slack_user_id !== undefined || teams_user_id !== undefined,
    'names no account to link',
  );

/** Which accounts of chats are one person's. */
export const chatLink = z.strictObject({
  oidc_sub: z.string(),
  slack_user_id: z.string().nullable(),
  teams_user_id: z.string().nullable(),
  linked_at: z.string(),
  /** When the person last clicked in a chat; null before. */
  last_verified: z.string().nullable(),
});
export type ChatLink = z.infer<typeof chatLink>;

/** What of Slack's interaction payload is read (https://api.slack.com/reference/interaction-payloads/block-actions). */
export const slackInteraction = z.looseObject({
  type: z.string(),
  user: z.looseObject({ id: userId }),
  actions: z.array(z.looseObject({ action_id: z.string().max(256) })).max(25),
});

/** What a bot passes on of a click on an adaptive card. `timestamp` is when, and `user` who clicked. */
export const teamsClick = z.strictObject({
  action: z.enum(['approve', 'deny']),
  pending_id: z.uuid(),
  user: userId,
  timestamp: z.iso.datetime({ offset: true }),
});
