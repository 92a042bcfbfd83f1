import { describe, expect, it } from '@jest/globals';
import { createIdentityClient } from './identity-client.js';

describe('who asks identity what was taken back', () => {
  it('waits longer for all of it, for which identity looks at every certificate, than for what is new', async () => {
    const waiting: ((text: string) => void)[] = [];
    const client = createIdentityClient({
      url: 'https://identity',
      timeoutMs: 1,
      fetch: (_url, { signal }) =>
        new Promise((resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('too late')), { once: true });
          waiting.push((text) => resolve({ status: 200, text: () => Promise.resolve(text) }));
        }),
    });
    const all = client.revocations(0);
    await expect(client.revocations(1)).rejects.toThrow('identity cannot be reached');
    const list = {
      trust_domain: 'gate.local',
      after: 0,
      after_history: null,
      generation: 0,
      history: 'a'.repeat(64),
      latest: 0,
      generated_at: '2026-11-29T10:00:00.000Z',
      expires_at: '2026-11-29T10:05:00.000Z',
      agents: [],
      svids: [],
      standings: [],
      signature: { algorithm: 'ES256', key_id: 'a'.repeat(64), value: '' },
    };
    waiting[0]?.(JSON.stringify(list));
    expect(await all).toEqual(list);
  });
});
