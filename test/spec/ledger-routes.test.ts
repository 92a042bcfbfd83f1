import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY, routeName } from '../../contracts/route-authority.js';
import type { JsonObject } from '../../contracts/json.js';
import { machineClock } from '../../lite/clock.js';
import { liteKeys } from '../../lite/keys.js';
import { backupLedger } from '../../lite/ledger-file.js';
import { ABSENT } from '../../lite/ledger-routes.js';
import { LOG_ORIGIN } from '../../lite/ledger-transparency.js';
import { ledgerService, type TestLedgerService } from '../support/ledger-service.js';
import { echoTools, type EchoTools, type LiteFixture, openLite } from '../support/lite.js';

const TOKEN = 'operator-token-0123456789-0123456789';
const OTHER = 'operator-of-one-tenant-0123456789-01';
const AGENT = 'agent-token-0123456789-0123456789-ab';

interface Told {
  readonly status: number;
  readonly body: unknown;
}

/** `{call}`, `{row}` and `{other}` stand for a call with rows, one of them, and an id that nobody knows; `{past}` for a whole second. */
const CASES: readonly (readonly [name: string, path: string])[] = [
  ['the agents', '/agents'],
  ['the rows of a call', '/audit/correlation/{call}'],
  ['the rows of a call that nobody knows', '/audit/correlation/{other}'],
  ['what a call was judged by', '/audit/correlation/{call}/policy-input'],
  ['what a call was judged by that nobody knows', '/audit/correlation/{other}/policy-input'],
  ['the rows of an agent', '/audit/bot'],
  ['one row of them', '/audit/bot?limit=1'],
  ['the same by a query', '/audit/agent/rows?agent_id=bot&limit=1'],
  ['none of them', '/audit/bot?limit=0'],
  ['more than a page holds', '/audit/bot?limit=5001'],
  ['their number', '/audit/bot/count'],
  ['those of one tenant', '/audit/bot/count?tenant=nobody'],
  ['a window', '/audit/bot?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z'],
  ['a window that ends before it begins', '/audit/bot?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'],
  ['an invalid time', '/audit/bot?from=yesterday'],
  ['an invalid tenant', '/audit/bot?tenant=a%20b'],
  ['the life of an agent', '/audit/agent/acme/bot/lifecycle'],
  ['what an entry committed to, masked', '/audit/entry/{row}/masked-params'],
  ['of an entry that nobody knows', '/audit/entry/{other}/masked-params'],
  ['of an invalid entry id', '/audit/entry/1/masked-params'],
  ['the chain', '/verify'],
  ['the chain since it was walked last', '/verify?since_checkpoint=true'],
  ['a walk that is neither', '/verify?since_checkpoint=perhaps'],
  ['a path that no table knows', '/audit/a/b/c/d'],
  ['a story', '/audit/agents/bot/narrative'],
  ['a story of a day', '/audit/agents/bot/narrative?window=1d'],
  ['a story of a window that there is not', '/audit/agents/bot/narrative?window=8d'],
  ['a story of nobody', '/audit/agents/nobody/narrative'],
  ['a hunt', '/audit/hunt'],
  ['a hunt for what was refused', '/audit/hunt?authorized=false&limit=1'],
  ['a hunt in a window that ends before it begins', '/audit/hunt?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'],
  ['a hunt for neither', '/audit/hunt?authorized=perhaps'],
  ['the corpus', '/audit/replay/corpus?since=2026-01-01T00:00:00Z&limit=10'],
  ['a sample of it', '/audit/replay/corpus?since=2026-01-01T00:00:00Z&limit=1'],
  ['its rows, page by page', '/audit/replay/rows?limit=10'],
  ['those behind the last', '/audit/replay/rows?since=2026-01-01T00:00:00Z&after=1000000&limit=10'],
  ['a page of none', '/audit/replay/rows?limit=0'],
  ['what people decided', '/audit/replay/decisions?tenant=acme&limit=10'],
  ['what people of no tenant decided', '/audit/replay/decisions?limit=10'],
  ['a corpus without a beginning', '/audit/replay/corpus?limit=10'],
  ['a corpus without an end to it', '/audit/replay/corpus?since=2026-01-01T00:00:00Z'],
  ['what an agent usually does', '/analysis/agent-behavioral-baseline?agent_id=bot'],
  ['of no agent', '/analysis/agent-behavioral-baseline'],
  ['what the fleet does', '/analysis/fleet-behavioral-diff'],
  ['what an agent needs', '/analysis/agent-envelope-recommendations?agent_id=bot'],
  ['in no days', '/analysis/agent-envelope-recommendations?agent_id=bot&window_days=0'],
  ['what a new model changed', '/analysis/model-upgrade-canary'],
  ['what agents did', '/analysis/agent-activity'],
  ['what they did in no time', '/analysis/agent-activity?since_hours=0'],
  ['who is silent', '/analysis/silent-agents'],
  ['what inspection costs', '/finops/spend'],
  ['in an invalid month', '/finops/spend?window=2026-13'],
  ['an invoice', '/finops/active-agents?tenant=acme&as_of={past}&observed_through={past}'],
  ['an invoice as a file', '/finops/active-agents/export?tenant=acme&as_of={past}&observed_through={past}'],
  ['an invoice of no time', '/finops/active-agents?tenant=acme'],
  ['the register', 'POST /compliance/evidence?from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z'],
  ['a register of no window', 'POST /compliance/evidence'],
  ['the cases', '/cases'],
  ['a case that nobody knows', '/cases/{other}'],
  ['who may be silent', '/silence-allowlist'],
  ['the checkpoint', '/checkpoint'],
  ['a proof of a row', '/proof/inclusion?seq=1'],
  ['a proof of it by its id', '/proof/inclusion?id={row}'],
  ['a proof of a row that there is not', '/proof/inclusion?seq=999'],
  ['a proof of no row', '/proof/inclusion'],
  ['a proof that the log only grew', '/proof/consistency?from=1'],
  ['a proof from beyond it', '/proof/consistency?from=999'],
  ['a proof from nowhere', '/proof/consistency'],
  ['copies that nobody made', '/export/iceberg?from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z'],
];

describe('what is asked of the ledger is answered alike by both editions', () => {
  let full: TestLedgerService;
  let lite: LiteFixture;
  let tools: EchoTools;
  let call: string;
  let row: string;
  let frozenMs = 0;
  const now = () => frozenMs || Date.now();
  const asLite = async (request: string, token = TOKEN, headers = {}) => {
    const [method, path] = named(request);
    if (path === '/stream/audit') return opened(path, token);
    return lite.send(method, path, { headers: { authorization: `Bearer ${token}`, ...headers } });
  };

  beforeAll(async () => {
    tools = await echoTools();
    lite = await openLite(
      {
        GATE_LITE_UPSTREAM_URL: tools.url,
        GATE_LITE_AGENTS: `acme/bot:${AGENT}`,
        GATE_LITE_DECIDE_TOKEN: TOKEN,
      },
      { clock: { ...machineClock, now } },
    );
    const headers = { authorization: `Bearer ${AGENT}` };
    const { body } = await lite.call('delete_file', { headers });
    call = body['correlation_id'] as string;
    await lite.call('read_file', { headers });
    await lite.call('wire_transfer', { headers, arguments: { from: 'operating', to: 'vendor', amount: 25 } });
    const rows = (await asLite(`/audit/correlation/${call}`)).body as unknown as JsonObject[];
    row = rows[0]?.['id'] as string;
    frozenMs = Date.now() + 2_000;
    // The same rows, opened by the other edition at the same time.
    const copy = join(lite.folder, 'copy.db');
    await backupLedger(lite.ledger, copy);
    const { ring: sidecarKeys, checkpointKey: privateKey } = liteKeys(lite.ledger, undefined);
    const checkpoints = { origin: LOG_ORIGIN, privateKey, witnesses: [] };
    full = await ledgerService('sqlite', { ledger: { target: { file: copy }, sidecarKeys, checkpoints, clock: now } });
  }, 60_000);
  afterAll(async () => {
    await full.close();
    await lite.close();
    await tools.close();
  });

  /** The head of an answer that never ends, or the refusal of one. */
  const opened = async (path: string, token: string) => {
    const leaving = new AbortController();
    const answer = await fetch(`${lite.lite.url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: leaving.signal,
    });
    const body = answer.status === 200 ? {} : ((await answer.json()) as JsonObject);
    leaving.abort();
    return { status: answer.status, headers: answer.headers, body };
  };
  const named = (request: string): [method: string, path: string] =>
    request.startsWith('/') ? ['GET', request] : (request.split(' ') as [string, string]);
  const other = randomUUID();
  const filled = (request: string) =>
    request
      .replace('{call}', call)
      .replace('{row}', row)
      .replace('{other}', other)
      .replaceAll('{past}', new Date(frozenMs).toISOString().replace(/\.\d+/, ''));
  /** Whole, but for the id of a request that was refused. */
  const toldOf = ({ status, body }: Told) => ({
    status,
    body:
      typeof body === 'string'
        ? { text: body }
        : Array.isArray(body)
          ? body
          : { ...(body as JsonObject), ...(status >= 400 && { correlation_id: '' }) },
  });

  it.each(CASES)('%s', async (_name, request) => {
    const inFull = await full.call<unknown>(named(filled(request)).join(' '));
    expect(toldOf(await asLite(filled(request)))).toEqual(toldOf(inFull));
  });

  it('a window as one file', async () => {
    const request = 'GET /export/iceberg?from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z';
    const accept = { accept: 'application/vnd.apache.parquet' };
    const inFull = await full.call(request, undefined, { headers: accept });
    const { status, headers } = await asLite(request, TOKEN, accept);
    expect([status, headers.get('content-type'), headers.get('x-gate-data-sha256')]).toEqual([
      200,
      accept.accept,
      inFull.headers['x-gate-data-sha256'],
    ]);
  });

  it('with what happened in it', async () => {
    expect((await asLite('/audit/agents/bot/narrative')).body).toMatchObject({ agent_id: 'bot' });
    expect((await asLite('/audit/hunt?authorized=false')).body).toMatchObject({ returned: 1 });
    const { body } = await asLite('/audit/replay/corpus?since=2026-01-01T00:00:00Z&limit=10');
    expect(body).toMatchObject({ total_in_window: 3, returned: 3, corpus: [{ agent_id: 'bot' }, {}, {}] });
    expect((await asLite('/analysis/agent-behavioral-baseline?agent_id=bot')).body).toMatchObject({ agent_id: 'bot' });
  });

  it('with rows in it, and a chain that holds', async () => {
    expect((await asLite(`/audit/correlation/${call}`)).body).toHaveLength(3);
    expect((await asLite('/verify')).body).toMatchObject({ valid: true, cryptographic_verification: {} });
    expect((await asLite('/agents')).body).toEqual({ agents: ['bot'] });
    const { headers, status } = await asLite('/audit/bot?limit=0');
    expect([status, headers.get('x-gate-mode')]).toEqual([400, 'enforce']);
  });

  const ROWS = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].filter(({ service, built }) => service === 'ledger' && built);
  const pathOf = (path: string) => path.replaceAll(/\{\w+\}/g, () => randomUUID());

  it('of each route of the table, or is not there, for a reason that is said', async () => {
    const names = ROWS.map(routeName);
    expect(names).toEqual(expect.arrayContaining(Object.keys(ABSENT)));
    const told: Record<string, unknown> = {};
    for (const { method, path } of ROWS) {
      const { status, body } = await asLite(`${method} ${pathOf(path)}`);
      if (body['error'] === 'not_found') told[`${method} ${path}`] = [status, body['reasoning']];
    }
    expect(told).toEqual(Object.fromEntries(Object.entries(ABSENT).map(([name, why]) => [name, [404, why]])));
  });

  it('by an operator of all tenants; an agent may check the chain, and reads no row; nobody else is heard', async () => {
    for (const row of ROWS) {
      const asked = `${row.method} ${pathOf(row.path)}${row.path === '/proof/consistency' ? '?from=0' : ''}`;
      expect([asked, (await asLite(asked, 'wrong')).status]).toEqual([asked, 401]);
      if (ABSENT[routeName(row)] !== undefined) continue;
      const { status, body } = await asLite(asked, AGENT);
      expect([asked, status, body['error']]).toEqual(
        row.callers === 'public' ? [asked, 200, undefined] : [asked, 403, 'capability_denied'],
      );
    }
    expect(await asLite('/verify', AGENT)).toMatchObject({ status: 200, body: { valid: true } });
  });

  it('and an operator of one tenant reads no rows, which are of all', async () => {
    const ofOne = await openLite({
      GATE_LITE_UPSTREAM_URL: tools.url,
      GATE_LITE_AGENTS: `acme/bot:${AGENT}`,
      GATE_LITE_DECIDERS: `acme:${OTHER}`,
    });
    const ask = (path: string) => ofOne.send('GET', path, { headers: { authorization: `Bearer ${OTHER}` } });
    for (const path of ['/audit/bot', '/agents?tenant=acme', '/audit/hunt?tenant=acme', '/cases'])
      expect(await ask(path)).toMatchObject({ status: 403, body: { error: 'capability_denied' } });
    expect(await ask('/verify')).toMatchObject({ status: 200 });
    await ofOne.close();
  });

  it('and not to a page of somebody else', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, origin: 'https://evil.example' };
    expect(await lite.send('GET', '/audit/bot', { headers })).toMatchObject({
      status: 403,
      body: { error: 'host_not_allowed' },
    });
  });
});
