import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { keyRing } from '../domain/crypto/key-ring.js';
import { openStore, type Store } from '../adapters/store/database.js';
import { upstreamSessionMigrations } from '../migrations/upstream-sessions.js';
import { type DemoUpstream, startDemoUpstream } from '../demo/upstream/server.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../test/support/ledger.js';
import { createMcpUpstream } from './mcp-upstream.js';
import { storedSessions, type UpstreamSessionTables } from './stored-sessions.js';
import type { UpstreamSession } from './upstream-sessions.js';
import { eventually, timePasses } from '../test/support/waiting.js';

const ALICE = { tenant: 'acme', agent: 'alice' };
const BOB = { tenant: 'acme', agent: 'bob' };
const LIMIT = { timeoutMs: 20_000 };
const KEYS = keyRing(new Map([['one', Buffer.alloc(32, 'one')]]));
const session = (id: string): UpstreamSession => ({
  id,
  protocolVersion: '2025-06-18',
  capabilities: {},
  serverInfo: {},
});
const never = () => Promise.reject(new Error('was opened again'));

describe.each(STORES)('upstream sessions of several processes, on %s', (kind) => {
  let place: TestLedgerPlace;
  let stores: Store<UpstreamSessionTables>[];
  let clock: number;
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: upstreamSessionMigrations });
    clock = 1_000_000;
    stores = [];
    for (let each = 0; each < 2; each += 1)
      stores.push(await openStore<UpstreamSessionTables>(place.target, upstreamSessionMigrations));
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await place.remove();
  });
  const process = (index: number, { url = 'http://tools/mcp', keys = KEYS, now = () => clock } = {}) =>
    storedSessions(stores[index] as Store<UpstreamSessionTables>, { url, keys, now });

  const claimed = async (agent: string) => {
    const [store] = stores as [Store<UpstreamSessionTables>];
    return store.db.selectFrom('upstream_sessions').select('agent').where('agent', '=', agent).executeTakeFirst();
  };

  it('are one for each agent, opened once however many ask at once', async () => {
    const [here, there] = [process(0, { now: Date.now }), process(1, { now: Date.now })];
    let opened = 0;
    const open = async () => {
      opened += 1;
      await timePasses(100, 'the others ask while it opens');
      return session(`s-${opened}`);
    };
    const found = await Promise.all([here, there, here, there].map((sessions) => sessions.of(ALICE, open)));
    expect(found.map(({ id }) => id)).toEqual(['s-1', 's-1', 's-1', 's-1']);
    expect((await here.of(BOB, open)).id).toBe('s-2');
    expect((await process(1).of(ALICE, never)).id).toBe('s-1');
  });

  it('are opened again by the next where opening failed, or where who opened it died', async () => {
    await expect(process(0).of(ALICE, () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect((await process(1).of(ALICE, async () => session('a'))).id).toBe('a');
    void process(0).of(BOB, () => new Promise(() => undefined));
    await eventually('who opens it has said so', () => claimed(BOB.agent));
    clock += 13_000;
    expect((await process(1).of(BOB, async () => session('b'))).id).toBe('b');
  });

  it('are opened again where the clock was put back after who opened it died', async () => {
    void process(0).of(BOB, () => new Promise(() => undefined));
    await eventually('who opens it has said so', () => claimed(BOB.agent));
    clock -= 3_600_000;
    expect((await process(1).of(BOB, async () => session('b'))).id).toBe('b');
  });

  it('are dropped by whoever finds them gone, and a session that stands already is not', async () => {
    const [here, there] = [process(0), process(1)];
    const first = await here.of(ALICE, async () => session('a'));
    const same = await there.of(ALICE, never);
    await here.drop(ALICE, first);
    const second = await here.of(ALICE, async () => session('b'));
    await there.drop(ALICE, same);
    expect((await there.of(ALICE, never)).id).toBe('b');
    expect(await here.of(ALICE, never)).toBe(second);
  });

  it('belong to one address and one agent: a row that was moved or that no key opens stands for nothing', async () => {
    await process(0).of(ALICE, async () => session('a'));
    expect((await process(0, { url: 'http://other/mcp' }).of(ALICE, async () => session('o'))).id).toBe('o');
    const [store] = stores as [Store<UpstreamSessionTables>];
    await store.db.updateTable('upstream_sessions').set({ agent: 'mallory' }).where('agent', '=', 'alice').execute();
    expect((await process(1).of({ tenant: 'acme', agent: 'mallory' }, async () => session('m'))).id).toBe('m');
    const others = keyRing(new Map([['two', Buffer.alloc(32, 'two')]]));
    expect(
      (await process(1, { keys: others }).of({ tenant: 'acme', agent: 'mallory' }, async () => session('n'))).id,
    ).toBe('n');
    const kept = await store.db.selectFrom('upstream_sessions').selectAll().execute();
    expect(kept.map(({ sealed }) => Buffer.from(sealed ?? []).toString('latin1')).join()).not.toContain('"id"');
  });

  describe('with a server that keeps sessions', () => {
    let dataDir: string;
    let tools: DemoUpstream;
    beforeEach(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'gate-sessions-'));
      tools = await startDemoUpstream({ dataDir, port: 0 });
    });
    afterEach(async () => {
      await tools.close();
      rmSync(dataDir, { recursive: true, force: true });
    });
    const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const listFiles = { ...listing, method: 'tools/call', params: { name: 'list_files', arguments: {} } };

    it('a proxy and a worker are one client, also after the server lost it', async () => {
      const upstreams = stores.map((_store, index) =>
        createMcpUpstream({ url: tools.url, sessions: process(index, { url: tools.url, now: Date.now }) }),
      );
      const [proxy, worker] = upstreams as [(typeof upstreams)[0], (typeof upstreams)[0]];
      const both = () => Promise.all([proxy.control(ALICE, listing, LIMIT), worker.callTool(ALICE, listFiles, LIMIT)]);
      for (const outcome of await both()) expect(outcome).toMatchObject({ kind: 'reply', failed: false });
      expect(tools.state()).toMatchObject({ sessions: 1, counts: { list_files: 1 } });
      const { port } = tools;
      await tools.close();
      tools = await startDemoUpstream({ dataDir, port });
      await timePasses(100, 'nothing outside the client tells when it has read the end of a connection');
      for (const outcome of await both()) expect(outcome).toMatchObject({ kind: 'reply', failed: false });
      expect(tools.state()).toMatchObject({ sessions: 1, counts: { list_files: 2 } });
      await Promise.all(upstreams.map((upstream) => upstream.close()));
      expect(tools.state().sessions).toBe(1);
    });
  });
});
