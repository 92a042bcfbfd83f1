import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Fastify, { type FastifyInstance } from 'fastify';
import pino from 'pino';
import { Registry } from 'prom-client';
// Loaded here, because Jest cannot link modules that several imports ask for at once.
import './ledger-service.js';
import '../adapters/evidence/derived.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import { GateError } from '../domain/errors.js';
import { type LedgerInFile, ledgerInFile } from '../adapters/ledger/ledger-in-file.js';
import { type LocalFile, openLocalFile } from '../adapters/store/local-file.js';
import { keyRing } from '../domain/crypto/key-ring.js';
import { createAccess } from './access.js';
import { ledgerRoutes } from './ledger-routes.js';
import { liteMigrations } from './migrations.js';

const TOKEN = 'operator-token-0123456789-0123456789';
const CALL = '0190b8d0-0000-7000-8000-000000000001';

let file: LocalFile;
let app: FastifyInstance;
/** Rows that were read from the file so far. */
let read: number;
/** What the file does where something must be durable, and where it is opened. */
let durable: () => Promise<void>;
let opening: () => void;

beforeEach(async () => {
  read = 0;
  durable = () => Promise.resolve();
  opening = () => undefined;
  file = await openLocalFile({ file: ':memory:', migrations: liteMigrations });
  const sidecarKeys = keyRing(new Map([['k', Buffer.alloc(32, 'k')]]));
  const ledger = ledgerInFile(file, { sidecarKeys });
  await ledger.append(
    ['list_files', 'read_file', 'write_file'].map((method) => ({
      agent_id: 'bot',
      method,
      intent_category: 'Direct Execution' as const,
      authorized: false,
      reasoning: 'denied',
      policy_decision: null,
      state_namespace: 'operator' as const,
      correlation_id: CALL,
      tenant: 'acme',
    })),
  );
  async function* oneByOne(pages: AsyncGenerator<LedgerEntry[]>): AsyncGenerator<LedgerEntry[]> {
    for await (const page of pages)
      for (const row of page) {
        read += 1;
        yield [row];
      }
  }
  const inSteps: LedgerInFile = {
    ...ledger,
    pages: (filter) => oneByOne(ledger.pages(filter)),
    agentPages: (agentId, query) => oneByOne(ledger.agentPages(agentId, query)),
  };
  app = Fastify();
  ledgerRoutes(app as never, {
    file: {
      ...file,
      durable: () => durable(),
      store<Tables>() {
        opening();
        return file.store<Tables>();
      },
    },
    ledger: inSteps,
    sidecarKeys,
    access: createAccess({ token: undefined, agents: undefined, deciders: undefined }, TOKEN, 'key'),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    headers: {},
    now: Date.now,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await app.close();
  await file.close();
});

const ask = (path: string, token = `Bearer ${TOKEN}`) =>
  fetch(`${app.listeningOrigin}${path}`, { headers: { authorization: token } });

describe('the ledger’s reads in lite', () => {
  it('are opened once, by the first request', async () => {
    let opened = 0;
    opening = () => void (opened += 1);
    const answers = await Promise.all(['/agents', '/agents', `/audit/correlation/${CALL}`].map((path) => ask(path)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const once = opened;
    expect(once).toBeGreaterThan(0);
    await ask('/agents');
    expect(opened).toBe(once);
  });

  it('are tried again by the next request where they could not be opened', async () => {
    opening = () => {
      throw new GateError('store_unavailable', 'the file is away');
    };
    expect((await ask('/agents')).status).toBeGreaterThanOrEqual(500);
    opening = () => undefined;
    const answer = await ask('/agents');
    expect([answer.status, await answer.json()]).toEqual([200, { agents: ['bot'] }]);
  });

  it.each(['/agents', '/audit/bot/count', '/verify'])(
    'answer nothing that the file undid meanwhile: %s',
    async (path) => {
      const undone = new GateError('store_unavailable', 'the transaction was undone');
      durable = () => new Promise((_, reject) => setImmediate(reject, undone));
      expect((await ask(path)).status).toBe(503);
      durable = () => Promise.resolve();
      expect((await ask(path)).status).toBe(200);
    },
  );

  it.each([`/audit/correlation/${CALL}`, '/audit/bot'])(
    'break off a list before the first row that the file undid: %s',
    async (path) => {
      const rows = (await (await ask(path)).json()) as LedgerEntry[];
      expect(rows).toHaveLength(3);
      read = 0;
      const undone = new GateError('store_unavailable', 'the transaction was undone');
      durable = () => new Promise((resolve, reject) => setImmediate(() => (read < 2 ? resolve() : reject(undone))));
      let told = '';
      const broken = async () => {
        const { body } = await ask(path);
        for await (const bytes of body ?? []) told += Buffer.from(bytes).toString();
      };
      await expect(broken()).rejects.toThrow();
      expect(told).not.toContain(rows[1]?.id);
    },
  );
});
