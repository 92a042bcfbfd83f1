import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import { GateError } from '../domain/errors.js';
import { eventually } from '../test/support/waiting.js';
import { liteLedger, type TestLiteLedger } from '../test/support/lite-ledger.js';

const CALL = '0190b8d0-0000-7000-8000-000000000001';

const ROW = {
  agent_id: 'bot',
  intent_category: 'Direct Execution' as const,
  authorized: false,
  reasoning: 'denied',
  policy_decision: null,
  state_namespace: 'operator' as const,
  correlation_id: CALL,
  tenant: 'acme',
};

let lite: TestLiteLedger;
/** Rows that were read from the file so far. */
let read: number;
/** What the file does where something must be durable, and where it is opened. */
let durable: () => Promise<void>;
let opening: () => void;

beforeEach(async () => {
  read = 0;
  durable = () => Promise.resolve();
  opening = () => undefined;
  async function* oneByOne(pages: AsyncGenerator<LedgerEntry[]>): AsyncGenerator<LedgerEntry[]> {
    for await (const page of pages)
      for (const row of page) {
        read += 1;
        yield [row];
      }
  }
  const inSteps = (ledger: LedgerInFile): LedgerInFile => ({
    ...ledger,
    pages: (filter) => oneByOne(ledger.pages(filter)),
    agentPages: (agentId, query) => oneByOne(ledger.agentPages(agentId, query)),
  });
  lite = await liteLedger(':memory:', {
    around: ({ file, ledger }) => ({
      ledger: inSteps(ledger),
      file: {
        ...file,
        durable: () => durable(),
        store<Tables>() {
          opening();
          return file.store<Tables>();
        },
      },
    }),
  });
  await lite.ledger.append(['list_files', 'read_file', 'write_file'].map((method) => ({ ...ROW, method })));
});
afterEach(() => lite.close());

const ask = (path: string) => lite.ask(path);

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

  it('stream no row that may still be undone, and lose none that comes in its place', async () => {
    let full = false;
    lite.file.beforeCommit(() => {
      if (full) throw new Error('the disk is full');
    });
    const told: [seq: number, method: string][] = [];
    const following = (async () => {
      // As a browser reads it: one that is cut off goes on behind the last row it has.
      while (told.length < 4) {
        const { body } = await lite.ask('/stream/audit', { 'last-event-id': String(told.at(-1)?.[0] ?? 0) });
        try {
          for await (const bytes of body ?? [])
            for (const [, data] of Buffer.from(bytes)
              .toString()
              .matchAll(/^data: (.*)$/gm)) {
              const { seq, method } = JSON.parse(data ?? '') as LedgerEntry;
              told.push([seq, method]);
              if (told.length >= 4) return;
            }
        } catch {
          // Cut off.
        }
      }
    })();
    await eventually('the rows that there are', () => told.length >= 3);
    for (let times = 0; times < 5; times += 1) {
      full = true;
      await lite.ledger.append([{ ...ROW, method: 'undone' }]);
      await expect(lite.file.durable()).rejects.toMatchObject({ code: 'store_unavailable' });
      full = false;
    }
    await lite.ledger.append([{ ...ROW, method: 'kept' }]);
    await following;
    expect(told).toEqual([
      [1, 'list_files'],
      [2, 'read_file'],
      [3, 'write_file'],
      [4, 'kept'],
    ]);
  });
});
