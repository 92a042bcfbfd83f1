import type { Logger } from 'pino';
import { toolOf } from '../contracts/call-methods.js';
import type { PendingRequest } from '../contracts/review.js';
import type { CallRecord } from '../domain/call/record.js';
import { postTo, withoutAddress } from '../adapters/outbound/webhook.js';
import { errorText } from '../domain/errors.js';
import { slackText } from '../domain/notification/escaping.js';
import type { LiteMetrics } from './metrics.js';

export interface NoticeOptions {
  readonly webhookUrl: string | undefined;
  readonly slackWebhookUrl: string | undefined;
  readonly logger: Logger;
  readonly noticed: LiteMetrics['noticed'];
  /** Where the operator's commands reach this process. */
  readonly endpoint: () => string;
  readonly now: () => number;
}

/** Tells others what happened, best effort: nothing waits for it, and a failure is a log line. */
export interface Notices {
  /** The first answer of a call. */
  answered(record: CallRecord): void;
  decided(row: PendingRequest, mode: string): void;
  /** Resolves when all messages in progress were sent or given up. */
  close(): Promise<void>;
}

const MAX_IN_FLIGHT = 32;
const LIMIT_MS = 5_000;

/** The addresses may carry keys: neither is ever logged, and no redirect takes them elsewhere. */
export function createNotices(options: NoticeOptions): Notices {
  const { webhookUrl, slackWebhookUrl, logger, noticed, now } = options;
  const underWay = new Set<Promise<void>>();

  function post(kind: 'webhook' | 'slack', url: string, body: object): void {
    if (underWay.size >= MAX_IN_FLIGHT) {
      noticed(kind, 'dropped');
      return;
    }
    const sending = postTo({ url, timeoutMs: LIMIT_MS }, 'application/json', JSON.stringify(body))
      .then(
        () => noticed(kind, 'sent'),
        (error: unknown) => {
          noticed(kind, 'failed');
          logger.warn({ kind, reason: withoutAddress(errorText(error), url) }, 'a notice was not taken');
        },
      )
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
  }

  return {
    answered(record) {
      const { call, verdict } = record.evidence;
      if (!verdict) return;
      const event = eventOf(verdict.outcome, verdict.would);
      if (webhookUrl)
        post('webhook', webhookUrl, {
          event,
          correlation_id: record.correlation_id,
          agent_id: call.agent,
          tool_type: call.tool,
          method: call.method,
          intent_category: verdict.intent_category,
          reasoning: verdict.reasons.join(' | '),
          review_reasons: [...verdict.review_reasons],
          mode: call.mode,
          ts: new Date(now()).toISOString(),
        });
      if (slackWebhookUrl && event === 'park')
        post('slack', slackWebhookUrl, { text: chatText(record, options.endpoint()) });
    },
    decided(row, mode) {
      if (!webhookUrl) return;
      post('webhook', webhookUrl, {
        event: row.status === 'approved' ? 'decide_allow' : 'decide_deny',
        correlation_id: row.correlation_id,
        agent_id: row.agent_id,
        tool_type: toolOf(row),
        method: row.method,
        intent_category: 'OperatorDecide',
        reasoning: row.decision_reason ?? '',
        review_reasons: [],
        mode,
        ts: new Date(now()).toISOString(),
      });
    },
    async close() {
      await Promise.allSettled(underWay);
    },
  };
}

function eventOf(outcome: 'allow' | 'park' | 'deny', would: 'deny' | 'pend' | null): string {
  if (would !== null) return would === 'deny' ? 'would_deny' : 'would_park';
  return outcome;
}

const chatText = ({ correlation_id: id, pending_id, evidence: { call, verdict } }: CallRecord, endpoint: string) => {
  const reasons = verdict?.review_reasons.map(plain).join('; ');
  return [
    `Gate: ${plain(call.tool)} by ${plain(call.agent)} waits for a decision`,
    `why: ${reasons === undefined || reasons === '' ? '(none reported)' : reasons}`,
    `call: ${id}`,
    `npx gate decide ${pending_id ?? id} approve --endpoint ${endpoint}`,
    `npx gate decide ${pending_id ?? id} deny --endpoint ${endpoint}`,
  ].join('\n');
};

/** Text an agent sent, as one line of a chat: no mention, link, code mark or line of its own. */
export const plain = (text: string): string => slackText(text).replaceAll(/[`*_~]/g, "'");
