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
      row(1, { kind: 'hil.denied', decision: {} }),
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

  it('names those with most calls first, as many as asked for, and says how many there were', async () => {
    const { agents, returned, agents_total } = await report(
      [row(3, { agentId: 'b' }), row(2, { agentId: 'c' }), row(1, { agentId: 'c' }), row(1)],
      2,
    );
    expect([agents.map(({ agent_id }) => agent_id), returned, agents_total]).toEqual([['c', 'a'], 2, 3]);
  });

  it('leaves out an agent of whom only a refusal by a person falls into the window', async () => {
    expect(await report([row(1, { kind: 'hil.denied' })])).toMatchObject({ agents: [], agents_total: 0 });
  });

  it('counts the tools beyond two hundred together, whatever they are called', async () => {
    const { agents } = await report(Array.from({ length: 300 }, (_, index) => row(1, { tool: `t${index}` })));
    expect(agents[0]).toMatchObject({ total: 300, allowed: 300, tools_total: 200 });
    expect(agents[0]?.tools).toHaveLength(8);
  });
});
