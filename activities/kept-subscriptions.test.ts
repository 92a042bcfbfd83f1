import { describe, expect, it } from '@jest/globals';
import { LONGEST_URI, MOST_PER_AGENT } from '../domain/mcp/held-subscriptions.js';
import type { UpstreamCaller } from '../domain/upstream/upstream.js';
import { keptSubscriptions, MOST_CHARACTERS } from './kept-subscriptions.js';
import type { UpstreamSession } from './upstream-sessions.js';

const ALICE: UpstreamCaller = { tenant: 'acme', agent: 'alice' };
const session = (id: string | null) => ({ id }) as UpstreamSession;

describe('the subscriptions of agents', () => {
  it('are made over a session once, whichever process took it from the store', () => {
    const kept = keptSubscriptions();
    kept.keep(ALICE, 'test://a', session('one'));
    expect(kept.notOver(ALICE, session('one'))).toEqual([]);
    expect(kept.notOver(ALICE, session('two'))).toEqual(['test://a']);
    kept.keep(ALICE, 'test://a', session('two'));
    expect(kept.notOver(ALICE, session('two'))).toEqual([]);
    const without = session(null);
    kept.keep(ALICE, 'test://a', without);
    expect([kept.notOver(ALICE, without), kept.notOver(ALICE, session(null))]).toEqual([[], ['test://a']]);
  });

  it('are an agent’s own, with what its client can be asked', () => {
    const kept = keptSubscriptions();
    kept.keep(ALICE, 'test://a', session('one'));
    for (const other of [
      { ...ALICE, tenant: 'umbrella' },
      { ...ALICE, client_can: ['elicitation' as const] },
    ])
      expect([kept.has(other, 'test://a'), kept.notOver(other, session('two'))]).toEqual([false, []]);
  });

  it('are what somebody says who knows better, and those that it does not name are none', () => {
    const kept = keptSubscriptions();
    for (const uri of ['test://a', 'test://b']) kept.keep(ALICE, uri, session('one'));
    kept.know(ALICE, ['test://c', 'test://a', 'x'.repeat(LONGEST_URI + 1)]);
    expect([kept.has(ALICE, 'test://b'), kept.notOver(ALICE, session('one'))]).toEqual([false, ['test://c']]);
    expect(kept.notOver(ALICE, session('two'))).toEqual(['test://c', 'test://a']);
    kept.know(
      ALICE,
      Array.from({ length: MOST_PER_AGENT + 1 }, (_, at) => `test://${at}`),
    );
    expect([kept.has(ALICE, 'test://0'), kept.has(ALICE, 'test://1')]).toEqual([false, true]);
    kept.know(ALICE, []);
    expect(kept.notOver(ALICE, session('two'))).toEqual([]);
  });

  it('take so much memory and no more, whatever agents write', () => {
    const kept = keptSubscriptions();
    const uri = (at: number, length = LONGEST_URI) => `test://${at}/`.padEnd(length, 'x');
    kept.keep(ALICE, uri(0, LONGEST_URI + 1), session('one'));
    expect(kept.notOver(ALICE, session('two'))).toEqual([]);
    const agents = Array.from({ length: 50 }, (_, at) => ({ ...ALICE, agent: `agent-${at}` }));
    for (const agent of agents)
      for (let at = 0; at < MOST_PER_AGENT; at += 1) kept.keep(agent, uri(at), session('one'));
    const of = agents.map((agent) => kept.notOver(agent, session('two')));
    expect(of.flat().reduce((sum, one) => sum + one.length, 0)).toBeLessThanOrEqual(MOST_CHARACTERS);
    // Those of who used theirs last.
    expect([of[0]?.length, of.at(-1)?.length]).toEqual([0, MOST_PER_AGENT]);
  });

  it('are forgotten when they are dropped, and the oldest of too many', () => {
    const kept = keptSubscriptions();
    for (let at = 0; at < MOST_PER_AGENT; at += 1) kept.keep(ALICE, `test://${at}`, session('one'));
    kept.keep(ALICE, 'test://0', session('one'));
    expect(kept.notOver(ALICE, session('two'))).toHaveLength(MOST_PER_AGENT);
    kept.keep(ALICE, 'test://more', session('one'));
    expect(kept.notOver(ALICE, session('two'))).toHaveLength(MOST_PER_AGENT);
    expect([kept.has(ALICE, 'test://0'), kept.has(ALICE, 'test://1')]).toEqual([false, true]);
    kept.drop(ALICE, 'test://more');
    expect(kept.has(ALICE, 'test://more')).toBe(false);
  });
});
