import { z } from 'zod';
import type { JsonObject } from '../../contracts/json.js';
import type { Notice } from '../../contracts/notification.js';
import { errorText } from '../../domain/errors.js';
import { pagerDutyEvent, webhookEvent } from '../../domain/notification/events.js';
import type { Places } from '../../domain/notification/lines.js';
import { DeliveryFailed, type Sender } from '../../domain/notification/ports.js';
import { slackCard } from '../../domain/notification/slack-card.js';
import { teamsCard, teamsMessage } from '../../domain/notification/teams-card.js';
import { answerTo, postTo, ReceiverRefused, type WebhookTarget, withoutAddress } from '../outbound/webhook.js';

export interface ChannelParts {
  readonly places: (notice: Notice) => Places;
  readonly timeoutMs: number;
}

/** Whether the same message may be taken later. */
const passes = (status: number): boolean => status >= 500 || status === 408 || status === 429;

const post = (target: WebhookTarget, body: object): Promise<void> =>
  attempt(target, () => postTo(target, 'application/json', JSON.stringify(body)));

/** One attempt. What failed is told without the address, which may hold a key. */
async function attempt<Answer>(target: WebhookTarget, send: () => Promise<Answer>): Promise<Answer> {
  try {
    return await send();
  } catch (error) {
    const reason = withoutAddress(errorText(error), target.url);
    if (error instanceof ReceiverRefused)
      throw new DeliveryFailed(reason, !passes(error.status), {
        afterMs: error.retryAfterMs,
        limited: error.status === 429,
        cause: error,
      });
    throw new DeliveryFailed(reason, false, { cause: error });
  }
}

const everything = (): boolean => true;

/** An incoming webhook of Slack takes new messages only, so what changes about a row is another message. */
export const slackWebhook = (url: string, decides: boolean, { places, timeoutMs }: ChannelParts): Sender => ({
  kind: 'slack',
  takes: everything,
  async send(notice) {
    await post({ url, timeoutMs }, slackCard(notice, places(notice), decides));
    return null;
  },
});

/** What a click came to, to the address that the click names. Throws DeliveryFailed, which does not name it. */
export const slackAnswers =
  (timeoutMs: number) =>
  (url: string, message: JsonObject): Promise<void> =>
    post({ url, timeoutMs }, message);

export interface SlackBot {
  readonly apiUrl: string;
  readonly token: string;
  readonly channel: string;
}

const slackAnswer = z.object({
  ok: z.boolean(),
  error: z.string().max(100).optional(),
  channel: z.string().max(100).optional(),
  ts: z.string().max(100).optional(),
});
/** Slack's API answers with the card that it took, which has a few KiB. */
const SLACK_ANSWER_BYTES = 65_536;
const slackPlace = z.tuple([z.string(), z.string()]);
/** Refusals that are about now and not about the message. */
const SLACK_LIMITS: ReadonlySet<string> = new Set(['ratelimited', 'rate_limited']);
const SLACK_PASSING: ReadonlySet<string> = new Set([
  ...SLACK_LIMITS,
  'internal_error',
  'service_unavailable',
  'fatal_error',
  'request_timeout',
]);

/** A bot posts a message and changes it later: one card for each row, whoever decided it and where. */
export const slackBot = (bot: SlackBot, decides: boolean, { places, timeoutMs }: ChannelParts): Sender => ({
  kind: 'slack',
  takes: everything,
  async send(notice, earlier) {
    const [channel, ts] = earlier === null ? [bot.channel, undefined] : slackPlace.parse(JSON.parse(earlier));
    const target = {
      url: `${bot.apiUrl.replace(/\/$/, '')}/${ts === undefined ? 'chat.postMessage' : 'chat.update'}`,
      bearer: bot.token,
      timeoutMs,
    };
    const message = {
      channel,
      ...(ts !== undefined && { ts }),
      ...slackCard(notice, places(notice), decides),
      parse: 'none',
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
    };
    const told = readSlack(
      await attempt(target, () => answerTo(target, 'application/json', JSON.stringify(message), SLACK_ANSWER_BYTES)),
    );
    if (!told.ok) throw refusedBySlack(told.error ?? 'no reason');
    return told.channel === undefined || told.ts === undefined ? earlier : JSON.stringify([told.channel, told.ts]);
  },
});

const refusedBySlack = (error: string): DeliveryFailed =>
  new DeliveryFailed(`Slack refused it: ${error}`, !SLACK_PASSING.has(error), { limited: SLACK_LIMITS.has(error) });

function readSlack(bytes: Uint8Array): z.infer<typeof slackAnswer> {
  try {
    return slackAnswer.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch (cause) {
    throw new DeliveryFailed('the receiver did not answer as Slack does', false, { cause });
  }
}

/** An incoming webhook of a channel of Teams takes new messages only. */
export const teamsWebhook = (url: string, decides: boolean, { places, timeoutMs }: ChannelParts): Sender => ({
  kind: 'teams',
  takes: everything,
  async send(notice) {
    await post({ url, timeoutMs }, teamsMessage(teamsCard(notice, places(notice), decides)));
    return null;
  },
});

/** An incident for each row. An approval of several changes nothing about it. */
export const pagerDuty = (url: string, routingKey: string, { places, timeoutMs }: ChannelParts): Sender => ({
  kind: 'pagerduty',
  takes: (phase, escalated) => phase !== 'update' || escalated,
  async send(notice) {
    await post({ url, timeoutMs }, pagerDutyEvent(notice, places(notice), routingKey));
    return null;
  },
});

/** Any receiver. It recognises a repeat by `Idempotency-Key`, and its bytes are the same. */
export const eventWebhook = (url: string, bearer: string | undefined, { places, timeoutMs }: ChannelParts): Sender => ({
  kind: 'webhook',
  takes: everything,
  async send(notice) {
    const headers = { 'idempotency-key': notice.notification_id };
    await post({ url, bearer, headers, timeoutMs }, webhookEvent(notice, places(notice)));
    return null;
  },
});
