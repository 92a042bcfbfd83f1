import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type LiteFixture, openLite } from '../../../../test/support/lite.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../../../../test/support/stack.js';
import { openTransport, type Transport } from '../../agent-sdk/src/mtls.js';
import { connect, GateRefused } from '../src/index.js';

describe('a running lite', () => {
  let gate: LiteFixture;
  const hil = (token = gate.lite.ownDecideToken?.token as string) => connect('hil', { url: gate.lite.url, token });
  const park = async (): Promise<string> => {
    const { status, body } = await gate.call('wire_transfer', { id: randomUUID(), decision: true });
    expect(status).toBe(202);
    return body['correlation_id'] as string;
  };
  beforeAll(async () => {
    gate = await openLite();
  });
  afterAll(() => gate?.close());

  it('has a call that waits decided, and tells both in its stream', async () => {
    const stop = new AbortController();
    const told: string[] = [];
    let correlationId = '';
    for await (const { event, data } of hil().events('/pending/stream', { signal: stop.signal })) {
      if (event === 'open') {
        correlationId = await park();
        continue;
      }
      const { pending } = JSON.parse(data) as { pending: { id: string; correlation_id: string; status: string } };
      expect(pending.correlation_id).toBe(correlationId);
      told.push(pending.status);
      if (pending.status === 'pending')
        await hil().post('/decide/{id}', { path: { id: pending.id }, body: { decision: 'approve', reason: 'seen' } });
      else stop.abort();
    }
    expect(told).toEqual(['pending', 'approved']);
    const [row] = await hil().get('/pending', { query: { status: 'approved', limit: 1 } });
    expect(row).toMatchObject({ correlation_id: correlationId, status: 'approved' });
    const again = hil().post('/decide/{id}', { path: { id: row?.id as string }, body: { decision: 'deny' } });
    await expect(again).rejects.toMatchObject({ status: 409, code: expect.any(String) });
  });

  it.each(['/pending', '/pending/summaries'] as const)('lists all of %s, whatever fits on a page', async (path) => {
    const parked = new Set([await park(), await park(), await park()]);
    const query = { status: 'pending' as const, limit: 2 };
    const found: string[] = [];
    for await (const row of hil().each(path, { query })) found.push(row.correlation_id);
    expect(new Set(found).size).toBe(found.length);
    for (const id of parked) expect(found).toContain(id);
  });

  it('refuses whoever has no token of its', async () => {
    await expect(hil('x'.repeat(32)).get('/pending')).rejects.toThrow(GateRefused);
    await expect(hil('x'.repeat(32)).get('/pending')).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
  });
});

describe('a running stack', () => {
  let gate: TestStack;
  const transports: Transport[] = [];
  /** What an operator's program has: the certificate that may ask, and the name of the service that it asks. */
  const fetchOf = async (service: string): Promise<typeof fetch> => {
    const transport = await openTransport({
      caBundlePath: gate.development.proxy.ca,
      clientCertificatePath: gate.development.console_workload.cert,
      privateKeyPath: gate.development.console_workload.key,
      serverSpiffe: `spiffe://gate.local/service/${service}`,
    });
    transports.push(transport);
    return transport.fetch;
  };
  beforeAll(async () => {
    gate = await startStack();
  }, STACK_START_LIMIT_MS);
  afterAll(async () => {
    for (const transport of transports) transport.close();
    await gate?.stop();
  }, 150_000);

  it('answers by certificate and token: reviews, ledger, agents and policies', async () => {
    const { hil: reviews, ledger: log, identity: agents, policy, operator_token: token } = gate.development;
    await gate.agent('control-bot');
    const hil = connect('hil', { url: reviews.url, token, fetch: await fetchOf('hil') });
    const ledger = connect('ledger', { url: log.url, token, fetch: await fetchOf('ledger') });
    const identity = connect('identity', { url: agents.url, token, fetch: await fetchOf('identity') });
    const policies = connect('policy-engine', { url: policy.url, token, fetch: await fetchOf('policy-engine') });

    expect(await hil.get('/approvals/stats', { query: { window: '24h' } })).toMatchObject({});
    expect(await hil.find('/pending/{id}', { path: { id: randomUUID() } })).toBeNull();
    expect(await ledger.get('/verify')).toMatchObject({ valid: true });
    expect(await ledger.text('/checkpoint')).toContain('\n');
    const names: string[] = [];
    for await (const { agent_name } of identity.each('/agents', { query: { tenant: 'acme' } })) names.push(agent_name);
    expect(names).toEqual([...names].sort());
    expect(await policies.get('/policies')).toEqual(expect.any(Object));

    const stranger = connect('hil', { url: reviews.url, token: 'x'.repeat(32), fetch: await fetchOf('hil') });
    await expect(stranger.get('/pending')).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
    const mistaken = connect('hil', { url: log.url, token, fetch: await fetchOf('hil'), retry: { maxAttempts: 1 } });
    await expect(mistaken.get('/pending')).rejects.toThrow(/the server is not/);
  });
});
