import { describe, expect, it } from '@jest/globals';
import type { RevocationContent } from '../../contracts/identity.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { eventually } from '../../test/support/waiting.js';
import { watchRevocations } from './revocation-watch.js';

const historyOf = (generation: number): string => String(generation % 10).repeat(64);
const listAfter = (after: number, generation: number, latest = generation): RevocationContent => ({
  trust_domain: 'gate.local',
  after,
  after_history: after > generation ? null : historyOf(after),
  generation,
  history: historyOf(generation),
  latest,
  generated_at: new Date().toISOString(),
  expires_at: new Date(Date.now() + 60_000).toISOString(),
  agents: [],
  standings: [],
  stops: [],
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
      onFault: (reason) => said.push(reason ?? 'back'),
      onOtherHistory: () => said.push('other'),
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
      onFault: (reason) => said.push(reason ?? 'back'),
      onOtherHistory: () => undefined,
    });
    await watch.start();
    expect([said, mirror.ageMs()]).toEqual([['nobody answers'], null]);
    await watch.stop();
  });

  it('asks for all anew where identity has another history, says so once a minute, and goes on', async () => {
    const mirror = createRevocationMirror({ trustDomain: 'gate.local' });
    const asked: number[] = [];
    const said: string[] = [];
    let steady = 0;
    let store: (after: number) => RevocationContent = (after) => listAfter(after, 7);
    const restored = (generation: number) => (after: number) => ({
      ...listAfter(after, generation),
      history: 'f'.repeat(64),
      after_history: after > generation ? null : 'f'.repeat(64),
    });
    const watch = watchRevocations({
      mirror,
      ask(after) {
        asked.push(after);
        return Promise.resolve(store(after));
      },
      everyMs: 1,
      onFault: (reason) => said.push(reason ?? 'back'),
      onOtherHistory: () => said.push('other'),
      steadyMs: () => steady,
    });
    await watch.start();
    store = restored(9);
    await eventually('it knows the other one', () => mirror.position() === 9);
    expect([asked.slice(asked.indexOf(0, 1) - 1).slice(0, 2), said]).toEqual([[7, 0], ['other']]);
    expect(mirror.otherHistoryAtMs()).not.toBe(null);
    store = (after) => listAfter(after, 7);
    await eventually('it knows the first again', () => mirror.position() === 7);
    expect(said).toEqual(['other']);
    steady += 60_000;
    store = restored(4);
    await eventually('it knows one that is behind', () => mirror.position() === 4);
    expect(said).toEqual(['other', 'other']);
    // Two stores, which answer by turns and in parts.
    let turn = 0;
    store = (after) => {
      turn += 1;
      return { ...listAfter(after, after + 1, 99), after_history: historyOf(turn), history: 'e'.repeat(64) };
    };
    await eventually('it says that it cannot', () => said.length === 3);
    expect(said[2]).toBe('identity answers from several histories in turn');
    await watch.stop();
  });
});
