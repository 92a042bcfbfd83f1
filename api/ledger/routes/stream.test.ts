import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { GateError } from '../../../domain/errors.js';
import type { RowFilter } from '../../../domain/ledger/row-filter.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { ledgerPlace, STORES, testRow } from '../../../test/support/ledger.js';
import { liteLedger } from '../../../test/support/lite-ledger.js';
import type { Caller } from '../../plugins/app.js';
import { createLedgerService } from '../app.js';
import { eventually, timePasses } from '../../../test/support/waiting.js';

interface Event {
  readonly event: string;
  readonly id: number;
  readonly data: Partial<LedgerEntry>;
}

describe.each([...STORES, 'lite'] as const)('GET /stream/audit on %s', (kind) => {
  let ledger: Pick<EvidencedLedger, 'append' | 'newest' | 'close'>;
  let service: { close(): Promise<void> };
  let remove: () => Promise<void>;
  /** Takes the store away. */
  let lose: () => Promise<void>;
  let port: number;
  let operator: Record<string, string> = {};
  let pagesRead: number;
  const open: IncomingMessage[] = [];
  async function* counted(pages: AsyncGenerator<LedgerEntry[]>): AsyncGenerator<LedgerEntry[]> {
    for await (const page of pages) {
      pagesRead += 1;
      yield page;
    }
  }

  beforeEach(async () => {
    pagesRead = 0;
    await (kind === 'lite' ? openInLite() : openInFull(kind));
  }, 60_000);
  afterEach(async () => {
    for (const response of open.splice(0)) response.destroy();
    await service.close();
    await ledger.close();
    await remove();
  });

  async function openInFull(store: (typeof STORES)[number]): Promise<void> {
    const place = await ledgerPlace(store);
    const opened = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys });
    const reader = { ...opened.reader, pages: (filter: RowFilter) => counted(opened.pages(filter)) };
    const inPages: EvidencedLedger = { ...opened, reader };
    const created = createLedgerService({
      ledger: inPages,
      evidence: inPages,
      logger: pino({ level: 'silent' }),
      registry: new Registry(),
      trustDomain: 'gate.local',
      resolveCaller: (request): Caller => ({
        kind: 'service',
        callerId: String(request.headers['x-test-caller'] ?? 'service-console'),
        spiffe: 'spiffe://gate.local/service/test',
        fingerprint: 'ab'.repeat(32),
      }),
    });
    ({ port } = await created.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 }));
    [ledger, service, remove, lose] = [opened, created, place.remove, opened.close];
  }

  async function openInLite(): Promise<void> {
    let lost = false;
    const folder = await mkdtemp(join(tmpdir(), 'gate-stream-'));
    const lite = await liteLedger(join(folder, 'gate-lite.db'), {
      around: ({ file, ledger: given }) => ({
        file: {
          ...file,
          durableFromHere: () =>
            lost ? () => Promise.reject(new GateError('store_unavailable')) : file.durableFromHere(),
        },
        ledger: { ...given, pages: (filter) => counted(given.pages(filter)) },
      }),
    });
    ({ port, headers: operator } = lite);
    ledger = { ...lite.ledger, close: async () => void (await lite.file.close()) };
    service = lite.app;
    lose = () => Promise.resolve().then(() => void (lost = true));
    remove = () => rm(folder, { recursive: true, force: true });
  }

  async function connect(query = '', headers: Record<string, string> = {}): Promise<IncomingMessage> {
    const request = httpGet({
      host: '127.0.0.1',
      port,
      path: `/stream/audit${query}`,
      headers: { ...operator, ...headers },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => {
      // The test, or the service, closed the connection.
    });
    open.push(response);
    return response;
  }

  /** Reads `count` events, then closes the connection. */
  async function events(response: IncomingMessage, count: number): Promise<Event[]> {
    const found: Event[] = [];
    let text = '';
    for await (const chunk of response) {
      text += String(chunk);
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: ([^\n]*)$`, 'm').exec(block)?.[1];
        const [event, id, data] = [field('event'), field('id'), field('data')];
        if (event !== undefined)
          found.push({ event, id: Number(id), data: JSON.parse(data ?? '') as Partial<LedgerEntry> });
      }
      if (found.length >= count) break;
    }
    response.destroy();
    return found.slice(0, count);
  }

  it('sends each new row as an event that carries the row as the reads show it', async () => {
    await ledger.append([testRow()]);
    const response = await connect();
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    const receiving = events(response, 2);
    await ledger.append([testRow({ reasoning: 'line\nline\u2028line' }), testRow()]);
    const received = await receiving;
    expect(received.map(({ event, id }) => [event, id])).toEqual([
      ['entry', 2],
      ['entry', 3],
    ]);
    expect(received.map(({ data }) => data)).toEqual((await ledger.newest(2)).toReversed());
  }, 30_000);

  it('goes on behind Last-Event-ID: over any number of broken connections each row comes once', async () => {
    const writing = (async () => {
      for (let index = 0; index < 40; index++) await ledger.append(Array.from({ length: 10 }, () => testRow()));
    })();
    const seen: number[] = [];
    while (seen.length < 400) {
      const response = await connect('', { 'last-event-id': String(seen.at(-1) ?? 0) });
      const wanted = Math.min(400 - seen.length, 1 + (seen.length % 57));
      for (const { id } of await events(response, wanted)) seen.push(id);
    }
    await writing;
    expect(seen).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
  }, 60_000);

  it('sends the rows of a tenant, or of a demonstration session, only', async () => {
    const row = (change: Parameters<typeof testRow>[0]) => testRow(change);
    const prefix = '0badcafe';
    await ledger.append([
      row({ tenant: 'other' }),
      row({ tenant: 'acme' }),
      row({ correlation_id: `${prefix}-1111-4111-8111-111111111111`, tenant: 'other' }),
      row({ tenant: 'acme', source: 'simulator' }),
    ]);
    const ids = async (query: string, count: number) =>
      (await events(await connect(query, { 'last-event-id': '0' }), count)).map(({ id }) => id);
    expect(await ids('?tenant=acme', 2)).toEqual([2, 4]);
    expect(await ids(`?tenant=acme&demo_session_token=${prefix}`, 2)).toEqual([3, 4]);
  }, 30_000);

  it('tells a reader that knows more than the chain to begin again', async () => {
    await ledger.append([testRow()]);
    const receiving = events(await connect('', { 'last-event-id': '99' }), 2);
    await ledger.append([testRow()]);
    expect((await receiving).map(({ event, id }) => [event, id])).toEqual([
      ['reset', 1],
      ['entry', 2],
    ]);
  }, 30_000);

  it('a reader that does not read costs a few pages, not the chain', async () => {
    for (let index = 0; index < 20; index++)
      await ledger.append(
        Array.from({ length: 100 }, () => testRow({ policy_decision: { text: 'x'.repeat(24_000) } })),
      );
    const response = await connect('', { 'last-event-id': '0' });
    response.pause();
    // Pages are read until the buffers on both sides are full, and then no more.
    let [before, steady] = [-1, 0];
    while (steady < 10) {
      steady = pagesRead > 0 && pagesRead === before ? steady + 1 : 0;
      before = pagesRead;
      await timePasses(50, 'more pages would be read if nobody waited for the reader');
    }
    expect(pagesRead).toBeLessThan(10);
    response.resume();
    expect((await events(response, 2_000)).at(-1)?.id).toBe(2_000);
    expect(pagesRead).toBe(10);
  }, 90_000);

  it('ends when the service closes, though its readers do not', async () => {
    const response = await connect();
    const ended = events(response, 1);
    await service.close();
    expect(await ended).toEqual([]);
  }, 30_000);

  const others = [
    [{ 'x-test-caller': 'service-deep-review' }, 403],
    [{ 'x-test-caller': 'service-proxy' }, 403],
  ] as const;
  it.each([
    [{ 'last-event-id': 'x' }, 400],
    ...(kind === 'lite' ? ([[{ authorization: 'Bearer wrong' }, 403]] as const) : others),
  ])('refuses %j with %d', async (headers: object, status) => {
    expect((await connect('', { ...headers })).statusCode).toBe(status);
    if (status === 400) expect((await connect('?tenant=a/b')).statusCode).toBe(400);
  });

  const person = (n: number) => ({ 'x-gate-stream-holder': String(n).padStart(64, '0') });

  it('ends the oldest stream of a person for a newer one of his, and none of others', async () => {
    const [first, second] = [await connect('?tenant=acme', person(1)), await connect('?tenant=acme', person(1))];
    const other = await connect('?tenant=acme', person(2));
    let said = '';
    first.on('data', (part: Buffer) => (said += part.toString()));
    for (let n = 0; n < 15; n += 1) expect((await connect('?tenant=acme', person(1))).statusCode).toBe(200);
    await eventually('the end', () => first.complete);
    expect(said).toContain('retry: 30000');
    for (const { complete, destroyed } of [second, other]) expect([complete, destroyed]).toEqual([false, false]);
  }, 30_000);

  it('is refused a service that names nobody once it has 32, and nobody whom it names', async () => {
    const some = await Promise.all(Array.from({ length: 33 }, () => connect('?tenant=acme')));
    expect(some.filter(({ statusCode }) => statusCode === 429)).toHaveLength(1);
    expect((await connect('?tenant=acme', person(1))).statusCode).toBe(200);
    expect((await connect('?tenant=acme', { 'x-gate-stream-holder': 'x' })).statusCode).toBe(400);
  }, 30_000);

  it('takes 64 readers of all rows, and the next when one has gone', async () => {
    const readers = await Promise.all(Array.from({ length: 64 }, (_, n) => connect('', person(n))));
    const refused = await connect();
    expect(refused.statusCode).toBe(429);
    readers[0]?.destroy();
    const status = await eventually('a place', async () => {
      const { statusCode } = await connect();
      return statusCode !== 429 && statusCode;
    });
    expect(status).toBe(200);
  }, 30_000);

  it('has places for each tenant that no other tenant takes', async () => {
    const some = await Promise.all(Array.from({ length: 65 }, (_, n) => connect('?tenant=acme', person(n))));
    expect(some.filter(({ statusCode }) => statusCode === 429)).toHaveLength(1);
    for (const query of ['?tenant=globex', '']) expect((await connect(query)).statusCode).toBe(200);
  }, 30_000);

  it('is 503 when the store is gone', async () => {
    await lose();
    expect((await connect()).statusCode).toBe(503);
  });
});
