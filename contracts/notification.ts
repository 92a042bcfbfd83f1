import { z } from 'zod';
import { stateNamespace } from './ledger.js';
import { reviewStatus } from './review.js';
import { sandboxSeverity } from './sandbox.js';

export const NOTIFICATION_CONTRACT = 'gate.hil-notification-lifecycle/v1';

export const notificationChannel = z.enum(['slack', 'teams', 'pagerduty', 'webhook', 'smtp']);
export type NotificationChannel = z.infer<typeof notificationChannel>;

/** A pool of people who are told of an escalation. */
export const POOL_NAME = /^[A-Za-z0-9._-]{1,63}$/;
/** A channel that is told of every row (`slack`), or one of a pool (`slack@payments`). */
export type NotificationTarget = NotificationChannel | `${NotificationChannel}@${string}`;
const notificationTarget = z.custom<NotificationTarget>((value) => {
  if (typeof value !== 'string') return false;
  const [channel, pool, ...more] = value.split('@');
  return (
    notificationChannel.safeParse(channel).success && (pool === undefined || POOL_NAME.test(pool)) && more.length === 0
  );
}, 'is not a channel, or one of a pool');

/** `trigger`: a call waits. `update`: somebody approved, or nobody looks at it. `resolve`: it waits no longer. */
const notificationPhase = z.enum(['trigger', 'update', 'resolve']);
export type NotificationPhase = z.infer<typeof notificationPhase>;

/** What a message tells: its phase, and of an `update` which of the two it is. */
export const noticeKind = z.enum(['trigger', 'approval', 'escalation', 'resolve']);
export type NoticeKind = z.infer<typeof noticeKind>;

/** `withdrawn` is also said of a row that is gone because its call was answered 503. */
const notificationStatus = reviewStatus;
export type NotificationStatus = z.infer<typeof notificationStatus>;

const notificationId = z
  .string()
  .regex(/^[0-9a-f-]{36}:(?:trigger|update:(?:approval-\d{1,2}|escalated(?:-\d)?)|resolve:[a-z]{6,9})$/);

/** What is told of a row, as it was when there was something to tell. It has no value of the call. */
export const notice = z.strictObject({
  notification_id: notificationId,
  kind: noticeKind,
  phase: notificationPhase,
  status: notificationStatus,
  pending_id: z.uuid(),
  correlation_id: z.uuid(),
  agent_id: z.string(),
  method: z.string(),
  tool: z.string(),
  risk_summary: z.string(),
  severity: sandboxSeverity.nullable(),
  tenant: z.string(),
  state_namespace: stateNamespace,
  created_at: z.string(),
  expires_at: z.string(),
  required_approvers: z.number().int(),
  approvals: z.number().int(),
  /** How many of them did not count any more, where some did not: who gave them might not approve then. */
  lapsed: z.number().int().optional(),
  escalated: z.boolean(),
  /** How often, where it was more than once. */
  escalations: z.number().int().optional(),
  decided_at: z.string().nullable(),
  decided_by: z.string().nullable(),
  decided_via: z.string().nullable(),
  /** An approver changed arguments, and what was approved is not what was asked for. */
  modified: z.literal(true).optional(),
  /** Of the call that waits, for cards whose buttons decide: they decide that call and no other. */
  action_digest: z.string().optional(),
  /** No agent's call asked for it, and nothing runs, whatever is decided. */
  rehearsal: z.literal(true).optional(),
  /** Nothing waits: somebody tests the channel. */
  test: z.literal(true).optional(),
  /** The row is gone: the message has no text of its call and no name of its agent. */
  deleted: z.literal(true).optional(),
});
export type Notice = z.infer<typeof notice>;

/** What a webhook receives; of a row that is gone `agent_id` and `tool` are empty. Every attempt to send it has the same bytes. `dedup_key` is the row's id. */
export const lifecycleEvent = z.strictObject({
  contract: z.literal(NOTIFICATION_CONTRACT),
  schema_version: z.literal(1),
  event: z.literal('hil_notification'),
  /** Only of a test of the channel, of which there is no row. */
  test: z.literal(true).optional(),
  /** Only of a review that no agent's call asked for: nothing runs, whatever is decided. */
  rehearsal: z.literal(true).optional(),
  /** Only of a call that was approved with changed arguments. What they are is said to nobody here. */
  modified: z.literal(true).optional(),
  phase: notificationPhase,
  status: notificationStatus,
  notification_id: notificationId,
  dedup_key: z.uuid(),
  headline: z.string().min(1).max(512),
  pending_id: z.uuid(),
  correlation_id: z.uuid(),
  agent_id: z.string(),
  method: z.string(),
  /** As the agent named it. */
  tool: z.string(),
  tenant: z.string(),
  state_namespace: stateNamespace,
  created_at: z.string(),
  /** Null unless the row is settled. */
  decided_at: z.string().nullable(),
  approve_url: z.string().max(4096).optional(),
  deny_url: z.string().max(4096).optional(),
});
export type LifecycleEvent = z.infer<typeof lifecycleEvent>;

/**
 * `superseded`: the row was settled before anybody was told. `dead`: every attempt failed, or no other one can help. `partial`: so it is for some
 * of its receivers, and the others got it.
 */
export const deliveryState = z.enum(['queued', 'delivered', 'superseded', 'partial', 'dead']);
export type DeliveryState = z.infer<typeof deliveryState>;

/** One message of a row on one channel, as the row shows it. */
export const delivery = z.strictObject({
  notification_id: z.string(),
  channel: notificationTarget,
  state: deliveryState,
  /** Without those that the receiver's limit refused. */
  attempts: z.number().int(),
  /** When the channel took it. */
  delivered_at: z.string().nullable(),
  /** Of a message that waits for its next attempt. */
  next_attempt_at: z.string().nullable(),
  /** Why the last attempt failed; never an address. */
  error: z.string().nullable(),
});
export type Delivery = z.infer<typeof delivery>;

export const notificationMode = z.enum(['disabled', 'warn', 'enforce']);
export type NotificationMode = z.infer<typeof notificationMode>;

/** Which channels are set, and how much of what they should have taken waits or failed for good. */
export const notificationsConfig = z.strictObject({
  mode: notificationMode,
  /** Whether anybody is told. */
  viable: z.boolean(),
  slack: z.boolean(),
  teams: z.boolean(),
  pagerduty: z.boolean(),
  webhook: z.boolean(),
  smtp: z.boolean(),
  /** Who may be told of an escalation beyond these. */
  escalation_pools: z.array(z.string()),
  queued: z.number().int(),
  dead_letters: z.number().int(),
});
export type NotificationsConfig = z.infer<typeof notificationsConfig>;

/** What came of a message of a test on one channel, and why it was not sent. */
const testResult = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('sent') }),
  z.strictObject({ outcome: z.literal('failed'), reason: z.string() }),
]);
export type TestResult = z.infer<typeof testResult>;

/** The same after a test of the channels, with what came of it on each. */
export const notificationsTested = notificationsConfig.extend({ results: z.record(notificationTarget, testResult) });
