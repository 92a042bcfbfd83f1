import { z } from 'zod';
import {
  openedChange,
  reviewStatus,
  ruledDecision,
  type PendingRequest,
  undecidedReviews,
} from '../../contracts/review.js';
import { GateError } from '../../domain/errors.js';
import type { ReviewService } from '../../domain/review/ports.js';
import { createServiceClient, type ServiceClientOptions } from './service-client.js';

/** Just enough to recognise a row. The row was checked before it was stored, and its payload may be a megabyte. */
const row = z.looseObject({
  id: z.uuid(),
  correlation_id: z.uuid(),
  status: reviewStatus,
  created_at: z.iso.datetime(),
  ttl_seconds: z.number().int(),
});

/** Less than the step that asks may take, so that the decider is told that it could not be opened. */
const OPEN_MS = 2_000;
/** A withdrawal is a decision, which its workflow may take so long to answer. */
const WITHDRAW_MS = 12_000;

/**
 * The review rows over HTTP, for workers in another process; the same contract as in process. A refusal arrives as the GateError that HIL
 * threw. No answer, a timeout, or an answer that is not a row: `pipeline_unavailable` with `layer: hil`. All calls may be repeated.
 */
export function createHilClient({ timeoutMs = 5_000, ...options }: ServiceClientOptions): ReviewService {
  const ask = createServiceClient(
    'the review service',
    options,
    (detail, cause) => new GateError('pipeline_unavailable', detail, { fields: { layer: 'hil' }, cause }),
  );
  const askRow = async (path: string, body: object, headers: Record<string, string> = {}) =>
    (await ask(row, { method: 'POST', path, timeoutMs, headers, body })) as unknown as PendingRequest;
  return {
    createOnce: (review) =>
      askRow('/pending', review, {
        'x-gate-tenant-scope': review.tenant,
        'x-gate-correlation-id': review.correlation_id,
      }),

    async byCorrelation(correlationId, tenant) {
      const path = `/pending/by-correlation/${encodeURIComponent(correlationId)}`;
      const headers = { 'x-gate-tenant-scope': tenant, 'x-gate-correlation-id': correlationId };
      try {
        return (await ask(row, { method: 'GET', path, timeoutMs, headers })) as unknown as PendingRequest;
      } catch (error) {
        if (error instanceof GateError && error.code === 'not_found') return null;
        throw error;
      }
    },

    async withdraw(correlationId, attemptMs) {
      const attempt = attemptMs === undefined ? '' : `?attempt_ms=${attemptMs}`;
      const path = `/pending/by-correlation/${encodeURIComponent(correlationId)}${attempt}`;
      await ask(null, { method: 'DELETE', path, timeoutMs, headers: { 'x-gate-correlation-id': correlationId } });
    },

    async withdrawCall({ correlation_id, tenant, agent_id }) {
      const path = `/pending/by-correlation/${encodeURIComponent(correlation_id)}/withdrawal`;
      const headers = { 'x-gate-tenant-scope': tenant, 'x-gate-correlation-id': correlation_id };
      await ask(null, { method: 'POST', path, timeoutMs: WITHDRAW_MS, headers, body: { tenant, agent_id } });
    },

    async decideByRule(pendingId) {
      const path = `/pending/${encodeURIComponent(pendingId)}/rule-decision`;
      return (await ask(ruledDecision, { method: 'POST', path, timeoutMs, body: {} })).decision;
    },

    async openedChange(pendingId, sealed) {
      const path = `/pending/${encodeURIComponent(pendingId)}/opened-change`;
      const body = { sealed_diff: sealed };
      return (await ask(openedChange, { method: 'POST', path, timeoutMs: Math.min(timeoutMs, OPEN_MS), body })).diff;
    },

    async undecided({ ms, id }, limit) {
      const path = `/undecided?after_ms=${ms}&after_id=${encodeURIComponent(id)}&limit=${limit}`;
      return (await ask(undecidedReviews, { method: 'GET', path, timeoutMs })).rows;
    },

    async escalated(id, [escalated_at, ...again]) {
      const path = `/pending/${encodeURIComponent(id)}/escalated`;
      await ask(null, {
        method: 'POST',
        path,
        timeoutMs,
        body: { escalated_at, ...(again.length > 0 && { escalated_again_at: again }) },
      });
    },

    async assertOpen(tenant) {
      await ask(null, { method: 'GET', path: `/tenants/${encodeURIComponent(tenant)}/standing`, timeoutMs });
    },

    settle: (settled) => askRow(`/pending/${encodeURIComponent(settled.pending_id)}/settle`, settled),
  };
}
