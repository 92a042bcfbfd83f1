import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KyselyPlugin } from 'kysely';
import { testRow } from '../test/support/ledger.js';
import { liteLedger, type TestLiteLedger } from '../test/support/lite-ledger.js';
import { someOf } from '../test/support/some-of.js';
import { timePasses } from '../test/support/waiting.js';

let folder: string;
let lite: TestLiteLedger;
/** Statements over lite's own connection, which run where its calls do. */
let statements: number;
let nowMs: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-lite-ledger-'));
  statements = 0;
  nowMs = Date.now();
});
afterEach(async () => {
  await lite.app.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(at = join(folder, 'gate-lite.db')): Promise<void> {
  const counter: KyselyPlugin = {
    transformQuery({ node }) {
      statements += 1;
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  lite = await liteLedger(at, {
    now: () => nowMs,
    around: ({ file }) => ({
      file: {
        ...file,
        store<Tables>() {
          const store = file.store<Tables>();
          return { ...store, db: store.db.withPlugin(counter) };
        },
      },
    }),
  });
}
const ask = (path: string) => lite.ask(path);
const rows = (count: number) => Array.from({ length: count }, () => testRow({ event_kind: 'proxy.verdict' }));

describe('what lite derives of many rows', () => {
  it('is read by a thread over a connection of its own: no call waits for it', async () => {
    await start();
    await lite.ledger.append(rows(3));
    await ask('/agents');
    const before = statements;
    for (const path of ['/audit/agents/agent-a/narrative', '/finops/spend', '/analysis/fleet-behavioral-diff'])
      expect((await ask(path)).status).toBe(200);
    expect(await (await ask('/audit/hunt')).json()).toMatchObject({ returned: 1, agents: [{ hit_count: 3 }] });
    expect(statements).toBe(before);
    await lite.app.close();
    expect(await lite.file.close()).toBeNull();
  });

  it('holds what was answered before it was asked, and goes by lite’s own clock', async () => {
    nowMs = Date.parse('2030-01-01T00:00:00Z');
    await start();
    const hits = async () => (await (await ask('/audit/hunt')).json()) as { agents: { hit_count: number }[] };
    for (const count of [1, 2, 3]) {
      await lite.ledger.append(rows(1));
      await lite.file.durable();
      expect((await hits()).agents[0]?.hit_count).toBe(count);
    }
    nowMs += 3_600_000;
    expect(await (await ask('/audit/agents/agent-a/narrative?window=1d')).json()).toMatchObject({
      generated_at: '2030-01-01T01:00:00.000Z',
    });
    await lite.close();
  });

  it('is refused while the file is moved away, and makes none in its place', async () => {
    await start();
    await lite.ledger.append(rows(3));
    await lite.file.durable();
    await rename(join(folder, 'gate-lite.db'), join(folder, 'moved.db'));
    const answer = await ask('/audit/hunt');
    expect([answer.status, await answer.json()]).toMatchObject([503, { error: 'ledger_store_unavailable' }]);
    expect(await readdir(folder)).not.toContain('gate-lite.db');
    await rename(join(folder, 'moved.db'), join(folder, 'gate-lite.db'));
    expect(await (await ask('/audit/hunt')).json()).toMatchObject({ agents: [{ hit_count: 3 }] });
    await lite.close();
  });

  it('is read here where the ledger is in memory: no other connection sees it', async () => {
    await start(':memory:');
    await lite.ledger.append(rows(3));
    await ask('/agents');
    const before = statements;
    expect(await (await ask('/audit/hunt')).json()).toMatchObject({ agents: [{ hit_count: 3 }] });
    expect(statements).toBeGreaterThan(before);
    await lite.close();
  });

  it('is an invoice that no later row changes', async () => {
    nowMs = Date.parse('2030-01-01T00:00:10Z');
    await start();
    const past = '2030-01-01T00:00:10Z';
    await lite.ledger.append(rows(1));
    const invoice = () => ask(`/finops/active-agents?tenant=acme&as_of=${past}&observed_through=${past}`);
    const first = await (await invoice()).json();
    expect(first).toMatchObject({ source: { chain_length: 1 } });
    // The clock still shows the second that was invoiced.
    await lite.ledger.append(rows(1));
    expect(await (await invoice()).json()).toEqual(first);
    await lite.close();
  });

  it.each([0, ...someOf('ledger service that ends', [1, 5, 20, 60], 1)])(
    'ends with the process, %i ms after it was asked; nothing is left open',
    async (afterMs) => {
      await start();
      await lite.ledger.append(rows(4_000));
      await ask('/audit/hunt?limit=1');
      const asked = ['/audit/hunt', '/verify', '/audit/agent-a', '/audit/agents/agent-a/narrative'].map(
        async (path) => {
          const answer = await ask(path);
          return [answer.status, (await answer.text()).length > 0];
        },
      );
      for (const one of asked) one.catch(() => undefined);
      await timePasses(afterMs, 'the end comes at any moment');
      await lite.app.close();
      for (const one of await Promise.allSettled(asked))
        if (one.status === 'fulfilled') expect([200, 503]).toContain(one.value[0]);
      // Nobody reads the file any more, so that it alone holds everything.
      expect(await lite.file.close()).toBeNull();
    },
  );
});
