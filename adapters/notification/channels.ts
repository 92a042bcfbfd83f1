import type { Notice } from '../../contracts/notification.js';
import type { Places } from '../../domain/notification/lines.js';
import type { Channel } from '../../domain/notification/ports.js';
import { eventWebhook, pagerDuty, type SlackBot, slackBot, slackWebhook, teamsWebhook } from './http-channels.js';
import { mailChannel, type MailRoute } from './mail-channel.js';

/** The channels that are set. */
export interface ChannelSettings {
  readonly timeoutMs: number;
  readonly places: (notice: Notice) => Places;
  readonly slack?: { readonly webhookUrl: string } | SlackBot | undefined;
  /** Whether clicks in Slack come back to Gate. */
  readonly slackDecides: boolean;
  readonly teams?: { readonly webhookUrl: string } | undefined;
  readonly teamsDecides: boolean;
  readonly pagerDuty?: { readonly url: string; readonly routingKey: string } | undefined;
  readonly webhook?: { readonly url: string; readonly bearer?: string | undefined } | undefined;
  readonly mail?: MailRoute | undefined;
}

/** The channels of a pool, or those that are told of every row. */
export function channelsOf(
  { slack, teams, pagerDuty: pager, webhook, mail, ...parts }: ChannelSettings,
  pool: string | null = null,
): Channel[] {
  return [
    slack && 'webhookUrl' in slack ? slackWebhook(slack.webhookUrl, parts.slackDecides, parts) : null,
    slack && 'token' in slack ? slackBot(slack, parts.slackDecides, parts) : null,
    teams ? teamsWebhook(teams.webhookUrl, parts.teamsDecides, parts) : null,
    pager ? pagerDuty(pager.url, pager.routingKey, parts) : null,
    webhook ? eventWebhook(webhook.url, webhook.bearer, parts) : null,
    mail ? mailChannel(mail, parts) : null,
  ]
    .filter((sender) => sender !== null)
    .map((sender) => ({ ...sender, pool, target: pool === null ? sender.kind : (`${sender.kind}@${pool}` as const) }));
}
