import { LRUCache } from 'lru-cache';
import type { Json } from '../../../contracts/json.js';
import type { CallRecord } from '../../../domain/call/record.js';
import type { WithdrawCall } from '../../../domain/review/ports.js';
import { roomFor } from '../../../domain/room-for.js';
import type { CallHandler } from '../calls.js';
import type { AgentCaller } from '../mcp-requests.js';

/** As many requests of sessions as are remembered; the oldest is forgotten first. */
const MOST_REMEMBERED = 10_000;

export interface CancellationsOptions {
  readonly handler: Pick<CallHandler, 'recorded' | 'standing' | 'changed'>;
  readonly withdrawCall: WithdrawCall;
  /** So long after it was asked, a call of which nothing is recorded is none. */
  readonly unknownAfterMs: number;
  readonly now: () => number;
}

/** A call that was asked for, once nobody judges it any more; at that time at the latest as it then stands, `null` where nothing is recorded. */
export async function onceJudged(
  handler: CancellationsOptions['handler'],
  {
    caller,
    correlationId,
    untilMs,
    now,
  }: {
    readonly caller: AgentCaller;
    readonly correlationId: string;
    readonly untilMs: number;
    readonly now: () => number;
  },
): Promise<CallRecord | null> {
  await handler.recorded(correlationId, untilMs);
  let record = await handler.standing(correlationId, caller);
  while (record?.state === 'decided' && now() < untilMs)
    record = await handler.changed(correlationId, caller, record.version, untilMs);
  return record;
}

/**
 * `notifications/cancelled` of clients in sessions (docs/architecture/mcp-sessions.md#cancellation). It names a request by its id in the session,
 * so the calls that came by this process are remembered under that.
 */
export function createCancellations({ handler, withdrawCall, unknownAfterMs, now }: CancellationsOptions) {
  const calls = new LRUCache<string, string>(roomFor(MOST_REMEMBERED));
  const keyOf = (session: string, requestId: Json): string => `${session} ${JSON.stringify(requestId)}`;

  return {
    asked(session: string, requestId: Json, correlationId: string): void {
      calls.set(keyOf(session, requestId), correlationId);
    },

    /**
     * Withdraws the call of a request, once it waits for a person. One that does not, or not any more, goes on: nobody is told that something did
     * not happen which perhaps did.
     */
    async cancelled(caller: AgentCaller, session: string, requestId: Json): Promise<void> {
      const correlationId = calls.get(keyOf(session, requestId));
      if (correlationId === undefined) return;
      const record = await onceJudged(handler, { caller, correlationId, untilMs: now() + unknownAfterMs, now });
      if (record?.state === 'parked')
        await withdrawCall({ correlation_id: correlationId, tenant: caller.tenant, agent_id: caller.agent });
    },
  };
}
