import type { CallInput, CallSummary } from '../contracts/call.js';
import type { CallStore } from '../domain/call-record/call-store.js';
import { receiptSha256 } from '../domain/call-record/receipt.js';
import { summarize, type RecordedOutcome } from '../domain/call-record/record.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import type { Upstream } from '../domain/pipeline/upstream.js';
import { foreignText } from '../domain/text.js';

export function createUpstreamActivities({
  calls,
  upstream,
  now = Date.now,
}: {
  calls: CallStore;
  upstream: Upstream;
  now?: () => number;
}) {
  const outcomeWithoutResult = (
    stage: 'uncertain' | 'not_run' | 'abandoned',
    error: string,
    durationMs: number | null,
  ): RecordedOutcome => ({
    stage,
    status_code: null,
    duration_ms: durationMs,
    result_sha256: null,
    error: foreignText(error, 500),
    at: new Date(now()).toISOString(),
  });
  const lose = async (correlationId: string, reason: string, durationMs: number | null = null) =>
    summarize(
      (await calls.move(correlationId, 'lose', { outcome: outcomeWithoutResult('uncertain', reason, durationMs) }))
        .record,
    );
  const notRun = async (correlationId: string, reason: string, durationMs: number | null = null) =>
    summarize(
      (await calls.move(correlationId, 'not_run', { outcome: outcomeWithoutResult('not_run', reason, durationMs) }))
        .record,
    );
  /** An allowed call nobody waits for any more is abandoned; an approved one simply was not run. */
  const tooLate = async (correlationId: string) => {
    const abandoned = await calls.move(correlationId, 'abandon', {
      outcome: outcomeWithoutResult('abandoned', 'the attempt could not begin before the caller had given up', null),
    });
    if (abandoned.applied) return summarize(abandoned.record);
    const { record } = abandoned;
    return record.state === 'approved'
      ? notRun(correlationId, 'the attempt could not begin in time after the approval')
      : summarize(record);
  };

  return {
    /**
     * The one attempt: claims the record before a byte is sent, stores the outcome before it returns. Whoever does not get the claim sends
     * nothing and returns what the record says, so a second run never is a second effect (spec 8.3).
     */
    async callUpstream(call: CallInput, claimNotAfterMs: number, signal?: AbortSignal): Promise<CallSummary> {
      const request = await calls.request(call.correlation_id, call.digest);
      if (!request) return notRun(call.correlation_id, 'the staged request is not in the store');
      const claimed = await calls.move(call.correlation_id, 'claim', { before_ms: claimNotAfterMs });
      if (!claimed.applied) return now() > claimNotAfterMs ? tooLate(call.correlation_id) : summarize(claimed.record);

      const startedMs = now();
      const reply = await upstream.callTool(call, request.body, {
        timeoutMs: call.upstream_timeout_ms,
        ...(signal && { signal }),
      });
      const timing = { duration_ms: now() - startedMs, at: new Date(now()).toISOString() };
      if (reply.kind === 'not_sent') return notRun(call.correlation_id, reply.reason, timing.duration_ms);
      if (reply.kind === 'unknown') return lose(call.correlation_id, reply.reason, timing.duration_ms);
      const result = Buffer.from(reply.text, 'utf8');
      const outcome: RecordedOutcome = {
        ...timing,
        stage: reply.failed ? 'failed' : 'completed',
        status_code: reply.statusCode,
        result_sha256: sha256Hex(result),
        receipt_sha256: receiptSha256(call, request.body, result, reply.statusCode),
        error: null,
      };
      const completed = await calls.move(call.correlation_id, 'complete', {
        outcome,
        result,
        ...(reply.statusCode >= 200 && reply.statusCode < 300 && !reply.failed && { counted_ms: now() }),
      });
      return summarize(completed.record);
    },

    /**
     * Reads the outcome after the attempt's activity failed: what was stored stands; a claim without a result is uncertain; no claim is
     * surely not run, and no later claim can succeed. Safe to repeat.
     */
    async settleExecution(correlationId: string, reason: string): Promise<CallSummary> {
      const record = await calls.find(correlationId);
      if (!record) throw new Error(`no call record ${correlationId}`);
      if (record.state === 'intended') return lose(correlationId, reason);
      if (record.state === 'allowed' || record.state === 'approved') return notRun(correlationId, reason);
      return summarize(record);
    },
  };
}
export type UpstreamActivities = ReturnType<typeof createUpstreamActivities>;
