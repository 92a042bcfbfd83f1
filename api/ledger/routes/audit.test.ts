import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { ledgerRowId } from '../../../domain/call/rows.js';
import { callRows, correlationOf } from '../../../test/support/ledger-calls.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';
import { STORES, testRow } from '../../../test/support/ledger.js';

const AGENT_ID = uuidFromDigest('test', 'registered agent');
const sidecar = (payload: string) => ({ payload_sha256: sha256Hex(payload), payload_canonical_json: payload });

describe.each(STORES)('audit reads on %s', (kind) => {
  let service: TestLedgerService;
  let now = Date.parse('2026-01-02T03:04:05.000Z');

  beforeAll(async () => {
    service = await ledgerService(kind, { ledger: { clock: () => now } });
    const { ledger } = service;
    await ledger.append(
      callRows({ name: 'a', outcome: 'completed', arguments: { path: '/x', mail: 'ann@mail.example.org' } }),
    );
    now += 60_000;
    await ledger.append(callRows({ name: 'b', tier: 'red', tenant: 'other', arguments: { password: 'x' } }));
    now += 60_000;
    await ledger.append([
      testRow({ agent_id: AGENT_ID, event_kind: 'agent.registered', ...sidecar('{"owner_team":"a"}') }),
      testRow({ agent_id: AGENT_ID, event_kind: 'agent.description_changed' }),
      testRow({ agent_id: AGENT_ID, event_kind: 'agent.suspended', tenant: 'other' }),
      testRow({ agent_id: AGENT_ID, event_kind: 'agent.suspended', ...sidecar('not JSON') }),
    ]);
  }, 60_000);
  afterAll(() => service.close());

  const get = (path: string, as?: string) => service.call<never>(`GET ${path}`, undefined, as ? { as } : {});
  const seqs = async (path: string) => ((await get(path)).body as LedgerEntry[]).map((row) => row.seq);

  it.each([
    ['', [1, 2, 3, 4, 5, 6, 7]],
    ['?tenant=other', [5, 6, 7]],
    ['?from=2026-01-02T03:05:05Z', [5, 6, 7]],
    ['?since=2026-01-02T05:05:05%2B02:00', [5, 6, 7]],
    ['?to=2026-01-02T03:05:05.000Z', [1, 2, 3, 4]],
    ['?verdict=deny', [5]],
    ['?reason=Violation:%20destructive', [5, 7]],
    ['?methods=proxy.verdict,upstream.outcome', [1, 4, 5]],
    ['?seq_from=2&seq_to=5&after=2', [3, 4, 5]],
    ['?before=3', [1, 2]],
    ['?limit=3&offset=1', [6, 5, 4]],
    [`?demo_session_token=${correlationOf('b').slice(0, 8)}&tenant=acme`, [5, 6, 7]],
  ])('GET /audit/agent-a%s, and its count', async (query, expected) => {
    expect(await seqs(`/audit/agent-a${query}`)).toEqual(expected);
    if (!query.includes('limit='))
      expect((await get(`/audit/agent-a/count${query}`)).body).toEqual({ count: expected.length });
  });

  it('rows are those that were appended, whether a page or everything was asked for', async () => {
    const all = (await get('/audit/agent-a')).body as LedgerEntry[];
    expect(all).toEqual(((await get('/audit/agent-a?limit=100')).body as LedgerEntry[]).toReversed());
    expect(all[0]).toMatchObject({
      id: ledgerRowId(correlationOf('a'), 'proxy.verdict'),
      authorized: true,
      policy_decision: { outcome: 'allow', tier: 'green' },
      tool_type: 'read_file',
    });
    expect((await get('/audit/agent-a')).headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it.each(['from=yesterday', 'to=2026-01-02', 'since=', 'from=2026-01-02T00:00:01Z&to=2026-01-02T00:00:00Z'])(
    'a bad window is invalid_window: ?%s',
    async (query) => {
      for (const path of ['/audit/agent-a', '/audit/agent-a/count'])
        expect(await get(`${path}?${query}`)).toMatchObject({ status: 400, body: { error: 'invalid_window' } });
    },
  );

  it.each(['demo_session_token=0BADCAFE', 'demo_session_token=0badcaf', 'tenant=a/b', 'seq_from=x', 'methods='])(
    'refuses ?%s',
    async (query) => {
      expect(await get(`/audit/agent-a?${query}`)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    },
  );

  it('the life of a registered agent, each row with what was said in it', async () => {
    const { body } = await get(`/audit/agent/acme/${AGENT_ID}/lifecycle`);
    expect((body as { event_kind: string; payload: unknown }[]).map((row) => [row.event_kind, row.payload])).toEqual([
      ['agent.registered', { owner_team: 'a' }],
      ['agent.description_changed', null],
      ['agent.suspended', 'not JSON'],
    ]);
    expect((await get(`/audit/agent/nobody/${AGENT_ID}/lifecycle`)).body).toEqual([]);
  });

  describe('the parameters of a call, masked', () => {
    const params = async (name: string, event: 'proxy.verdict' | 'policy.evaluated' | 'brain.inspection', query = '') =>
      (await get(`/audit/entry/${ledgerRowId(correlationOf(name), event)}/masked-params${query}`)).body;
    const nothing = { masked_params: null, retention_class: null };

    it('come from the verdict and from the evaluation, with the retention class of the call', async () => {
      const masked = { name: 'read_file', arguments: { path: '/x', mail: '[EMAIL]' } };
      expect(await params('a', 'proxy.verdict')).toEqual({ masked_params: masked, retention_class: 'standard' });
      expect(await params('a', 'policy.evaluated')).toEqual({ masked_params: masked, retention_class: 'standard' });
      expect(await params('b', 'proxy.verdict', '?tenant=other')).toMatchObject({
        masked_params: { arguments: { password: '[MASKED]' } },
      });
    });

    it('are null where the entry holds none, is unknown or is another tenant’s', async () => {
      expect(await params('a', 'brain.inspection')).toEqual({ masked_params: null, retention_class: 'standard' });
      expect(await params('unknown', 'proxy.verdict')).toEqual(nothing);
      expect(await params('a', 'proxy.verdict', '?tenant=other')).toEqual(nothing);
      expect(await params('a', 'proxy.verdict', '?demo_session_token=0badcafe')).toEqual(nothing);
      expect((await get('/audit/entry/nonsense/masked-params')).status).toBe(400);
    });

    it('come from the inspection where Brain kept them, and are gone when that was purged', async () => {
      const maskedParams = { name: 'send', arguments: { to: '[EMAIL]' } };
      await service.ledger.append(callRows({ name: 'kept', agent: 'agent-k', maskedParams }));
      expect(await params('kept', 'brain.inspection')).toEqual({
        masked_params: maskedParams,
        retention_class: 'standard',
      });
      await service.ledger.purgeSidecar(ledgerRowId(correlationOf('kept'), 'brain.inspection'));
      expect(await params('kept', 'brain.inspection')).toEqual({ masked_params: null, retention_class: 'standard' });
    });

    it('are not masked where they are larger than that takes, and as they are up to there', async () => {
      const largest = 'x '.repeat(32_000);
      const many = { a: largest, b: 'y '.repeat(1_000) };
      // As long as Brain says it, with its evidence beside it.
      const maskedParams = { arguments: { a: 'x '.repeat(32_740) } };
      await service.ledger.append([
        ...callRows({ name: 'large', agent: 'agent-l', arguments: { a: largest } }),
        ...callRows({ name: 'larger', agent: 'agent-l', arguments: many, maskedParams }),
      ]);
      expect(await params('large', 'proxy.verdict')).toMatchObject({ masked_params: { arguments: { a: largest } } });
      for (const event of ['proxy.verdict', 'policy.evaluated'] as const)
        expect(await params('larger', event)).toMatchObject({
          masked_params: { too_large: expect.stringContaining('too large') },
        });
      expect(await params('larger', 'brain.inspection')).toMatchObject({ masked_params: maskedParams });
    });

    it('are gone when the request was purged', async () => {
      await service.ledger.append(callRows({ name: 'purged', agent: 'agent-p', arguments: { path: '/y' } }));
      await service.ledger.purgeSidecar(ledgerRowId(correlationOf('purged'), 'proxy.verdict'));
      expect(await params('purged', 'proxy.verdict')).toEqual({ masked_params: null, retention_class: 'standard' });
    });
  });

  it('what a call was judged by says in which lanes a model answered, as long as the evidence is there', async () => {
    const models = async (name: string): Promise<unknown> =>
      ((await get(`/audit/correlation/${correlationOf(name)}/policy-input`)).body as { inspection: JsonObject })
        .inspection['models'];
    await service.ledger.append(
      callRows({ name: 'by models', agent: 'agent-m', answeredBy: { intent: 'large:large-1' } }),
    );
    expect([await models('by models'), await models('a')]).toEqual([['intent by large:large-1'], []]);
    await service.ledger.purgeSidecar(ledgerRowId(correlationOf('by models'), 'brain.inspection'));
    expect(await models('by models')).toBeNull();
  });

  it('are for console, deep review and proxy', async () => {
    for (const path of [
      '/audit/agent-a/count',
      `/audit/agent/acme/${AGENT_ID}/lifecycle`,
      `/audit/entry/${AGENT_ID}/masked-params`,
    ]) {
      expect((await get(path, 'service-proxy')).status).toBe(200);
      expect((await get(path, 'service-deep-review')).status).toBe(200);
      expect((await get(path, 'service-hil')).status).toBe(403);
    }
  });

  it('a store that fails is 503, not a broken list', async () => {
    const broken = await ledgerService(kind);
    await broken.ledger.close();
    for (const path of ['/audit/agent-a', '/audit/agent-a/count', '/audit/correlation/x'])
      expect(await broken.call(`GET ${path}`)).toMatchObject({
        status: 503,
        body: { error: 'ledger_store_unavailable' },
      });
    await broken.close().catch(() => undefined);
  });
});
