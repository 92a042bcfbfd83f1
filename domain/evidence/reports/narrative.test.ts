import { describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import type { NarrativeWindow } from '../../../contracts/ledger-reports.js';
import { callRows, correlationOf, type TestCall } from '../../../test/support/ledger-calls.js';
import { testRow } from '../../../test/support/ledger.js';
import type { ReportRow } from './report-rows.js';
import { tellNarrative } from './narrative.js';

const NOW = Date.parse('2026-03-10T12:30:00.000Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Timed {
  readonly agoMs: number;
  readonly row: NewLedgerRow;
}
const call = (agoMs: number, change: Omit<TestCall, 'name'> & { name?: string } = {}): Timed[] =>
  callRows({ name: `call ${agoMs} ${JSON.stringify(change)}`, ...change }).map((row) => ({ agoMs, row }));

const reportRowsOf = (rows: readonly Timed[]): ReportRow[] =>
  rows
    .toSorted((a, b) => b.agoMs - a.agoMs)
    .map(({ agoMs, row }, index) => ({
      seq: index + 1,
      at: new Date(NOW - agoMs).toISOString(),
      id: row.id ?? '',
      agentId: row.agent_id,
      agentName: row.agent_name ?? null,
      tenant: row.tenant ?? null,
      kind: row.event_kind ?? row.method,
      method: row.method,
      authorized: row.authorized,
      intent: row.intent_category,
      reasoning: row.reasoning,
      decision: row.policy_decision,
      correlationId: row.correlation_id ?? null,
      signal: row.signal ?? null,
      tool: row.tool_name ?? null,
      costMicros: row.cost_micros ?? null,
    }));

async function* pages(reportRows: readonly ReportRow[]): AsyncGenerator<ReportRow[]> {
  for (const reportRow of reportRows) yield [reportRow];
}
const tell = (rows: readonly Timed[], window: NarrativeWindow = '7d') => {
  const all = reportRowsOf(rows);
  const reportRows = all.filter((reportRow) => reportRow.agentId !== 'gate-proxy');
  return tellNarrative(
    { agentId: 'agent-a', window, nowMs: NOW },
    pages(reportRows),
    pages(reportRows.filter((reportRow) => reportRow.kind === 'deep_review_finding')),
    pages(all.filter((reportRow) => reportRow.kind.startsWith('alarm.'))),
  );
};
const storyOf = async (rows: readonly Timed[], window?: NarrativeWindow) =>
  (await tell(rows, window)).story.map(({ text }) => text);

describe('alarms about the calls of an agent', () => {
  const alarm = (agoMs: number, kind: string, name: string): Timed => ({
    agoMs,
    row: testRow({ event_kind: kind, agent_id: 'gate-proxy', correlation_id: correlationOf(name), reasoning: 'why' }),
  });

  it('are told with their places, though their rows are Gate’s own, and end the waiting of a call that was tampered with', async () => {
    const told = await tell([
      ...call(HOUR, { name: 'waits', tier: 'yellow' }),
      ...call(HOUR, { name: 'edited', tier: 'yellow' }),
      alarm(HOUR / 2, 'alarm.record_tampered', 'edited'),
      alarm(HOUR / 3, 'alarm.forged_decision', 'waits'),
      alarm(HOUR / 4, 'alarm.record_tampered', 'a call of somebody else'),
    ]);
    expect(told.hil.pending).toBe(1);
    expect(told.notable.slice(0, 2).map(({ event_kind }) => event_kind)).toEqual([
      'alarm.forged_decision',
      'alarm.record_tampered',
    ]);
    const alarms = told.notable.slice(0, 2).map(({ seq }) => seq);
    expect(told.story.find(({ text }) => text.startsWith('Alarms'))?.seqs).toEqual(alarms.toReversed());
    expect(told.notable.filter(({ event_kind }) => event_kind.startsWith('alarm.'))).toHaveLength(2);
  });
});

describe('an agent’s activity as a story', () => {
  it('of an agent nobody knows is a story of zeros', async () => {
    expect(await tell([])).toMatchObject({
      agent_id: 'agent-a',
      from: '2026-03-03T12:30:00.000Z',
      to: '2026-03-10T12:30:00.000Z',
      total: 0,
      headline: 'No request of `agent-a` is recorded in the last 7 days.',
      story: [],
      intents: [],
      tools: [],
      deny_reasons: [],
      hil: {
        pending: 0,
        approved: 0,
        denied: 0,
        expired: 0,
        changed_then_denied: 0,
        approved_by_rule: 0,
        denied_by_gate: 0,
        withdrawn: 0,
        unreachable: 0,
      },
      notable: [],
      deep_review: { findings_7d: 0, top_disagreement: null },
    });
  });

  it('counts a request once, however many rows it left, and says so in one sentence', async () => {
    const told = await tell([
      ...call(HOUR, { outcome: 'completed' }),
      ...call(2 * HOUR, { outcome: 'completed', tool: 'list_files' }),
      ...call(3 * HOUR, { tier: 'red' }),
      ...call(4 * HOUR, { tier: 'yellow', decided: 'approved', outcome: 'completed' }),
    ]);
    expect(told.total).toBe(4);
    expect(told.outcomes).toEqual({ allowed: 2, denied: 1, reviewed: 1, would_deny: 0, would_review: 0 });
    expect(told.headline).toBe(
      'In the last 7 days `agent-a` made 4 requests: 2 allowed, 1 denied and 1 sent to a person.',
    );
    expect(told.tools).toEqual([
      { tool_name: 'read_file', count: 3 },
      { tool_name: 'list_files', count: 1 },
    ]);
    expect(told.executions).toEqual({ completed: 3, failed: 0, uncertain: 0, not_run: 0 });
  });

  it('says “mostly” of a reason that has more than the next, and of no other', async () => {
    const told = await tell([
      ...call(2 * HOUR, { tier: 'red', reasons: ['Violation: destructive'] }),
      ...call(HOUR, { tier: 'red', reasons: ['Violation: outside hours'] }),
    ]);
    expect(told.story.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^2 requests were denied, for “[^”]+” \(once, first in row \d\) and “[^”]+” \(1\)\.$/),
    );
  });

  it('and not of the only one', async () => {
    const told = await tell(call(HOUR, { tier: 'red', reasons: ['Violation: destructive'] }));
    expect(told.story.map(({ text }) => text)).toContain(
      '1 request was denied, for “Violation: destructive” (once, first in row 1).',
    );
  });

  it('the whole story, with the rows its sentences rest on', async () => {
    const told = await tell([
      ...call(6 * DAY, { tier: 'red', reasons: ['Violation: destructive', 'Violation: outside hours'] }),
      ...call(6 * DAY - 1, { tier: 'red', tool: 'delete_file' }),
      ...call(5 * DAY, { tier: 'yellow', decided: 'denied' }),
      ...call(5 * DAY - 1, { tier: 'yellow', decided: 'expired' }),
      ...call(HOUR, { tier: 'yellow' }),
      ...call(HOUR - 1, { outcome: 'uncertain' }),
      ...call(HOUR - 2, { outcome: 'failed' }),
    ]);
    expect(told.headline).toBe(
      'In the last 7 days `agent-a` made 7 requests: 2 allowed, 2 denied and 3 sent to a person (1 still waiting).',
    );
    expect(told.story).toEqual([
      {
        text: 'It was busiest in the day of 2026-03-10 with 3 requests, and nothing in 5 of 8 days.',
        seqs: [],
      },
      { text: 'It asked for `read_file` (6 times) and `delete_file` (once).', seqs: [] },
      { text: 'Its requests were of the kind Information Retrieval (100 %).', seqs: [] },
      {
        text: '2 requests were denied, mostly for “Violation: destructive” (twice, first in row 1), also for “Violation: outside hours” (1).',
        seqs: [1, 4],
      },
      {
        text: '3 requests were sent to a person: 1 denied by a person, 1 expired and 1 still waits.',
        seqs: [7, 11, 12, 16, 17],
      },
      { text: 'Of its executions 1 answered with an error.', seqs: [28] },
      {
        text: 'Of 1 call nobody knows whether the tool ran; Gate never runs such a call again.',
        seqs: [24],
      },
    ]);
  });

  it('tells what people decided from what was withdrawn, what Gate denied and what a rule approved', async () => {
    const waited = { tier: 'yellow', decided: 'denied' } as const;
    const byRule = { tier: 'yellow', decided: 'approved', decidedBy: 'system:policy-tier' } as const;
    const told = await tell([
      ...call(6 * HOUR, waited),
      ...call(5 * HOUR, { ...waited, decidedBy: 'system:withdrawn-by-agent' }),
      ...call(4 * HOUR, { ...waited, decidedBy: 'system:tenant-offboard' }),
      ...call(3 * HOUR, { ...waited, decidedBy: 'system:demo-cleanup' }),
      ...call(2 * HOUR, { tier: 'yellow', decided: 'approved' }),
      ...call(HOUR, byRule),
      ...call(HOUR - 1, byRule),
    ]);
    expect(told.outcomes.reviewed).toBe(7);
    expect(told.headline).toBe(
      'In the last 7 days `agent-a` made 7 requests: 5 sent to a person and 2 approved by a rule.',
    );
    const story = told.story.map(({ text }) => text);
    expect(story).toContain(
      '5 requests were sent to a person: 1 approved, 1 denied by a person, 2 denied by Gate and 1 withdrawn by its agent.',
    );
    expect(story).toContain('2 requests were approved by a rule, without a person.');
    expect(told.hil).toMatchObject({ approved: 1, denied: 1, approved_by_rule: 2, denied_by_gate: 2, withdrawn: 1 });
    const ends = told.notable.filter(({ event_kind: kind }) => kind.startsWith('hil.'));
    expect(ends.map(({ summary }) => summary)).toEqual([
      'a rule approved `read_file`: looked at it',
      'a rule approved `read_file`: looked at it',
      '`operator:dev` approved `read_file`: looked at it',
      'Gate denied `read_file`: looked at it',
      'Gate denied `read_file`: looked at it',
      'its agent took `read_file` back: looked at it',
      '`operator:dev` denied `read_file`: looked at it',
    ]);
  });

  it('tells a change that policy denied as no denial by the person who made it', async () => {
    const changed = call(HOUR, { tier: 'yellow', decided: 'denied' }).map(({ agoMs, row }) => ({
      agoMs,
      row:
        row.event_kind === 'hil.denied'
          ? {
              ...row,
              reasoning: 'the changed call is denied: Violation: destructive',
              policy_decision: { ...row.policy_decision, decision: 'modify' },
            }
          : row,
    }));
    const told = await tell([...call(2 * HOUR, { tier: 'yellow', decided: 'denied' }), ...changed]);
    expect(told.hil).toMatchObject({ denied: 1, changed_then_denied: 1, pending: 0 });
    expect(told.story.map(({ text }) => text)).toContain(
      '2 requests were sent to a person: 1 denied by a person and 1 changed by a person and then denied by policy.',
    );
    expect(told.notable[0]?.summary).toBe(
      'policy denied `read_file` as `operator:dev` changed it: the changed call is denied: Violation: destructive',
    );
  });

  it('names the row of a call that waits for a person although a rule might have approved it', async () => {
    const auto = (agoMs: number, change: Omit<TestCall, 'name'> = {}) =>
      call(agoMs, { tier: 'yellow', ...change }).map(({ agoMs: ago, row }) => ({
        agoMs: ago,
        row: { ...row, policy_decision: { ...row.policy_decision, approval_tier: 'auto' } },
      }));
    const told = await tell([
      ...auto(2 * HOUR, { decided: 'approved', decidedBy: 'system:policy-tier' }),
      ...auto(HOUR),
    ]);
    // The last of the nine rows says that the second call waits.
    expect(told.story).toContainEqual({ text: '1 request was sent to a person: 1 still waits.', seqs: [9] });
  });

  it('a call that was parked and closed otherwise waits no longer', async () => {
    const told = await tell([...call(HOUR, { tier: 'yellow', outcome: 'aborted' })]);
    expect(told.hil.pending).toBe(0);
    expect(told.notable.map((row) => row.event_kind)).toEqual(['call.aborted', 'proxy.verdict']);
  });

  it('in observe mode tells what enforcing would have done', async () => {
    const story = await storyOf([
      ...call(HOUR, { tier: 'red', mode: 'observe', outcome: 'completed' }),
      ...call(HOUR + 1, { tier: 'yellow', mode: 'observe' }),
    ]);
    expect(story).toContain('Gate only observed: enforcing would have denied 1 and sent 1 to a person.');
  });

  it.each<[NarrativeWindow, string, number, string]>([
    ['1d', 'hour', 25, '2026-03-09T12:00:00.000Z'],
    ['7d', 'day', 8, '2026-03-03T00:00:00.000Z'],
    ['30d', 'day', 31, '2026-02-08T00:00:00.000Z'],
    ['90d', 'day', 91, '2025-12-10T00:00:00.000Z'],
  ])('the spark line of %s has one point per %s of the clock', async (window, bucket, length, first) => {
    const oldest = { '1d': DAY, '7d': 7 * DAY, '30d': 30 * DAY, '90d': 90 * DAY }[window];
    const { sparkline } = await tell([...call(oldest, { tier: 'red' }), ...call(1, { tier: 'yellow' })], window);
    expect(sparkline.bucket).toBe(bucket);
    expect(sparkline.points).toHaveLength(length);
    expect(sparkline.points[0]).toEqual({ at: first, total: 1, denied: 1, reviewed: 0 });
    expect(sparkline.points.at(-1)).toMatchObject({ total: 1, denied: 0, reviewed: 1 });
  });

  it('notable is what is no routine, newest first, at most 20', async () => {
    const told = await tell([
      ...call(2 * HOUR, { outcome: 'completed' }),
      ...call(HOUR, { tier: 'red', tool: 'drop\u0000\n\u202etable' }),
      { agoMs: 5, row: testRow({ event_kind: 'alarm.reconciled', reasoning: 'closed by hand' }) },
      { agoMs: 4, row: testRow({ event_kind: 'agent.envelope_narrowed', reasoning: '' }) },
      { agoMs: 3, row: testRow({ signal: 'grant_expired', policy_decision: { outcome: 'allow' } }) },
    ]);
    expect(told.notable.map((row) => [row.event_kind, row.summary])).toEqual([
      ['proxy.verdict', '`files.read` was allowed: read of a file the agent owns'],
      ['agent.envelope_narrowed', 'the agent: envelope narrowed'],
      ['alarm.reconciled', 'alarm.reconciled: closed by hand'],
      ['proxy.verdict', '`drop\ufffd\\n\\u{202e}table` was denied: Violation: destructive'],
    ]);
    expect(told.story.at(-1)).toEqual({ text: 'Alarms were raised; look at their rows first.', seqs: [8] });
    const many = await tell(Array.from({ length: 30 }, (_, index) => call(index + 1, { tier: 'red' })).flat());
    expect(many.notable).toHaveLength(20);
    expect(many.notable[0]?.seq).toBe(88);
  });

  it('hides nothing of what deep review found', async () => {
    const finding = (agoMs: number, verdict: string, delta: string, confidence: number): Timed => ({
      agoMs,
      row: testRow({
        method: 'deep_review_finding',
        event_kind: 'deep_review_finding',
        policy_decision: {
          verdict,
          brain_delta: delta,
          confidence,
          reasoning: `so it was ${confidence}`,
          original_correlation_id: correlationOf('x'),
        },
      }),
    });
    const told = await tell([
      finding(4, 'Green', 'Agreed', 0.99),
      finding(3, 'Red', 'Escalated', 0.8),
      finding(2, 'Yellow', 'Downgraded', 0.7),
      finding(1, 'Green', 'Unheard', 1),
    ]);
    expect(told.deep_review).toEqual({
      findings_7d: 4,
      brain_delta: { Agreed: 1, Escalated: 1, Downgraded: 1 },
      top_disagreement: {
        seq: 2,
        at: '2026-03-10T12:29:59.997Z',
        verdict: 'Red',
        brain_delta: 'Escalated',
        confidence: 0.8,
        reasoning: 'so it was 0.8',
        original_correlation_id: correlationOf('x'),
      },
    });
    expect(told.notable.map((row) => row.seq)).toEqual([4, 3, 2]);
    expect(told.story.at(-1)?.text).toBe(
      'Deep review looked at 4 calls in the last 7 days: it agreed with 1, found 1 graver and 1 milder, most surely “so it was 0.8”.',
    );
  });

  it('keeps its size whatever agents write', async () => {
    const rows = Array.from({ length: 6_000 }, (_, index) => ({
      agoMs: index + 1,
      row: testRow({
        tool_name: `tool ${index}`,
        policy_decision: { outcome: 'deny', reasons: [`reason ${index} ${'x'.repeat(500)}`] },
      }),
    }));
    const told = await tell(rows);
    expect(told.tools[0]).toEqual({ tool_name: '(others)', count: 1_000 });
    expect(told.deny_reasons).toHaveLength(20);
    expect(Buffer.byteLength(JSON.stringify(told))).toBeLessThan(64_000);
  });
});
