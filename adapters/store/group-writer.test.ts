import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Kysely, Migration } from 'kysely';
import { startPostgres, type TestPostgres } from '../../test/support/postgres.js';
import { openStore, type Store } from './database.js';
import { createGroupWriter, type GroupWriter } from './group-writer.js';
import { jobsOver } from './jobs.js';

interface Tables {
  things: { id: number; name: string };
}
const migrations: Record<string, Migration> = {
  '0001-things': {
    async up(db: Kysely<unknown>) {
      await db.schema
        .createTable('things')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .execute();
    },
  },
};

let postgres: TestPostgres;
let folder: string;
let schemas = 0;
beforeAll(async () => {
  postgres = await startPostgres();
  folder = await mkdtemp(join(tmpdir(), 'gate-writer-'));
}, 60_000);
afterAll(async () => {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

describe.each([
  ['SQLite', () => ({ file: join(folder, `${(schemas += 1)}.db`) })],
  ['Postgres', () => ({ url: postgres.url, schema: `writer_${(schemas += 1)}` })],
])('group commit on %s', (_name, target) => {
  let store: Store<Tables>;
  let writer: GroupWriter<Tables>;
  beforeEach(async () => {
    store = await openStore<Tables>(target(), migrations);
    writer = createGroupWriter(store);
  });
  afterEach(() => store.close());

  const put = (id: number, name = `thing ${id}`, options?: { durable?: boolean }) =>
    writer.run(async (transaction) => {
      await transaction.insertInto('things').values({ id, name }).execute();
      return id;
    }, options);
  const ids = async () =>
    (await store.db.selectFrom('things').select('id').orderBy('id').execute()).map(({ id }) => id);

  it('jobs that wait together are committed together, each with its own result', async () => {
    expect(await Promise.all([put(1), put(2, 'two', { durable: false }), put(3)])).toEqual([1, 2, 3]);
    expect(await ids()).toEqual([1, 2, 3]);
  });

  it('a job sees what the jobs before it did', async () => {
    const [, seen] = await Promise.all([
      put(1),
      writer.run((transaction) => transaction.selectFrom('things').select('name').execute()),
    ]);
    expect(seen).toEqual([{ name: 'thing 1' }]);
  });

  it('a job that fails after a write is undone alone; the others of its batch stand', async () => {
    const [first, failed, last] = await Promise.allSettled([
      put(1),
      writer.run(async (transaction) => {
        await transaction.insertInto('things').values({ id: 2, name: 'never' }).execute();
        await transaction.insertInto('things').values({ id: 1, name: 'twice' }).execute();
      }),
      put(3),
    ]);
    expect([first.status, failed.status, last.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await ids()).toEqual([1, 3]);
  });

  it('a job that fails alone leaves nothing, says why, and the writer goes on', async () => {
    await expect(
      writer.run(async (transaction) => {
        await transaction.insertInto('things').values({ id: 1, name: 'never' }).execute();
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    expect(await ids()).toEqual([]);
    expect(await put(1)).toBe(1);
    expect(await ids()).toEqual([1]);
  });

  it('drained resolves when everything queued so far is stored', async () => {
    const jobs = [put(1), put(2)];
    await writer.drained();
    expect(await ids()).toEqual([1, 2]);
    await Promise.all(jobs);
  });

  it('a store that is gone rejects every job of the batch', async () => {
    await store.close();
    const outcomes = await Promise.allSettled([put(1), put(2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    store = await openStore<Tables>(target(), migrations);
  });
});

it('waits once for a process that has locked the SQLite file, then shortly, is not ready meanwhile, and goes on when the lock is gone', async () => {
  const file = join(folder, 'locked.db');
  const store = await openStore<Tables>({ file }, migrations);
  const jobs = jobsOver(store);
  const writer = createGroupWriter(store);
  const other = new DatabaseSync(file);
  const waitMs = () =>
    (store.sqlite?.prepare('pragma busy_timeout').get() as { timeout: number } | undefined)?.timeout ?? NaN;
  const put = (id: number) =>
    writer.run((transaction) => transaction.insertInto('things').values({ id, name: 'thing' }).execute());
  const ordinaryMs = waitMs();
  try {
    await expect(jobs.ready()).resolves.toBeUndefined();
    other.exec('begin immediate');
    await expect(put(1)).rejects.toThrow('database is locked');
    expect(waitMs()).toBeLessThan(ordinaryMs / 10);
    await expect(put(2)).rejects.toThrow('database is locked');
    await expect(jobs.ready()).rejects.toThrow('database is locked');
    other.exec('rollback');
    await expect(jobs.ready()).resolves.toBeUndefined();
    await put(3);
    expect(waitMs()).toBe(ordinaryMs);
    expect(await store.db.selectFrom('things').select('id').execute()).toEqual([{ id: 3 }]);
  } finally {
    other.close();
    await jobs.close();
  }
});
