import { describe, expect, it } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { createSharedWalk } from './shared-walk.js';

const as = (callerId: string | null) =>
  ({ caller: callerId === null ? null : { callerId, kind: 'agent', spiffe: '', fingerprint: '' } }) as FastifyRequest;
const AGENT = as('agent-workload');

describe('a walk that agents share', () => {
  let nowMs = 0;
  let walks = 0;
  const walk =
    (tookMs = 0) =>
    async () => {
      walks += 1;
      await Promise.resolve();
      nowMs += tookMs;
      return walks;
    };
  const fresh = () => {
    nowMs = 1_000_000;
    walks = 0;
    return createSharedWalk(() => nowMs);
  };

  it('is kept for ten seconds, and nine times as long as it took', async () => {
    const share = fresh();
    expect(await share(AGENT, 'full', walk())).toBe(1);
    nowMs += 9_999;
    expect(await share(AGENT, 'full', walk())).toBe(1);
    nowMs += 1;
    expect(await share(AGENT, 'full', walk(60_000))).toBe(2);
    nowMs += 539_999;
    expect(await share(AGENT, 'full', walk())).toBe(2);
    nowMs += 1;
    expect(await share(AGENT, 'full', walk())).toBe(3);
  });

  it('is one while it runs, also for who shows no certificate, and one for each thing asked', async () => {
    const share = fresh();
    const all = [share(AGENT, 'full', walk()), share(as(null), 'full', walk()), share(AGENT, 'quick', walk())];
    await Promise.all(all);
    expect(walks).toBe(2);
  });

  it('is a walk of its own for a service', async () => {
    const share = fresh();
    await share(AGENT, 'full', walk());
    expect(await share(as('service-console'), 'full', walk())).toBe(2);
  });

  it('keeps a refusal as it keeps an answer', async () => {
    const share = fresh();
    const failing = async () => {
      walks += 1;
      throw new Error('the chain does not hold');
    };
    for (let n = 0; n < 5; n += 1) await expect(share(AGENT, 'checkpoint', failing)).rejects.toThrow('does not hold');
    expect(walks).toBe(1);
  });
});
