import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '../../contracts/json.js';
import { openLedgerReadOnly } from '../../domain/ledger/read-only.js';
import { echoTools, type EchoTools, type LiteFixture, openLite } from '../support/lite.js';

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

describe('the page before an agent who writes what cannot be seen', () => {
  it('shows it: an approver reads what runs', async () => {
    await open();
    const to = 'acme\u202egro.live\u2066\u009b2J\u200b\u{e0041}\ufe0f';
    await gate.call('wire_transfer', { arguments: { to, amount: 1, 'k\u202eey': 'x' } });
    const login = await gate.send('POST', '/login', {
      body: `token=${OPERATOR}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const { body } = await gate.send('GET', '/', { headers: { cookie } });
    expect(body.text).toContain('acme\\u{202e}gro.live\\u{2066}\\u{9b}2J\\u{200b}\\u{e0041}\\u{fe0f}');
    expect(body.text).toContain('k\\u{202e}ey');
    expect(body.text).not.toMatch(/[\u202e\u2066\u009b\u200b]|\ufe0f|\u{e0041}/u);
  });
});

describe('an agent that parks more than anybody can look at', () => {
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
    for (let n = 0; n < 9; n += 1)
      loud.push(await gate.call('wire_transfer', { arguments: { n, memo }, ...as('loud') }));
    expect(loud.map(({ status }) => status)).toEqual([202, 202, 202, 202, 429, 429, 429, 429, 429]);
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
