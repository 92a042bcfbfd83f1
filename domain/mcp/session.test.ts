import { describe, expect, it } from '@jest/globals';
import { keyRing } from '../crypto/key-ring.js';
import type { LogLevel } from './log-levels.js';
import { mcpSessions } from './session.js';

const DAY_MS = 86_400_000;
const KEY = Buffer.alloc(32, 7);
const ONE = { tenant: 'acme', spiffe: 'spiffe://gate.local/tenant/acme/agent/one/instance/a' };

function proxy({
  key = KEY,
  ended = new Map<string, number>(),
  levels = new Map<string, LogLevel>(),
  clock = { ms: 1_000_000 },
} = {}) {
  const store = {
    ended: async (id: string) => ended.has(id),
    async end(id: string, untilMs: number) {
      ended.set(id, untilMs);
    },
    logLevel: async (id: string) => levels.get(id) ?? null,
    async setLogLevel(id: string, level: LogLevel) {
      levels.set(id, level);
    },
  };
  return { sessions: mcpSessions({ keys: keyRing(new Map([['k', key]])), store, now: () => clock.ms }), ended, clock };
}
const opened = (of: ReturnType<typeof proxy>, owner = ONE) => of.sessions.open(owner, '2025-06-18') as string;
const gone = { code: 'session_not_found', status: 404 };

describe('an MCP session, sealed in its id', () => {
  it('is opened by every replica with the key, for every instance of the agent', async () => {
    const id = opened(proxy());
    expect(id).toMatch(/^[\x21-\x7e]+$/);
    const renewed = { ...ONE, spiffe: ONE.spiffe.replace('/instance/a', '/instance/b') };
    expect(await proxy().sessions.find(id, renewed)).toMatchObject({ protocolVersion: '2025-06-18' });
  });

  it('is another one each time', async () => {
    const one = proxy();
    const ids = await Promise.all([opened(one), opened(one)].map(async (id) => (await one.sessions.find(id, ONE)).id));
    expect(ids[0]).not.toBe(ids[1]);
  });

  it.each([
    ['another agent', { ...ONE, spiffe: 'spiffe://gate.local/tenant/acme/agent/two/instance/a' }],
    ['another tenant', { ...ONE, tenant: 'umbrella' }],
    ['an agent whose name goes on', { ...ONE, spiffe: 'spiffe://gate.local/tenant/acme/agent/one.two/instance/a' }],
  ])('is none of %s', async (_, owner) => {
    const one = proxy();
    const id = opened(one);
    await expect(one.sessions.find(id, owner)).rejects.toMatchObject(gone);
    expect(await one.sessions.find(id, ONE)).toBeDefined();
  });

  it('is none under another key, and none where a single byte was changed', async () => {
    const one = proxy();
    const id = opened(one);
    await expect(proxy({ key: Buffer.alloc(32, 8) }).sessions.find(id, ONE)).rejects.toMatchObject(gone);
    const bytes = Buffer.from(id, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      await expect(one.sessions.find(changed.toString('base64url'), ONE)).rejects.toMatchObject(gone);
    }
  });

  it('ends in every replica, and what its end left may be forgotten once its age refuses it', async () => {
    const one = proxy();
    const other = proxy({ ended: one.ended });
    const id = opened(one);
    const session = await one.sessions.find(id, ONE);
    expect(await other.sessions.ended(session)).toBe(false);
    await one.sessions.end(session);
    expect(await other.sessions.ended(session)).toBe(true);
    await expect(other.sessions.find(id, ONE)).rejects.toMatchObject(gone);
    const [untilMs] = [...one.ended.values()];
    expect(untilMs).toBeGreaterThan(one.clock.ms + 30 * DAY_MS);
  });

  it('is too old after 30 days, and not from the future, but for clocks that differ a little', async () => {
    const one = proxy();
    const id = opened(one);
    one.clock.ms += 30 * DAY_MS;
    expect(await one.sessions.find(id, ONE)).toBeDefined();
    one.clock.ms += 1;
    await expect(one.sessions.find(id, ONE)).rejects.toMatchObject(gone);
    one.clock.ms = 1_000_000 - 60_000;
    expect(await one.sessions.find(id, ONE)).toBeDefined();
    one.clock.ms -= 1;
    await expect(one.sessions.find(id, ONE)).rejects.toMatchObject(gone);
  });

  it('is not opened in a revision without sessions', () => {
    expect(proxy().sessions.open(ONE, '2026-07-28')).toBeNull();
  });
});

describe('the level of a session’s log messages', () => {
  it('is its own, holds at once where it was set, and within a second in every other replica', async () => {
    const [levels, clock] = [new Map<string, LogLevel>(), { ms: 1_000_000 }];
    const [here, there] = [proxy({ levels, clock }), proxy({ levels, clock })];
    const [one, two] = [await here.sessions.find(opened(here), ONE), await here.sessions.find(opened(here), ONE)];
    const heard = () =>
      Promise.all([
        here.sessions.logLevel(one),
        there.sessions.logLevel(one),
        here.sessions.logLevel(two),
        there.sessions.logLevel(two),
      ]);
    expect(await heard()).toEqual([null, null, null, null]);
    await here.sessions.setLogLevel(one, 'error');
    expect((await heard())[0]).toBe('error');
    clock.ms += 1_000;
    expect(await heard()).toEqual(['error', 'error', null, null]);
    await there.sessions.setLogLevel(one, 'debug');
    clock.ms -= 60_000;
    expect(await heard()).toEqual(['debug', 'debug', null, null]);
  });

  it('is asked for again where the store did not say it', async () => {
    let isAway = true;
    const store = {
      ended: async () => false,
      end: async () => undefined,
      logLevel: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve('error' as const)),
      setLogLevel: async () => undefined,
    };
    const sessions = mcpSessions({ keys: keyRing(new Map([['k', KEY]])), store, now: () => 1_000_000 });
    const session = await sessions.find(sessions.open(ONE, '2025-06-18') as string, ONE);
    await expect(sessions.logLevel(session)).rejects.toThrow('away');
    isAway = false;
    expect(await sessions.logLevel(session)).toBe('error');
  });
});
