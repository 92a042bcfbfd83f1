import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Fastify, { type FastifyInstance } from 'fastify';
import type { KyselyPlugin } from 'kysely';
import pino from 'pino';
import { Registry } from 'prom-client';
// Loaded here, because Jest cannot link modules that several imports ask for at once.
import './ledger-service.js';
import '../adapters/evidence/derived.js';
import { ledgerInFile, type LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import { type LocalFile, openLocalFile } from '../adapters/store/local-file.js';
import { testKeys, testRow } from '../test/support/ledger.js';
import { createAccess } from './access.js';
import { ledgerRoutes } from './ledger-routes.js';
import { liteMigrations } from './migrations.js';

const TOKEN = 'operator-token-0123456789-0123456789';
const keys = testKeys();

let folder: string;
let file: LocalFile;
let ledger: LedgerInFile;
let app: FastifyInstance;
/** Statements over lite's own connection, which run where its calls do. */
let statements: number;
let nowMs: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-lite-ledger-'));
  statements = 0;
  nowMs = Date.now();
});
afterEach(async () => {
  await app.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(at: string): Promise<void> {
  file = await openLocalFile({ file: at, migrations: liteMigrations });
  ledger = ledgerInFile(file, { sidecarKeys: keys, clock: () => nowMs });
  app = Fastify();
  const counter: KyselyPlugin = {
    transformQuery({ node }) {
      statements += 1;
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  ledgerRoutes(app as never, {
    file: {
      ...file,
      store<Tables>() {
        const store = file.store<Tables>();
        return { ...store, db: store.db.withPlugin(counter) };
      },
    },
    ledger,
    sidecarKeys: keys,
    access: createAccess({ token: undefined, agents: undefined, deciders: undefined }, TOKEN, 'key'),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    headers: {},
    now: () => nowMs,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
}
const ask = (path: string) => fetch(`${app.listeningOrigin}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
const rows = (count: number) => Array.from({ length: count }, () => testRow({ event_kind: 'proxy.verdict' }));

describe('what lite derives of many rows', () => {
  it('is read by a thread over a connection of its own: no call waits for it', async () => {
    await start(join(folder, 'gate-lite.db'));
    await ledger.append(rows(3));
    await ask('/agents');
    const before = statements;
    for (const path of ['/audit/agents/agent-a/narrative', '/finops/spend', '/analysis/fleet-behavioral-diff'])
      expect((await ask(path)).status).toBe(200);
    expect(await (await ask('/audit/hunt')).json()).toMatchObject({ returned: 1, agents: [{ hit_count: 3 }] });
    expect(statements).toBe(before);
    await app.close();
    expect(await file.close()).toBeNull();
  });

  it('holds what was answered before it was asked, and goes by lite’s own clock', async () => {
    nowMs = Date.parse('2030-01-01T00:00:00Z');
    await start(join(folder, 'gate-lite.db'));
    const hits = async () => (await (await ask('/audit/hunt')).json()) as { agents: { hit_count: number }[] };
    for (const count of [1, 2, 3]) {
      await ledger.append(rows(1));
      await file.durable();
      expect((await hits()).agents[0]?.hit_count).toBe(count);
    }
    nowMs += 3_600_000;
    expect(await (await ask('/audit/agents/agent-a/narrative?window=1d')).json()).toMatchObject({
      generated_at: '2030-01-01T01:00:00.000Z',
    });
    await app.close();
    await file.close();
  });

  it('is read here where the ledger is in memory: no other connection sees it', async () => {
    await start(':memory:');
    await ledger.append(rows(3));
    await ask('/agents');
    const before = statements;
    expect(await (await ask('/audit/hunt')).json()).toMatchObject({ agents: [{ hit_count: 3 }] });
    expect(statements).toBeGreaterThan(before);
    await app.close();
    await file.close();
  });

  it('is an invoice that no later row changes', async () => {
    nowMs = Date.parse('2030-01-01T00:00:10Z');
    await start(join(folder, 'gate-lite.db'));
    const past = '2030-01-01T00:00:10Z';
    await ledger.append(rows(1));
    const invoice = () => ask(`/finops/active-agents?tenant=acme&as_of=${past}&observed_through=${past}`);
    const first = await (await invoice()).json();
    expect(first).toMatchObject({ source: { chain_length: 1 } });
    // The clock still shows the second that was invoiced.
    await ledger.append(rows(1));
    expect(await (await invoice()).json()).toEqual(first);
    await app.close();
    await file.close();
  });

  it.each([0, 1, 5, 20, 60])(
    'ends with the process, %i ms after it was asked; nothing is left open',
    async (afterMs) => {
      await start(join(folder, 'gate-lite.db'));
      await ledger.append(rows(4_000));
      await ask('/audit/hunt?limit=1');
      const asked = ['/audit/hunt', '/verify', '/audit/agent-a', '/audit/agents/agent-a/narrative'].map(
        async (path) => {
          const answer = await ask(path);
          return [answer.status, (await answer.text()).length > 0];
        },
      );
      for (const one of asked) one.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await app.close();
      for (const one of await Promise.allSettled(asked))
        if (one.status === 'fulfilled') expect([200, 503]).toContain(one.value[0]);
      // Nobody reads the file any more, so that it alone holds everything.
      expect(await file.close()).toBeNull();
    },
  );
});
