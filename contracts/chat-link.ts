import { z } from 'zod';
import { linkedAction } from './decision-link.js';
import type { DecisionSurface } from './review.js';

export const chat = z.enum(['slack', 'teams']);
export type Chat = z.infer<typeof chat>;

/** The surface on which somebody decides in a chat. */
export const cardOf = (of: Chat): Extract<DecisionSurface, `${Chat}-card`> => `${of}-card`;

/** The id of a user of a chat. */
export const linkedUserId = z.string().regex(/^[A-Za-z0-9:_.-]{1,128}$/, 'is not the id of a user of a chat');

const OPERATOR = 'operator:';

/** The owner of the links of whoever decides under this name. */
export const linkOwnerOf = (subject: string): string => {
  let owner = subject;
  while (owner.startsWith(OPERATOR)) owner = owner.slice(OPERATOR.length);
  return owner;
};

/**
 * Who a link is of: an operator's name, or of anybody else the subject that decides (`oidc:…`). A person's links stand under one of them, also
 * where the operator is named as he decides: of those under another name nobody would see or take away any.
 */
export const linkOwner = z
  .string()
  .min(1)
  .max(300)
  .refine((name) => linkOwnerOf(name) !== '', 'names nobody')
  .transform(linkOwnerOf);

/** The body of `POST /identities/upsert`. An account that is absent stays as it is; a code names the account that it was shown to. */
export const chatLinkRequest = z
  .strictObject({
    oidc_sub: linkOwner,
    slack_user_id: linkedUserId.optional(),
    teams_user_id: linkedUserId.optional(),
    link_code: z.string().min(1).max(300).optional(),
  })
  .refine(
    ({ slack_user_id: slack, teams_user_id: teams, link_code: code }) =>
      (slack !== undefined || teams !== undefined) !== (code !== undefined),
    'names accounts to link, or has the code of one',
  );

/** The body of `POST /identities/removals`: whose account of which chat an administrator takes away. */
export const chatLinkRemoval = z.strictObject({ oidc_sub: linkOwner, chat });

/** Which account is nobody's any more, and by whom. */
export const chatLinkRemoved = z.strictObject({ oidc_sub: z.string(), chat, removed_by: z.string() });
export type ChatLinkRemoved = z.infer<typeof chatLinkRemoved>;

/** The answer to who takes an account of his own away; false where there was none. */
export const chatUnlinked = z.object({ cleared: z.boolean() });

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

/** Largest click that is read; a real one has a few thousand bytes, and the whole card in it. */
export const LARGEST_CLICK_BYTES = 65_536;

/** What of Slack's interaction payload is read (https://api.slack.com/reference/interaction-payloads/block-actions). */
export const slackInteraction = z.looseObject({
  type: z.string(),
  user: z.looseObject({ id: linkedUserId }),
  actions: z.array(z.looseObject({ action_id: z.string().max(256) })).max(25),
  /** Where the answer goes: Slack shows nothing of the one to the request itself. */
  response_url: z.string().max(2_048).optional(),
});

/** What a bot passes on of a click on an adaptive card. `timestamp` is when, and `user` who clicked. */
export const teamsClick = z.strictObject({
  action: linkedAction,
  pending_id: z.uuid(),
  action_digest: z.string().max(100).optional(),
  user: linkedUserId,
  timestamp: z.iso.datetime({ offset: true }),
});
