import { describe, expect, it } from '@jest/globals';
import { callInput } from '../../test/support/call-input.js';
import { callUnderWay } from '../../test/support/call-under-way.js';
import { atStop, stopCallOf } from './at-stop.js';
import type { CallRecord, RecordedDecision, RecordedOutcome } from './record.js';

const STOPPED = Date.parse('2026-11-02T10:00:00.000Z');
const at = (ms: number): string => new Date(STOPPED + ms).toISOString();
const decided = (ms: number, status: RecordedDecision['status'] = 'approved'): RecordedDecision => ({
  status,
  decided_at: at(ms),
  decided_by: 'operator:dev',
  decided_via: null,
  reason: null,
  principal: null,
});
const ended = (ms: number, more: Partial<RecordedOutcome> = {}): RecordedOutcome => ({
  stage: 'completed',
  status_code: 200,
  duration_ms: 5,
  result_sha256: 'b'.repeat(64),
  error: null,
  at: at(ms),
  ...more,
});
interface Given extends Partial<CallRecord> {
  readonly received?: number;
  readonly created?: number;
  readonly updated?: number;
}
function record({ received = -50, created = -40, updated = created, ...more }: Given): CallRecord {
  const call = callInput(STOPPED + received, { correlation_id: '70000000-0000-4000-8000-000000000007' });
  return callUnderWay(call, { created_ms: STOPPED + created, updated_ms: STOPPED + updated, ...more });
}
const pending_id = '80000000-0000-4000-8000-000000000008';

describe('a call when something is stopped', () => {
  it.each<[string, ReturnType<typeof atStop>, Given]>([
    ['is at the tool', 'running', { state: 'intended' }],
    ['was let through, and not sent yet', 'running', { state: 'allowed' }],
    ['ended since', 'running', { state: 'completed', updated: 900, outcome: ended(900) }],
    ['was let through, and is refused now', 'running', { state: 'not_run', updated: 20, outcome: ended(20) }],
    ['was lost since', 'running', { state: 'uncertain', updated: 900, outcome: ended(900) }],
    ['had ended', null, { state: 'completed', updated: -1, outcome: ended(-1) }],
    [
      'had been lost, and was found out since',
      null,
      { state: 'completed', updated: 900, outcome: ended(900, { lost: ended(-10) }) },
    ],
    ['waits', 'parked', { state: 'parked', pending_id }],
    ['is about to wait', 'parked', { state: 'decided' }],
    [
      'waited, and was denied since',
      'parked',
      { state: 'denied', pending_id, updated: 30, decision: decided(30, 'denied') },
    ],
    [
      'waited, and was approved since',
      'parked',
      { state: 'not_run', pending_id, updated: 40, decision: decided(30), outcome: ended(40) },
    ],
    ['waited, and was given up since', 'parked', { state: 'aborted', pending_id, updated: 30 }],
    ['was approved before', 'running', { state: 'intended', pending_id, updated: -5, decision: decided(-10) }],
    [
      'was approved before, and ended since',
      'running',
      { state: 'completed', pending_id, updated: 30, decision: decided(-10), outcome: ended(30) },
    ],
    ['was denied before', null, { state: 'denied', pending_id, updated: -5, decision: decided(-5, 'denied') }],
    ['had no verdict yet', 'judged', { state: 'allowed', created: 15 }],
    ['had not come', 'started', { received: 1, created: 2, state: 'completed', updated: 3, outcome: ended(3) }],
  ])('%s: %s', (_what, was, given) => {
    expect(atStop(record(given), STOPPED)).toBe(was);
  });

  it('counts by the time when its decision was applied, not by that of who decided', () => {
    const decision = { ...decided(-30), applied_ms: STOPPED + 5 };
    expect(atStop(record({ state: 'intended', pending_id, updated: 6, decision }), STOPPED)).toBe('parked');
  });

  it('is told with its times and digests, and with no value', () => {
    expect(stopCallOf(record({ state: 'completed', updated: 900, outcome: ended(900) }), STOPPED)).toEqual({
      correlation_id: '70000000-0000-4000-8000-000000000007',
      agent: 'bot',
      tool: 'read_file',
      contract: 'gate.server-execution/v1',
      was: 'running',
      state: 'completed',
      received_at: at(-50),
      state_since: at(900),
      digest: 'sha256:0',
      params_sha256: 'a'.repeat(64),
      pending_id: null,
      outcome: { stage: 'completed', code: null, at: at(900), result_sha256: 'b'.repeat(64) },
    });
    expect(stopCallOf(record({ state: 'completed', updated: -1, outcome: ended(-1) }), STOPPED)).toBeNull();
  });
});
