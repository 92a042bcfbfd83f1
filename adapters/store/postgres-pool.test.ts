import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type pg from 'pg';
import { createDecisionTurns, DECISION_TURNS } from '../../domain/review/decision-turns.js';
import { ledgerPlace, NOT_MIGRATED, type TestLedgerPlace } from '../../test/support/ledger.js';
import { eventually } from '../../test/support/waiting.js';
import { postgresPool, type SilenceLimits } from './postgres-pool.js';

const LIMITS: SilenceLimits = { connectMs: 1_000, queryMs: 1_000 };
const PLACES = 2;

/** The way to the server; while it is silent it takes connections and bytes, and nothing comes back. */
let way: Server;
let isSilent: boolean;
let place: TestLedgerPlace;
let pool: pg.Pool;
let db: Kysely<unknown>;
const sockets = new Set<Socket>();
const urlOverWay = (url: string): string => {
  const over = new URL(url);
  over.searchParams.delete('host');
  over.hostname = '127.0.0.1';
  over.port = String((way.address() as AddressInfo).port);
  return over.href;
};

beforeEach(async () => {
  isSilent = false;
  place = await ledgerPlace('postgres', { migrated: NOT_MIGRATED });
  const { url, schema } = place.target as { url: string; schema: string };
  const server = new URL(url);
  way = createServer((socket) => {
    const folder = server.searchParams.get('host');
    const port = server.searchParams.get('port') ?? (server.port || '5432');
    const onward = folder ? connect(`${folder}/.s.PGSQL.${port}`) : connect(Number(port), server.hostname);
    for (const one of [socket, onward]) sockets.add(one.on('error', () => undefined));
    socket.on('data', (bytes) => void (isSilent || onward.write(bytes)));
    onward.on('data', (bytes) => void (isSilent || socket.write(bytes)));
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve));
  pool = postgresPool({ url: urlOverWay(url), schema }, PLACES, LIMITS);
  db = new Kysely({ dialect: new PostgresDialect({ pool }) });
}, 60_000);
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await db.destroy();
  way.close();
  await place.remove();
});

const ask = async (): Promise<unknown> => (await sql<{ one: number }>`select 1 as one`.execute(db)).rows[0]?.one;

describe('a database server that takes connections and says nothing', () => {
  it('is an error to who connects, and asked again when it speaks', async () => {
    isSilent = true;
    await expect(ask()).rejects.toThrow(/timeout|terminated/i);
    isSilent = false;
    expect(await ask()).toBe(1);
  });

  it('is an error to whoever waits for a query, in a transaction or not, and no such connection is used again', async () => {
    await Promise.all([ask(), ask()]);
    const before = [...sockets];
    isSilent = true;
    const waiting = [
      ask(),
      db.transaction().execute(async (transaction) => {
        await sql`select 1`.execute(transaction);
      }),
    ];
    for (const one of await Promise.allSettled(waiting))
      expect(one).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringMatching(/did not answer|timeout/) },
      });
    isSilent = false;
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
    expect(before.every(({ destroyed }) => destroyed)).toBe(true);
  });

  it('leaves the places of decisions free: they go on when it speaks again', async () => {
    const turns = createDecisionTurns({ ...DECISION_TURNS, turnMs: 100, leftBehind: PLACES });
    await ask();
    isSilent = true;
    const hang = Array.from({ length: PLACES }, () => turns.take(ask, 'operator:ana'));
    for (const one of await Promise.allSettled(hang)) expect(one.status).toBe('rejected');
    isSilent = false;
    await eventually('a decision has its turn', () => turns.take(ask, 'operator:ana').catch(() => null));
  });

  it('is waited for where no limit of a query is set', async () => {
    const { url, schema } = place.target as { url: string; schema: string };
    const patient = postgresPool({ url: urlOverWay(url), schema }, 1, { ...LIMITS, queryMs: null });
    const { rows } = await patient.query('select pg_sleep(1.5), 1 as one');
    expect(rows).toMatchObject([{ one: 1 }]);
    await patient.end();
    await expect(sql`select pg_sleep(1.5)`.execute(db)).rejects.toThrow(/did not answer a query within 1 s/);
  });
});
