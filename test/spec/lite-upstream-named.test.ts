import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EchoTools, echoTools, type LiteFixture, openLite } from '../support/lite.js';

describe('the readiness of a lite with one upstream', () => {
  let tools: EchoTools;
  let gate: LiteFixture;
  const OPERATOR = 'the-token-of-an-operator-0123456789';
  beforeAll(async () => {
    tools = await echoTools();
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_DECIDE_TOKEN: OPERATOR });
  });
  afterAll(async () => {
    await gate?.close();
    await tools?.close();
  });

  it('names the upstream where it fails, to an operator alone, and goes on', async () => {
    const list = () => gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
    const headers = { authorization: `Bearer ${OPERATOR}` };
    const told = async () => (await gate.send('GET', '/readyz', { headers })).body;
    expect(await told()).toMatchObject({ details: { upstreams: '0 of 1 answer; 1 not asked yet' } });
    await list();
    expect(await told()).toMatchObject({ details: { upstreams: '1 of 1 answer' } });
    await tools.close();
    await list();
    const failing = expect.stringMatching(/^0 of 1 answer; demo fails since .+ \(unreachable\)$/);
    expect(await told()).toMatchObject({ status: 'ready', details: { upstreams: failing } });
    expect(JSON.stringify((await gate.send('GET', '/readyz')).body)).not.toContain('demo');
  });
});
