import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callRows, correlationOf } from '../../../test/support/ledger-calls.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';

const AUDIT = [
  '/audit/agents/agent-a/narrative',
  '/audit/hunt',
  '/audit/replay/corpus?since=2026-01-01T00:00:00Z&limit=5',
];
const ANALYSIS = [
  '/analysis/agent-behavioral-baseline?agent_id=agent-a',
  '/analysis/fleet-behavioral-diff',
  '/analysis/agent-envelope-recommendations?agent_id=agent-a',
  '/analysis/model-upgrade-canary',
  '/analysis/silent-agents',
  '/analysis/agent-activity',
];
const SPEND = '/finops/spend';

let service: TestLedgerService;
const get = (path: string, as = 'service-console') => service.call(`GET ${path}`, undefined, { as });

beforeAll(async () => {
  let now = Date.parse('2026-03-10T12:30:00.000Z');
  service = await ledgerService('sqlite', { ledger: { clock: () => ++now } });
  for (let index = 0; index < 12; index++)
    await service.ledger.append(
      callRows({
        name: `call ${index}`,
        tier: index % 3 === 0 ? 'red' : 'green',
        tenant: index < 6 ? 'acme' : 'other',
        costMicros: 10,
        arguments: { index, text: 'x'.repeat(1_000) },
      }),
    );
});
afterAll(() => service.close());

describe('reports over HTTP', () => {
  it('answers each report in its documented shape', async () => {
    for (const path of [...AUDIT, ...ANALYSIS, SPEND]) expect([path, (await get(path)).status]).toEqual([path, 200]);
  });

  it('narrows a narrative to a window, a tenant or a demonstration session', async () => {
    const total = async (query: string) => {
      const { body } = await get(`/audit/agents/agent-a/narrative?${query}`);
      return [body['window'], body['total']];
    };
    expect(await total('')).toEqual(['7d', 12]);
    expect(await total('window=90d&tenant=other')).toEqual(['90d', 6]);
    expect(await total(`window=1d&tenant=other&demo_session_token=${correlationOf('call 0').slice(0, 8)}`)).toEqual([
      '1d',
      1,
    ]);
  });

  it('clamps the length of a hunt instead of refusing it', async () => {
    for (const limit of ['0', '-5', '99999'])
      expect(await get(`/audit/hunt?limit=${limit}&authorized=false`)).toMatchObject({
        status: 200,
        body: { returned: 1, agents: [{ agent_id: 'agent-a', deny_count: 4 }] },
      });
    expect((await get('/audit/hunt?signal=none&from=2026-03-01T00:00:00Z')).body).toEqual({
      agents: [],
      returned: 0,
      from: '2026-03-01T00:00:00.000Z',
      to: null,
    });
  });

  it('sends the corpus entry by entry, and an empty one', async () => {
    const some = await get('/audit/replay/corpus?since=2026-01-01T00:00:00Z&limit=5&tenant_prefix=oth');
    expect(some.body).toMatchObject({ total_in_window: 6, returned: 5, sampled: true });
    expect(some.body['corpus']).toHaveLength(5);
    expect(some.headers['content-type']).toBe('application/json; charset=utf-8');
    const none = await get('/audit/replay/corpus?since=2026-01-01T00:00:00Z&limit=5&agent_id=nobody');
    expect(none.body).toEqual({ corpus: [], total_in_window: 0, returned: 0, sampled: false });
  });

  it.each([
    ['/audit/agents/agent-a/narrative?window=8d', 'invalid_window'],
    ['/audit/agents/agent-a/narrative?window=365d', 'invalid_window'],
    ['/audit/hunt?from=now', 'invalid_window'],
    ['/audit/hunt?from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z', 'invalid_window'],
    ['/audit/hunt?authorized=maybe', 'invalid_request'],
    ['/audit/hunt?limit=x', 'invalid_request'],
    ['/audit/replay/corpus?limit=5', 'invalid_window'],
    ['/audit/replay/corpus?since=2026-03-02T00:00:00Z&until=2026-03-01T00:00:00Z&limit=5', 'invalid_window'],
    ['/audit/replay/corpus?since=2026-03-02T00:00:00Z', 'invalid_request'],
    ['/audit/replay/corpus?since=2026-03-02T00:00:00Z&limit=5001', 'invalid_request'],
    ['/analysis/agent-behavioral-baseline', 'invalid_request'],
    ['/analysis/agent-behavioral-baseline?agent_id=a&recent_days=0', 'invalid_request'],
    ['/analysis/fleet-behavioral-diff?limit=1001', 'invalid_request'],
    ['/analysis/agent-envelope-recommendations?window_days=30', 'invalid_request'],
    ['/analysis/model-upgrade-canary?window_hours=721', 'invalid_request'],
    ['/analysis/model-upgrade-canary?cutover=noon', 'invalid_window'],
    ['/analysis/silent-agents?since_hours=0', 'invalid_request'],
    ['/finops/spend?window=2026-13', 'invalid_window'],
    ['/finops/spend?window=march', 'invalid_window'],
    ['/finops/spend?tenant=a/b', 'invalid_request'],
  ])('refuses %s with %s', async (path, error) => {
    expect(await get(path)).toMatchObject({ status: 400, body: { error } });
  });

  it('are for those whom the table names', async () => {
    const status = async (paths: readonly string[], as: string) =>
      new Set(await Promise.all(paths.map(async (path) => (await get(path, as)).status)));
    for (const paths of [AUDIT, ANALYSIS, [SPEND]]) {
      expect(await status(paths, 'service-console')).toEqual(new Set([200]));
      expect(await status(paths, 'service-deep-review')).toEqual(new Set([200]));
      expect(await status(paths, 'service-proxy')).toEqual(new Set([paths === ANALYSIS ? 403 : 200]));
      expect(await status(paths, 'service-hil')).toEqual(new Set([403]));
    }
  });
});
