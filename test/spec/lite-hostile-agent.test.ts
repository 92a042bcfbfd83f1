import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '../../contracts/json.js';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { signedInAt } from '../support/lite-browser.js';
import { echoTools, type EchoTools, type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { linksIn } from '../support/html.js';

const OPERATOR = 'operator-token-0123456789-0123456789';

let tools: EchoTools;
let gate: LiteFixture;
beforeEach(async () => {
  tools = await echoTools();
});
afterEach(async () => {
  await gate.close();
  await tools.close();
});
const idOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const open = async (env: Record<string, string> = {}) => {
  gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_DECIDE_TOKEN: OPERATOR, ...env });
};

describe('the console before an agent who writes what cannot be seen', () => {
  it('shows it: an approver reads what runs', async () => {
    await open();
    const to = 'acme\u202egro.live\u2066\u009b2J\u200b\u{e0041}\ufe0f';
    await gate.call('wire_transfer', { arguments: { to, amount: 1, 'k\u202eey': 'x' } });
    const { text } = await (await signedInAt(gate.lite)).get('/');
    expect(text).toContain('acme\\u{202e}gro.live\\u{2066}\\u{9b}2J\\u{200b}\\u{e0041}\\u{fe0f}');
    expect(text).toContain('k\\u{202e}ey');
    expect(text).not.toMatch(/[\u202e\u2066\u009b\u200b]|\ufe0f|\u{e0041}/u);
  });
});

describe('an agent that parks more than anybody can look at', () => {
  it('hides nothing at the console either: its list goes on behind the first hundred', async () => {
    await open({ GATE_LITE_VELOCITY_LIMIT: '0', GATE_LITE_MAX_PARKED_CALLS: '200' });
    const ids: unknown[] = [];
    for (let n = 0; n < 101; n += 1)
      ids.push((await gate.call('wire_transfer', { arguments: { n: `number-${n};` } })).body['pending_id']);
    const browser = await signedInAt(gate.lite);
    const rowsOf = (text: string) => [...text.matchAll(/data-row="([0-9a-f-]+)"/g)].map(([, id]) => id);
    const first = (await browser.get('/')).text;
    expect(first).toMatch(/Waiting <span class="count">101</);
    const next = linksIn(first).find(({ rel }) => rel === 'next')?.href ?? '';
    const second = (await browser.get(next)).text;
    expect([rowsOf(first), rowsOf(second)]).toEqual([ids.slice(0, 100), ids.slice(100)]);
    expect(second).not.toContain('rel="next"');
    expect((await browser.get('/hil?cursor=%3Cscript%3E')).text).not.toContain('<script>');
  }, 60_000);

  const AGENTS = {
    GATE_LITE_AGENTS:
      'acme/loud:loud-agent-token-0123456789-0123456789,acme/quiet:quiet-agent-token-0123456789-012345678',
  };
  const as = (who: 'loud' | 'quiet') => ({
    headers: {
      authorization: `Bearer ${who === 'loud' ? 'loud-agent-token-0123456789-0123456789' : 'quiet-agent-token-0123456789-012345678'}`,
    },
  });
  const operator = { headers: { authorization: `Bearer ${OPERATOR}` } };
  const list = async (query = '') => {
    const { body, headers } = await gate.send('GET', `/pending${query}`, operator);
    return { rows: body as unknown as JsonObject[], next: headers.get('x-gate-next-before') };
  };

  it('is stopped by bytes and by rows, with Retry-After and one row in the ledger; nobody else is', async () => {
    await open({ ...AGENTS, GATE_LITE_MAX_PARKED_BYTES: '4194304', GATE_LITE_MAX_PARKED_CALLS: '5' });
    const memo = 'x'.repeat(1_000_000);
    const loud = [];
    for (let n = 0; n < 6; n += 1)
      loud.push(await gate.call('wire_transfer', { arguments: { n, memo }, ...as('loud') }));
    expect(loud.map(({ status }) => status)).toEqual([202, 202, 202, 202, 429, 429]);
    expect(loud[4]).toMatchObject({
      body: { error: 'review_backlog_full', verdict: 'rate_limited', layer: 'hil', key: 'acme/loud' },
    });
    expect(loud[4]?.headers.get('retry-after')).toMatch(/^\d+$/);
    const small = [];
    for (let n = 0; n < 3; n += 1) small.push(await gate.call('wire_transfer', { arguments: { n }, ...as('loud') }));
    expect(small.map(({ status }) => status)).toEqual([202, 429, 429]);
    expect(await gate.call('read_file', as('loud'))).toMatchObject({ status: 200 });
    const quiet = await gate.call('wire_transfer', { arguments: { to: 'vendor' }, ...as('quiet') });
    expect(quiet).toMatchObject({ status: 202 });

    const { rows, next } = await list();
    expect(rows.map(({ agent_id: agent }) => agent)).toEqual(['loud', 'loud', 'loud', 'loud', 'loud', 'quiet']);
    expect(next).toBeNull();
    expect(JSON.stringify(rows)).not.toContain('xxxxxxxx');
    const [whole] = (await gate.send('GET', `/pending?id=${idOf(rows[0]?.['id'])}`, operator))
      .body as unknown as JsonObject[];
    expect(JSON.stringify(whole)).toContain(memo);

    const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: null });
    const told = (await ledger.newest(500)).filter(({ policy_decision: said }) => said?.['outcome'] === 'rate_limited');
    await ledger.close();
    expect(told).toMatchObject([{ agent_id: 'loud', tool_type: 'wire_transfer', authorized: false }]);
  });

  it('may ask again under the same id once there is room', async () => {
    await open({ GATE_LITE_MAX_PARKED_CALLS: '1' });
    const first = await gate.call('wire_transfer');
    const id = randomUUID();
    expect(await gate.call('wire_transfer', { id })).toMatchObject({ status: 429 });
    await gate.send('POST', `/decide/${idOf(first.body['pending_id'])}`, { body: { decision: 'deny' }, ...operator });
    expect(await gate.call('wire_transfer', { id })).toMatchObject({ status: 202 });
    expect(await gate.call('wire_transfer')).toMatchObject({ status: 429 });
  });

  it('pages through all of it, each row once, while others come and go', async () => {
    await open({ GATE_LITE_VELOCITY_LIMIT: '0' });
    const ids: string[] = [];
    for (let n = 0; n < 25; n += 1)
      ids.push(idOf((await gate.call('wire_transfer', { arguments: { n } })).body['pending_id']));
    const seen: string[] = [];
    for (let before = ''; ; ) {
      const { rows, next } = await list(`?limit=4${before}`);
      seen.push(...rows.map(({ id }) => idOf(id)));
      await gate.send('POST', `/decide/${idOf(rows.at(-1)?.['id'])}`, { body: { decision: 'deny' }, ...operator });
      if (next === null) break;
      before = `&before=${next}`;
    }
    expect(seen).toEqual(ids);
  });
});

describe('an agent that asks for more than answers of its own', () => {
  const control = (method: string, id: number | null = 1) =>
    gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', ...(id !== null && { id }), method } });
  const rowsOf = async () => {
    const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: null });
    const rows = await ledger.newest(500);
    await ledger.close();
    return rows;
  };

  it('may make so many control calls a minute, notifications among them; tool calls go on', async () => {
    await open({ GATE_LITE_CONTROL_LIMIT: '5' });
    const statuses = [];
    for (const method of ['initialize', 'tools/list', 'list_tools', 'ping'])
      statuses.push((await control(method)).status);
    statuses.push((await control('notifications/cancelled', null)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 204]);
    for (const method of ['ping', 'prompts/list']) {
      const refused = await control(method);
      expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited', scope: 'agent' } });
      expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    }
    expect(await control('notifications/cancelled', null)).toMatchObject({ status: 429 });
    expect(await gate.call('read_file')).toMatchObject({ status: 200 });
    expect((await rowsOf()).filter(({ policy_decision: said }) => said?.['outcome'] === 'rate_limited')).toHaveLength(
      1,
    );
  });

  it('leaves a row of the control calls that reached the tools, by method, also when Gate stops', async () => {
    const folder = await liteFolder();
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url }, { folder });
    for (let n = 0; n < 3; n += 1) await control('tools/list');
    await control('notifications/initialized', null);
    await gate.close();
    const rows = (await rowsOf()).filter(({ event_kind: kind }) => kind === 'proxy.control');
    expect(rows).toMatchObject([{ agent_id: 'anonymous', policy_decision: { rpc_method: 'tools/list', calls: 3 } }]);
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url }, { folder });
    await gate.close();
    await rm(folder, { recursive: true });
    await open();
  });

  it('is sent earlier results up to so many bytes a minute, in whatever way it asks; a single retry always', async () => {
    await open({ GATE_LITE_REPLAY_BYTES: '300000', GATE_LITE_VELOCITY_LIMIT: '0' });
    tools.answer = (request) => ({
      jsonrpc: '2.0',
      id: request.id ?? null,
      result: { content: [{ type: 'text', text: 'x'.repeat(200_000) }] },
    });
    const ids = Array.from({ length: 8 }, () => randomUUID());
    for (const id of ids) expect((await gate.call('read_file', { id })).status).toBe(200);
    const replies = await Promise.all(ids.map((id) => gate.call('read_file', { id })));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(2);
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(6);
    expect(refused[0]).toMatchObject({ body: { error: 'rate_limited', scope: 'agent' } });
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
    // What was never asked for again, and what holds no result, is not refused.
    expect((await gate.call('read_file')).status).toBe(200);
    expect((await gate.call('delete_file', { id: ids[0] ?? '' })).status).toBe(409);
    expect((await rowsOf()).filter(({ policy_decision: said }) => said?.['outcome'] === 'rate_limited')).toHaveLength(
      1,
    );
  });

  it('may look at earlier calls so often a minute, by every road', async () => {
    await open({ GATE_LITE_REPLAY_LIMIT: '4' });
    const id = randomUUID();
    const { body } = await gate.call('wire_transfer', { id });
    const look = (path: string) => gate.send('GET', path);
    const statuses = [
      (await gate.call('wire_transfer', { id })).status,
      (await look(`/pending/${idOf(body['correlation_id'])}`)).status,
      (await look(`/pending/by-correlation/${idOf(body['correlation_id'])}`)).status,
      (await look(`/authorizations/${idOf(body['correlation_id'])}`)).status,
    ];
    expect(statuses).toEqual([202, 200, 200, 404]);
    expect(await gate.call('wire_transfer', { id })).toMatchObject({ status: 429 });
    for (const path of ['/pending', '/authorizations'])
      expect(await look(`${path}/${idOf(body['correlation_id'])}`)).toMatchObject({ status: 429 });
    expect(await gate.call('read_file', { id: randomUUID() })).toMatchObject({ status: 200 });
  });
});

describe('an agent whose arguments are named like parts of the language', () => {
  it('is judged, shown, sent and remembered as it asked, or refused', async () => {
    await open();
    const given = {
      constructor: 'x',
      prototype: { constructor: 1 },
      hasOwnProperty: true,
      toString: null,
      valueOf: [],
      __defineGetter__: 'y',
      length: 3,
      then: 'z',
      toJSON: 'w',
    };
    const sent = await gate.call('read_file', { arguments: given });
    expect(sent.status).toBe(200);
    expect(JSON.stringify((tools.executed[0] as { params: JsonObject }).params['arguments'])).toBe(
      JSON.stringify(given),
    );
    const parked = await gate.call('wire_transfer', { arguments: { ...given, amount: 1 } });
    const [row] = (
      await gate.send('GET', `/pending?id=${idOf(parked.body['pending_id'])}`, {
        headers: { authorization: `Bearer ${OPERATOR}` },
      })
    ).body as unknown as { request_payload: { params: JsonObject } }[];
    expect(row?.request_payload.params['arguments']).toEqual({ ...given, amount: 1 });
    // The same words where they are no mere data.
    const body = (text: string) =>
      gate.send('POST', '/mcp', {
        body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":${text}}}`,
        headers: {
          'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1',
          'X-Gate-Idempotency-Id': randomUUID(),
        },
      });
    for (const text of [
      '{"__proto__":{"path":"x"}}',
      '{"a":[{"__proto__":null}]}',
      '{"constructor":{"prototype":{"path":"x"}}}',
      '{"\\u005f_proto__":1}',
    ])
      expect(await body(text)).toMatchObject({ status: 400, body: { error: 'invalid_mcp' } });
    expect(tools.executed).toHaveLength(1);
  });
});
