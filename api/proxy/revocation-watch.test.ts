import { describe, expect, it } from '@jest/globals';
import type { RevocationContent } from '../../contracts/identity.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { eventually } from '../../test/support/waiting.js';
import { watchRevocations } from './revocation-watch.js';

const listAfter = (after: number, generation: number, latest = generation): RevocationContent => ({
  trust_domain: 'gate.local',
  after,
  generation,
  latest,
  generated_at: new Date().toISOString(),
  expires_at: new Date(Date.now() + 60_000).toISOString(),
  svids: [],
});

describe('the watch over revocations', () => {
  it('asks at once for all there is, then for what is new, and says once that it fails and that it works again', async () => {
    const mirror = createRevocationMirror({ trustDomain: 'gate.local' });
    const asked: number[] = [];
    const said: string[] = [];
    let away = false;
    const watch = watchRevocations({
      mirror,
      ask(after) {
        asked.push(after);
        if (away) return Promise.reject(new Error('nobody answers'));
        return Promise.resolve(after === 0 ? listAfter(0, 2, 5) : listAfter(after, Math.max(after, 5)));
      },
      everyMs: 1,
      onFault: (reason) => said.push(reason),
      onBack: () => said.push('back'),
    });
    await watch.start();
    expect([asked, mirror.position(), mirror.ageMs() !== null]).toEqual([[0, 2], 5, true]);
    away = true;
    await eventually('it asked while nobody answers', () => said.length === 1);
    const failed = asked.length;
    await eventually('it goes on asking', () => asked.length > failed + 2);
    away = false;
    await eventually('it is told', () => said.length === 2);
    expect(said).toEqual(['nobody answers', 'back']);
    await watch.stop();
    const { length } = asked;
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toHaveLength(length);
  });

  it('resolves its start also where nobody answers', async () => {
    const mirror = createRevocationMirror({ trustDomain: 'gate.local' });
    const said: string[] = [];
    const watch = watchRevocations({
      mirror,
      ask: () => Promise.reject(new Error('nobody answers')),
      onFault: (reason) => said.push(reason),
      onBack: () => undefined,
    });
    await watch.start();
    expect([said, mirror.ageMs()]).toEqual([['nobody answers'], null]);
    await watch.stop();
  });
});
