import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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
