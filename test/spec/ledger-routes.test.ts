import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY } from '../../contracts/route-authority.js';
import type { JsonObject } from '../../contracts/json.js';
import { ledgerService, type TestLedgerService } from '../support/ledger-service.js';
import { echoTools, type EchoTools, type LiteFixture, openLite } from '../support/lite.js';

const TOKEN = 'operator-token-0123456789-0123456789';
const OTHER = 'operator-of-one-tenant-0123456789-01';

interface Told {
  readonly status: number;
  readonly body: unknown;
}

/** `{call}`, `{row}` and `{other}` stand for a call with rows, one of them, and an id that nobody knows. */
const CASES: readonly (readonly [name: string, path: string])[] = [
  ['the agents', '/agents'],
  ['the rows of a call', '/audit/correlation/{call}'],
  ['the rows of a call that nobody knows', '/audit/correlation/{other}'],
  ['the rows of an agent', '/audit/bot'],
  ['one row of them', '/audit/bot?limit=1'],
  ['none of them', '/audit/bot?limit=0'],
  ['more than a page holds', '/audit/bot?limit=5001'],
  ['their number', '/audit/bot/count'],
  ['those of one tenant', '/audit/bot/count?tenant=nobody'],
  ['a window', '/audit/bot?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z'],
  ['a window that ends before it begins', '/audit/bot?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'],
  ['a time that is none', '/audit/bot?from=yesterday'],
  ['a tenant that is none', '/audit/bot?tenant=a%20b'],
  ['what an entry committed to, masked', '/audit/entry/{row}/masked-params'],
  ['of an entry that nobody knows', '/audit/entry/{other}/masked-params'],
  ['of an entry that is none', '/audit/entry/1/masked-params'],
  ['the chain', '/verify'],
  ['the chain since it was walked last', '/verify?since_checkpoint=true'],
  ['a walk that is neither', '/verify?since_checkpoint=perhaps'],
  ['a path that no table knows', '/audit/a/b/c/d'],
];

const shapeOf = (body: unknown): unknown =>
  Array.isArray(body)
    ? [...new Set(body.map((row) => JSON.stringify(shapeOf(row))))]
    : { error: (body as JsonObject)['error'], names: Object.keys(body as JsonObject).toSorted() };

describe('what is asked of the ledger is answered alike by both editions', () => {
  let full: TestLedgerService;
  let lite: LiteFixture;
  let tools: EchoTools;
  const ids = { full: { call: '', row: '' }, lite: { call: '', row: '' } };
  const asLite = (path: string, token = TOKEN) =>
    lite.send('GET', path, { headers: { authorization: `Bearer ${token}` } });

  beforeAll(async () => {
    tools = await echoTools();
    lite = await openLite({
      GATE_LITE_UPSTREAM_URL: tools.url,
      GATE_LITE_AGENTS: 'acme/bot:agent-token-0123456789-0123456789-ab',
      GATE_LITE_DECIDE_TOKEN: TOKEN,
    });
    const headers = { authorization: 'Bearer agent-token-0123456789-0123456789-ab' };
    const { body } = await lite.call('delete_file', { headers });
    ids.lite.call = body['correlation_id'] as string;
    const rows = (await asLite(`/audit/correlation/${ids.lite.call}`)).body as unknown as JsonObject[];
    ids.lite.row = rows[0]?.['id'] as string;
    full = await ledgerService('sqlite');
    ids.full.call = randomUUID();
    const [receipt] = await full.ledger.append(
      rows.map((row) => ({
        agent_id: 'bot',
        method: row['method'] as string,
        intent_category: 'Direct Execution' as const,
        authorized: false,
        reasoning: 'denied',
        policy_decision: null,
        state_namespace: 'operator' as const,
        correlation_id: ids.full.call,
        tenant: 'acme',
      })),
    );
    ids.full.row = receipt?.id ?? '';
  }, 60_000);
  afterAll(async () => {
    await lite.close();
    await tools.close();
    await full.close();
  });

  const filled = (path: string, { call, row }: { call: string; row: string }) =>
    path.replace('{call}', call).replace('{row}', row).replace('{other}', randomUUID());
  const toldOf = ({ status, body }: Told) => ({ status, ...(shapeOf(body) as object) });

  it.each(CASES)('%s', async (_name, path) => {
    const inFull = await full.call<unknown>(`GET ${filled(path, ids.full)}`);
    expect(toldOf(await asLite(filled(path, ids.lite)))).toEqual(toldOf(inFull));
  });

  it('with rows in it, and a chain that holds', async () => {
    expect((await asLite(`/audit/correlation/${ids.lite.call}`)).body).toHaveLength(3);
    expect((await asLite('/verify')).body).toMatchObject({ valid: true, entries_checked: 3 });
    expect((await asLite('/agents')).body).toEqual({ agents: ['bot'] });
    const { headers, status } = await asLite('/audit/bot?limit=0');
    expect([status, headers.get('x-gate-mode')]).toEqual([400, 'enforce']);
  });

  it('by an operator of all tenants; an agent may check the chain, and reads no row; nobody else is heard', async () => {
    const agent = 'agent-token-0123456789-0123456789-ab';
    expect(await asLite('/verify', agent)).toMatchObject({ status: 200, body: { valid: true } });
    expect(await asLite('/audit/bot', agent)).toMatchObject({ status: 403, body: { error: 'capability_denied' } });
    expect(await asLite('/audit/bot', 'wrong')).toMatchObject({ status: 401 });
    const other = await openLite({
      GATE_LITE_UPSTREAM_URL: tools.url,
      GATE_LITE_AGENTS: `acme/bot:${agent}`,
      GATE_LITE_DECIDERS: `acme:${OTHER}`,
    });
    const ask = (path: string) => other.send('GET', path, { headers: { authorization: `Bearer ${OTHER}` } });
    expect(await ask('/audit/bot')).toMatchObject({ status: 403, body: { error: 'capability_denied' } });
    expect(await ask('/agents?tenant=acme')).toMatchObject({ status: 403 });
    await other.close();
  });

  it('what of the table lite does not have is not there, for whoever may ask', async () => {
    const rows = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].filter(
      ({ service, method, built }) => service === 'ledger' && method === 'GET' && built,
    );
    const told: Record<string, unknown> = {};
    for (const { path } of rows) {
      const { status, body } = await asLite(path.replaceAll(/\{\w+\}/g, () => randomUUID()));
      if (status === 403 || status === 404) told[path] = [status, body['error']];
    }
    const absent = rows.map(({ path }) => path).filter((path) => told[path] !== undefined);
    expect(absent).toEqual(
      expect.arrayContaining([
        '/checkpoint',
        '/audit/hunt',
        '/audit/replay/corpus',
        '/audit/agents/{agent_id}/narrative',
      ]),
    );
    expect(Object.values(told)).toEqual(absent.map(() => [404, 'not_found']));
    expect((await asLite('/audit/agents/bot/narrative')).body['reasoning']).toContain('gate narrative');
    expect((await asLite('/audit/hunt', 'wrong')).status).toBe(401);
  });

  it('and not to a page of somebody else', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, origin: 'https://evil.example' };
    expect(await lite.send('GET', '/audit/bot', { headers })).toMatchObject({
      status: 403,
      body: { error: 'host_not_allowed' },
    });
  });
});
