import { z } from 'zod';
import { DECISION_CONTRACT, REVIEW_CONTRACT } from '../../../contracts/call.js';
import type { JsonObject } from '../../../contracts/json.js';
import { closedIfOver } from '../../../domain/call/expiry.js';
import type { CallRecord } from '../../../domain/call/record.js';
import { GateError } from '../../../domain/errors.js';
import type { ServiceApp } from '../../plugins/app.js';
import { reviewTold } from '../../../domain/call/review-told.js';
import { executionId } from '../../../domain/call/receipt.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import { agentOf } from '../mcp-requests.js';
import { idOf } from '../mcp.js';
import type { CallStore } from '../../../domain/call/ports.js';

const UNKNOWN = 'no parked call under this id';

export interface PendingRouteOptions {
  readonly calls: CallStore;
  readonly limits: AgentLimitsCheck;
  /** Throws what keeps the approval of a call from being authorized now. */
  readonly assertStands?: ((record: CallRecord) => Promise<void>) | undefined;
  readonly now?: () => number;
  /** Finds the call when ids other than the correlation id are accepted too. */
  readonly lookUp?: (id: string) => Promise<CallRecord | null>;
  readonly pendingPaths?: readonly `${string}/:correlation_id`[];
}

/**
 * The caller's view of its own parked call (docs/architecture/requests-and-answers.md#polling). It only reads, and never makes anything
 * run.
 */
export function registerPending(
  app: ServiceApp,
  {
    calls,
    limits,
    assertStands,
    now = Date.now,
    lookUp = (id) => calls.find(id),
    pendingPaths = ['/pending/:correlation_id'],
  }: PendingRouteOptions,
): void {
  /** Why the host of an approved call gets no authorization, where that is known. */
  const refusalOf = async (record: CallRecord): Promise<string | null> => {
    if (record.state !== 'approved' || record.evidence.call.contract !== DECISION_CONTRACT) return null;
    try {
      await assertStands?.(record);
      return null;
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      // What does not answer now may authorize it later.
      return error.status < 500 ? error.code : null;
    }
  };
  for (const path of pendingPaths)
    app.get(
      path,
      { schema: { params: z.object({ correlation_id: z.string() }) } },
      async (request): Promise<JsonObject> => {
        const caller = agentOf(request);
        const asked = { caller, correlationId: request.correlationId, name: 'GET /pending' };
        await limits.replay(asked);
        const found = await lookUp(idOf(request.params.correlation_id, UNKNOWN));
        // Another agent's call and an unknown one get the same answer.
        const asker = found?.evidence.call;
        const mine = asker && asker.tenant === caller.tenant && asker.agent === caller.agent;
        // A review in the agent's name that no call of its asked for is not its own either.
        if (!mine || !found?.pending_id || asker.contract === REVIEW_CONTRACT)
          throw new GateError('not_found', UNKNOWN);
        const record = await closedIfOver(calls, found, now());
        request.correlationId = record.correlation_id;
        const { call, verdict } = record.evidence;
        const { state } = record;
        const told = reviewTold(record);
        const refused = await refusalOf(record);
        const result =
          state === 'completed' ? await limits.retained(asked, () => calls.result(record.correlation_id)) : null;
        return {
          contract: 'gate.pending-authorization/v1',
          status: told.status,
          pending_id: record.pending_id,
          correlation_id: record.correlation_id,
          tenant: call.tenant,
          agent_id: call.agent,
          tool_type: call.tool,
          method: call.method,
          review_reasons: [...(verdict?.review_reasons ?? [])],
          requested_at: new Date(call.received_ms).toISOString(),
          expires_at: record.deadline_ms === null ? null : new Date(record.deadline_ms).toISOString(),
          decided_at: record.decision?.decided_at ?? null,
          decision: refused === null ? told.decision : null,
          ...(refused !== null && { authorization_refused: refused }),
          decider_note: record.decision?.reason ?? null,
          // Said here as well, because a poll has no place for the header of the answer.
          ...(record.decision?.status === 'approved' &&
            record.decision.signed?.modification && {
              modified_payload_digest: record.decision.signed.modification.reviewed_digest,
            }),
          execution:
            call.contract !== 'gate.server-execution/v1'
              ? null
              : {
                  state,
                  execution_id: executionId(record.correlation_id),
                  status_code: record.outcome?.status_code ?? null,
                  error: record.outcome?.error ?? null,
                  result: result && (JSON.parse(result.toString('utf8')) as JsonObject),
                },
        };
      },
    );
}
