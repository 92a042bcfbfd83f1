import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { echoTools, type EchoTools, type LiteFixture, openLite } from '../support/lite.js';

const TOKENS = { shown: 'shown-token-0123456789-0123456789', real: 'real-token-0123456789-0123456789' };

describe('the demonstration in lite', () => {
  let tools: EchoTools;
  let gate: LiteFixture;
  beforeEach(async () => {
    tools = await echoTools();
    gate = await openLite({
      GATE_LITE_UPSTREAM_URL: tools.url,
      GATE_LITE_AGENTS: `acme/shown:${TOKENS.shown},acme/real:${TOKENS.real}`,
      GATE_DEMO_AGENTS: 'acme/shown',
    });
  });
  afterEach(async () => {
    await gate.close();
    await tools.close();
  });
  const call = (agent: keyof typeof TOKENS, tool: string, headers: Record<string, string> = {}) =>
    gate.call(tool, { headers: { authorization: `Bearer ${TOKENS[agent]}`, ...headers } });
  async function namespaces(correlationId: string | null): Promise<string[]> {
    const ledger = openLedgerReadOnly(gate.ledger);
    try {
      return [...new Set((await ledger.byCorrelation(correlationId ?? '')).map((row) => row.state_namespace))];
    } finally {
      await ledger.close();
    }
  }

  it('is the calls of the agents the operator named, with their session in the id; no header makes another one', async () => {
    const session = randomUUID().slice(0, 8);
    for (const [agent, namespace] of [
      ['shown', 'demo'],
      ['real', 'operator'],
    ] as const)
      for (const tool of ['read_file', 'wire_transfer']) {
        const answer = await call(agent, tool, {
          'X-Gate-Demo-Prefix': session,
          'X-Gate-State-Namespace': 'demo',
          'X-Gate-Source': 'simulator',
        });
        const id = answer.headers.get('x-gate-correlation-id');
        expect(id?.startsWith(session)).toBe(namespace === 'demo');
        expect(await namespaces(id)).toEqual([namespace]);
      }
    expect(await namespaces((await call('shown', 'read_file')).headers.get('x-gate-correlation-id'))).toEqual(['demo']);
  });

  it.each(['DEADBEEF', 'deadbee', 'deadbeef0', '../../..', ''])('refuses the session name %j', async (prefix) => {
    expect(await call('real', 'read_file', { 'X-Gate-Demo-Prefix': prefix })).toMatchObject({
      status: 400,
      body: { error: 'invalid_mcp' },
    });
  });
});
