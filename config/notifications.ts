import { z } from 'zod';
import { notificationMode, POOL_NAME } from '../contracts/notification.js';
import { parseStrictJson } from '../domain/mcp/strict-json.js';
import { type Config, csv, seconds, setting } from './env.js';
import { parsedBy } from './shared.js';

const address = z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' });
const secretText = z.string().min(16, 'must have at least 16 characters').optional();
/** The bytes of a secret of at least 16. */
function base64Secret(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text || bytes.length < 16) throw new Error('must be base64 of at least 16 bytes');
  return bytes;
}
const mailbox = /^[^\s@<>,;:"()[\]\\]{1,64}@[A-Za-z0-9.-]{1,253}$/;

const slackPlace = z.string().regex(/^[A-Z0-9]{1,32}$/, 'must be the id of a channel, such as C0123456789');
const MOST_POOLS = 16;
/** Whom an escalation is told beyond the channels of every call. */
const escalationPool = z
  .strictObject({
    slack: z.union([slackPlace, address]).optional(),
    teams: address.optional(),
    pagerduty: z.string().min(16, 'must have at least 16 characters').optional(),
    smtp: z.array(z.string().regex(mailbox, 'must be a mail address')).min(1).max(16).optional(),
  })
  .refine((pool) => Object.keys(pool).length > 0, 'has no channel');
const escalationPools = z
  .record(z.string().regex(POOL_NAME, 'is no name of a pool'), escalationPool)
  .refine((pools) => Object.keys(pools).length <= MOST_POOLS, `must be at most ${MOST_POOLS} pools`);
export type EscalationPool = z.infer<typeof escalationPool>;

/** The pools of a text of JSON. What is wrong is told without the text, which holds addresses that are keys. */
function poolsOf(text: string): ReadonlyMap<string, EscalationPool> {
  const read = escalationPools.safeParse(parseStrictJson(text));
  if (read.success) return new Map(Object.entries(read.data));
  throw new Error(read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
}

/**
 * Where people are told of calls that wait (docs/how-to/connect-a-chat.md). A channel without an address takes nothing.
 */
export const NOTIFICATION_SETTINGS = {
  notificationMode: setting(
    'GATE_HIL_NOTIFICATION_MODE',
    notificationMode.default('warn'),
    'disabled: nobody is told. warn: as far as channels are set. enforce: HIL does not start without one that is told of every call.',
  ),
  notificationTimeoutSeconds: setting(
    'GATE_HIL_NOTIFICATION_TIMEOUT_SECS',
    seconds(5, 1, 30),
    'How long one attempt to tell a channel may take.',
  ),
  notificationTenants: setting(
    'GATE_HIL_NOTIFICATION_TENANTS',
    csv.refine(
      (names) => names.every((name) => /^[A-Za-z0-9._-]{1,63}$/.test(name)),
      'must be tenant names separated by commas',
    ),
    'Only calls of these tenants are told of, separated by commas; empty: all.',
  ),
  slackWebhookUrl: setting(
    'GATE_HIL_SLACK_WEBHOOK_URL',
    address.optional(),
    "Slack: an incoming webhook. It takes new messages only; with a bot's token one card is changed instead.",
    { secret: true },
  ),
  slackBotToken: setting(
    'GATE_HIL_SLACK_BOT_TOKEN',
    secretText,
    'Slack: token of a bot that may write in the channel.',
    {
      secret: true,
    },
  ),
  slackChannel: setting('GATE_HIL_SLACK_CHANNEL', slackPlace.optional(), "Slack: the id of the bot's channel."),
  slackApiUrl: setting('GATE_HIL_SLACK_API_URL', address.default('https://slack.com/api'), 'Slack: where its API is.'),
  slackSigningSecret: setting(
    'GATE_HIL_SLACK_SIGNING_SECRET',
    secretText,
    "Slack: the app's signing secret. With it, cards have buttons that decide, and signed clicks are accepted.",
    { secret: true },
  ),
  teamsWebhookUrl: setting(
    'GATE_HIL_TEAMS_WEBHOOK_URL',
    address.optional(),
    'Teams: a webhook that takes adaptive cards for a channel.',
    { secret: true },
  ),
  teamsSigningSecret: setting(
    'GATE_HIL_TEAMS_SIGNING_SECRET',
    parsedBy(base64Secret).optional(),
    'Teams: the security token, in base64, with which a bot signs clicks. With it, cards have buttons that decide.',
    { secret: true },
  ),
  pagerDutyRoutingKey: setting(
    'GATE_HIL_PAGERDUTY_ROUTING_KEY',
    secretText,
    'PagerDuty: integration key of a service (Events API v2).',
    { secret: true },
  ),
  pagerDutyUrl: setting(
    'GATE_HIL_PAGERDUTY_URL',
    address.default('https://events.pagerduty.com/v2/enqueue'),
    'PagerDuty: where events go.',
  ),
  webhookUrl: setting(
    'GATE_HIL_WEBHOOK_URL',
    address.optional(),
    'Any receiver of gate.hil-notification-lifecycle/v1 as JSON.',
    { secret: true },
  ),
  webhookBearer: setting(
    'GATE_HIL_WEBHOOK_BEARER_TOKEN',
    z.string().min(32, 'must have at least 32 characters').optional(),
    'Sent to it as Authorization: Bearer.',
    { secret: true },
  ),
  smtpUrl: setting(
    'GATE_HIL_SMTP_URL',
    z.url({ protocol: /^smtps?$/, message: 'must be an smtp(s):// URL' }).optional(),
    'Mail: the server, as smtp://user:password@host:587 or smtps://host. A password is only sent over TLS.',
    { secret: true },
  ),
  smtpFrom: setting(
    'GATE_HIL_SMTP_FROM',
    z.string().regex(mailbox, 'must be a mail address').optional(),
    'Mail: whom mails are from.',
  ),
  smtpTo: setting(
    'GATE_HIL_SMTP_TO',
    csv.refine((all) => all.every((each) => mailbox.test(each)), 'must be mail addresses separated by commas'),
    'Mail: who gets them.',
  ),
  escalationPools: setting(
    'GATE_HIL_ESCALATION_POOLS',
    parsedBy(poolsOf).optional(),
    'Who is told of an escalation besides: JSON, name to {"slack", "teams", "pagerduty", "smtp"}.',
    { secret: true },
  ),
  defaultEscalationPool: setting(
    'GATE_HIL_DEFAULT_ESCALATION_POOL',
    z.string().optional(),
    'The pool that is told where nobody chose one for the call.',
  ),
} as const;
export type NotificationConfig = Config<typeof NOTIFICATION_SETTINGS>;

/** Any of these is a channel that is told of every call. */
export const A_CHANNEL =
  'GATE_HIL_SLACK_BOT_TOKEN, GATE_HIL_SLACK_WEBHOOK_URL, GATE_HIL_TEAMS_WEBHOOK_URL, GATE_HIL_PAGERDUTY_ROUTING_KEY, GATE_HIL_WEBHOOK_URL or GATE_HIL_SMTP_URL';

/** Pools are told of escalations only. */
const toldOfEveryCall = (config: NotificationConfig): boolean =>
  [
    config.slackBotToken,
    config.slackWebhookUrl,
    config.teamsWebhookUrl,
    config.pagerDutyRoutingKey,
    config.webhookUrl,
    config.smtpUrl,
  ].some((channel) => channel !== undefined);

/** Faults in settings that belong together, or `null`: a channel is set whole or not at all. */
export function notificationFault(config: NotificationConfig): string | null {
  const { slackWebhookUrl, slackBotToken, slackChannel, smtpUrl, smtpFrom, smtpTo } = config;
  if ((slackBotToken === undefined) !== (slackChannel === undefined))
    return 'GATE_HIL_SLACK_BOT_TOKEN, GATE_HIL_SLACK_CHANNEL: set both or none';
  if (slackWebhookUrl !== undefined && slackBotToken !== undefined)
    return 'GATE_HIL_SLACK_WEBHOOK_URL, GATE_HIL_SLACK_BOT_TOKEN: set one of them';
  if ((smtpUrl === undefined) !== (smtpFrom === undefined) || (smtpUrl === undefined) !== (smtpTo.length === 0))
    return 'GATE_HIL_SMTP_URL, GATE_HIL_SMTP_FROM, GATE_HIL_SMTP_TO: set all three or none';
  if (config.webhookBearer !== undefined && config.webhookUrl === undefined)
    return 'GATE_HIL_WEBHOOK_BEARER_TOKEN: belongs to GATE_HIL_WEBHOOK_URL, which is not set';
  if (config.notificationMode === 'enforce' && !toldOfEveryCall(config))
    return `GATE_HIL_NOTIFICATION_MODE: enforce needs a channel that is told of every call; set one (${A_CHANNEL}), or warn`;
  const { escalationPools: pools, defaultEscalationPool: byDefault } = config;
  if (byDefault !== undefined && !pools?.has(byDefault))
    return 'GATE_HIL_DEFAULT_ESCALATION_POOL: is not one of GATE_HIL_ESCALATION_POOLS';
  for (const [name, { slack, smtp }] of pools ?? []) {
    if (slack !== undefined && slackPlace.safeParse(slack).success && slackBotToken === undefined)
      return `GATE_HIL_ESCALATION_POOLS: ${name}.slack is a channel's id, which needs GATE_HIL_SLACK_BOT_TOKEN`;
    if (smtp !== undefined && smtpUrl === undefined)
      return `GATE_HIL_ESCALATION_POOLS: ${name}.smtp needs GATE_HIL_SMTP_URL`;
  }
  return null;
}
