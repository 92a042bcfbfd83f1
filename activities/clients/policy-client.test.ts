import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createPolicyService } from '../../api/policy/app.js';
import type { Service } from '../../api/plugins/service.js';
import type { PolicyInput } from '../../contracts/policy.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { createPolicyClient } from './policy-client.js';
import type { ServiceFetch } from './service-client.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';

const ordinary: PolicyInput = {
  tool_type: 'wire_transfer',
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0.1,
  current_time: '2026-11-18T10:00:00Z',
  correlation_id: '6f0f5f5e-6f0a-4a54-9a5e-2f1d4c3b2a10',
};
let policies: PolicySet;
let service: Service;
let url: string;

beforeAll(async () => {
  policies = await loadPolicySet({ directory: shippedPolicyDirectory() });
  service = createPolicyService({
    policies,
    registry: new Registry(),
    logger: pino({ level: 'silent' }),
    trustDomain: 'gate.local',
    resolveCaller: () => ({
      kind: 'service',
      spiffe: 'spiffe://gate.local/service/proxy',
      callerId: 'service-proxy',
      fingerprint: 'f'.repeat(64),
    }),
  });
  const { port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
  url = `http://127.0.0.1:${port}`;
});
afterAll(() => service.close());

const answering =
  (status: number, body: unknown): ServiceFetch =>
  async () => ({ status, text: async () => JSON.stringify(body) });

describe('policy over HTTP', () => {
  it('gives the decision the set itself gives', async () => {
    expect(await createPolicyClient({ url, fetch }).evaluate(ordinary)).toEqual(policies.evaluate(ordinary));
  });

  it('passes the correlation id on', async () => {
    const seen: (Record<string, string> | undefined)[] = [];
    const client = createPolicyClient({
      url,
      fetch: (target, init) => {
        seen.push(init.headers);
        return fetch(target, init);
      },
    });
    await client.evaluate(ordinary);
    expect(seen[0]).toMatchObject({ 'x-gate-correlation-id': ordinary.correlation_id });
  });

  it('hands an invalid input back as such', async () => {
    await expect(createPolicyClient({ url, fetch }).evaluate({} as PolicyInput)).rejects.toMatchObject({
      code: 'policy_input_invalid',
      message: expect.stringContaining('tool_type'),
    });
  });

  it.each([
    ['an answer that is no decision', answering(200, { allow: true })],
    ['a refusal of this workload', answering(403, { error: 'capability_denied', reason: 'not listed' })],
    ['a fault of the engine', answering(500, null)],
    ['no set loaded', answering(503, { error: 'policy_unavailable' })],
    ['no connection', () => Promise.reject(new TypeError('fetch failed'))],
    ['an answer that is no JSON', async () => ({ status: 200, text: async () => '<html>' })],
    [
      'no answer in time',
      (_url, { signal }) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    ],
  ] as [string, ServiceFetch][])('takes %s for no decision: policy_unavailable', async (_name, fault) => {
    const client = createPolicyClient({ url, fetch: fault, timeoutMs: 20 });
    await expect(client.evaluate(ordinary)).rejects.toMatchObject({ code: 'policy_unavailable' });
  });
});
