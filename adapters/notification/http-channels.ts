import { z } from 'zod';
import type { JsonObject } from '../../contracts/json.js';
import type { Notice } from '../../contracts/notification.js';
import { errorText } from '../../domain/errors.js';
import { pagerDutyEvents, webhookEvent } from '../../domain/notification/events.js';
import type { Places } from '../../domain/notification/lines.js';
import { DeliveryFailed, type Sender } from '../../domain/notification/ports.js';
import { slackCard, slackReply } from '../../domain/notification/slack-card.js';
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

/**
 * A bot posts a message and changes it later: one card for each row, whoever decided it and where. Slack tells nobody of a change. So an escalation
 * is an answer to the card besides, which stands in the channel as a new message; where somebody deleted the card, it is another one.
 */
export const slackBot = (bot: SlackBot, decides: boolean, { places, timeoutMs }: ChannelParts): Sender => ({
  kind: 'slack',
  takes: everything,
  async send(notice, earlier) {
    // Both together are one attempt.
    const until = performance.now() + timeoutMs;
    const card = slackCard(notice, places(notice), decides);
    const post = () => askSlack(bot, 'chat.postMessage', { channel: bot.channel, ...card }, until);
    if (earlier === null) return post();
    const [channel, ts] = slackPlace.parse(JSON.parse(earlier));
    const isAlarm = notice.kind === 'escalation';
    let place: string | null;
    try {
      place = await askSlack(bot, 'chat.update', { channel, ts, ...card }, until);
    } catch (error) {
      if (isAlarm && error instanceof DeliveryFailed && error.final) return post();
      throw error;
    }
    const reply = { channel, thread_ts: ts, reply_broadcast: true, ...slackReply(notice, places(notice)) };
    if (isAlarm) await askSlack(bot, 'chat.postMessage', reply, until);
    return place ?? earlier;
  },
});

/** One request to Slack's API; where the message stands. Throws DeliveryFailed. */
async function askSlack(
  bot: SlackBot,
  method: 'chat.postMessage' | 'chat.update',
  message: JsonObject,
  until: number,
): Promise<string | null> {
  const timeoutMs = Math.max(1, Math.ceil(until - performance.now()));
  const target = { url: `${bot.apiUrl.replace(/\/$/, '')}/${method}`, bearer: bot.token, timeoutMs };
  const body = JSON.stringify({
    ...message,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  });
  const told = readSlack(await attempt(target, () => answerTo(target, 'application/json', body, SLACK_ANSWER_BYTES)));
  if (!told.ok) throw refusedBySlack(told.error ?? 'no reason');
  return told.channel === undefined || told.ts === undefined ? null : JSON.stringify([told.channel, told.ts]);
}

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

/** An incident for each row, and another for each escalation. An approval of several changes nothing about them. */
export const pagerDuty = (url: string, routingKey: string, { places, timeoutMs }: ChannelParts): Sender => ({
  kind: 'pagerduty',
  takes: (phase, escalated) => phase !== 'update' || escalated,
  async send(notice) {
    const events = pagerDutyEvents(notice, places(notice), routingKey);
    await Promise.all(events.map((event) => post({ url, timeoutMs }, event)));
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
