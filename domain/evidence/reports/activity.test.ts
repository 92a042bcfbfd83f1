import { describe, expect, it } from '@jest/globals';
import { agentActivity } from './activity.js';
import type { ReportRow } from './report-rows.js';

const NOW = Date.parse('2026-03-10T12:00:00.000Z');
const HOUR = 3_600_000;

const row = (agoMs: number, change: Partial<ReportRow> = {}): ReportRow => ({
  seq: 1,
  at: new Date(NOW - agoMs).toISOString(),
  id: 'id',
  agentId: 'a',
  agentName: null,
  tenant: 'acme',
  kind: 'proxy.verdict',
  method: 'proxy.verdict',
  authorized: true,
  intent: 'Direct Execution',
  reasoning: '',
  decision: { outcome: 'allow' },
  correlationId: 'call',
  signal: null,
  tool: 'read',
  costMicros: null,
  ...change,
});
async function* pages(...rows: readonly ReportRow[]) {
  for (const one of rows) yield await Promise.resolve([one]);
}
const report = (rows: readonly ReportRow[], limit = 10) =>
  agentActivity({ sinceHours: 24, nowMs: NOW }, limit, pages(...rows));

describe('what agents did', () => {
  it('counts calls by tool and verdict, over equal parts of the window', async () => {
    const { agents, since, until } = await report([
      row(24 * HOUR),
      row(HOUR, { decision: { outcome: 'deny' }, tool: 'pay' }),
      row(HOUR - 1, { decision: { outcome: 'rate_limited' }, tool: 'pay' }),
      row(1, { decision: { outcome: 'park' }, tool: null, correlationId: 'last' }),
      row(1, { kind: 'hil.denied', decision: { decided_by: 'operator:dev' } }),
    ]);
    expect([since, until]).toEqual(['2026-03-09T12:00:00.000Z', '2026-03-10T12:00:00.000Z']);
    expect(agents).toMatchObject([
      {
        agent_id: 'a',
        total: 4,
        allowed: 1,
        denied: 2,
        reviewed: 1,
        denied_by_people: 1,
        last_correlation_id: 'last',
        tools: [
          { tool_name: 'pay', allowed: 0, denied: 2, reviewed: 0 },
          { tool_name: '(none)', allowed: 0, denied: 0, reviewed: 1 },
          { tool_name: 'read', allowed: 1, denied: 0, reviewed: 0 },
        ],
        tools_total: 3,
      },
    ]);
    const points = agents[0]?.points ?? [];
    expect(points).toHaveLength(24);
    expect(points[0]).toEqual({ at: since, total: 1, denied: 0, reviewed: 0 });
    expect(points[23]).toEqual({ at: '2026-03-10T11:00:00.000Z', total: 3, denied: 2, reviewed: 1 });
  });

  it('tells one agent by tier over time, each of its tools, and all together', async () => {
    const rows = [
      row(HOUR, { decision: { outcome: 'allow', tier: 'green' } }),
      row(HOUR, { decision: { outcome: 'park', tier: 'yellow', approval_tier: 'strict' }, tool: 'pay' }),
      row(1, { decision: { outcome: 'park', tier: 'yellow', approval_tier: 'auto' }, tool: 'pay' }),
      row(1, { decision: { outcome: 'park' }, tool: 'pay' }),
      row(1, { decision: { outcome: 'deny', tier: 'red' }, tool: 'pay' }),
      row(1, { decision: { outcome: 'rate_limited' }, tool: 'pay' }),
      // In observe mode what would wait runs, and its tier says so.
      row(1, { decision: { outcome: 'allow', would: 'park', tier: 'yellow', approval_tier: 'standard' }, tool: 'pay' }),
    ];
    const { agents } = await agentActivity({ sinceHours: 2, nowMs: NOW, isOfOne: true }, 1, pages(...rows));
    const over = (then: number, now: number) => {
      const counts = Array.from({ length: 24 }, () => 0);
      [counts[12], counts[23]] = [then, now];
      return counts;
    };
    const pay = { strict: over(1, 0), auto: over(0, 1), standard: over(0, 2), red: over(0, 2) };
    expect(agents[0]?.tools.map(({ tool_name, tiers }) => [tool_name, tiers])).toEqual([
      ['pay', pay],
      ['read', { green: over(1, 0) }],
    ]);
    expect(agents[0]?.tiers).toEqual({ ...pay, green: over(1, 0) });
    expect((await report(rows)).agents[0]).not.toHaveProperty('tiers');
  });

  it('names those with most calls first, as many as asked for, and says how many there were', async () => {
    const { agents, returned, agents_total } = await report(
      [row(3, { agentId: 'b' }), row(2, { agentId: 'c' }), row(1, { agentId: 'c' }), row(1)],
      2,
    );
    expect([agents.map(({ agent_id }) => agent_id), returned, agents_total]).toEqual([['c', 'a'], 2, 3]);
  });

  it.each(['system:withdrawn-by-agent', 'system:tenant-offboard', 'system:demo-cleanup'])(
    'counts no refusal in the name of Gate (%s) as one by a person',
    async (by) => {
      const { agents } = await report([row(2), row(1, { kind: 'hil.denied', decision: { decided_by: by } })]);
      expect(agents).toMatchObject([{ total: 1, denied_by_people: 0 }]);
    },
  );

  it('counts no change that policy denied as a refusal by a person', async () => {
    const decision = { decided_by: 'operator:dev', decision: 'modify' };
    const { agents } = await report([row(2), row(1, { kind: 'hil.denied', decision })]);
    expect(agents).toMatchObject([{ total: 1, denied_by_people: 0 }]);
  });

  it('leaves out an agent of whom only a refusal by a person falls into the window', async () => {
    expect(await report([row(1, { kind: 'hil.denied', decision: { decided_by: 'operator:dev' } })])).toMatchObject({
      agents: [],
      agents_total: 0,
    });
  });

  it('counts the tools beyond two hundred together, whatever they are called', async () => {
    const { agents } = await report(Array.from({ length: 300 }, (_, index) => row(1, { tool: `t${index}` })));
    expect(agents[0]).toMatchObject({ total: 300, allowed: 300, tools_total: 200 });
    expect(agents[0]?.tools).toHaveLength(8);
  });
});
