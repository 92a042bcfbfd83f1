import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { sql, type Migration } from 'kysely';
import { GateError } from '../../domain/errors.js';
import { askOf } from './jobs.js';
import { openLocalFile, type LocalFile } from './local-file.js';
import { statement } from './statement.js';
import { eventually } from '../../test/support/waiting.js';

const things: Record<string, Migration> = {
  '0001-things': {
    up: async (db) => void (await sql`create table things (id integer primary key, text text)`.execute(db)),
  },
};

let folder: string;
let file: LocalFile;
const open = (maxPages?: number) =>
  openLocalFile({ file: join(folder, 'a.db'), migrations: { things }, ...(maxPages !== undefined && { maxPages }) });
const insert = (id: number, text = 'x') =>
  file.apply(() => void file.connection.prepare('insert into things values (?, ?)').run(id, text));
/** What somebody else sees in the file. */
const seen = () => {
  const other = new DatabaseSync(join(folder, 'a.db'), { readOnly: true });
  const ids = (other.prepare('select id from things order by id').all() as { id: number }[]).map(({ id }) => id);
  other.close();
  return ids;
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-file-'));
  file = await open();
});
afterEach(async () => {
  await file.close().catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

describe('one file that one process writes', () => {
  it('is read by its own process at once and by others when it is durable', async () => {
    insert(1);
    expect(file.connection.prepare('select count(*) as n from things').get()).toMatchObject({ n: 1 });
    expect(seen()).toEqual([]);
    await file.durable();
    expect(seen()).toEqual([1]);
  });

  it('runs a written statement at once, in the open transaction, and durable with it', async () => {
    const ask = askOf(file.store());
    insert(1);
    const inserted = ask(statement('insert into things values (?, ?)'), 2, 'y');
    expect(file.connection.prepare('select count(*) as n from things').get()).toMatchObject({ n: 2 });
    expect(await inserted).toEqual({ rows: [], changes: 1 });
    const { rows } = await ask(statement<{ id: number; text: string }>('select id, text from things where id = ?'), 2);
    expect(rows).toEqual([{ id: 2, text: 'y' }]);
    expect(seen()).toEqual([]);
    await file.durable();
    expect(seen()).toEqual([1, 2]);
  });

  it('begins a transaction for a written statement that changes something, and none for one that reads', async () => {
    const ask = askOf(file.store());
    await ask(statement('select id from things'));
    expect(file.connection.isTransaction).toBe(false);
    await ask(statement('insert into things values (?, ?)'), 3, 'z');
    expect(file.connection.isTransaction).toBe(true);
    await file.durable();
    expect(seen()).toEqual([3]);
  });

  it('makes whatever was applied before the call durable, also while a sync is under way', async () => {
    insert(1);
    const first = file.durable();
    await new Promise((resolve) => setImmediate(resolve));
    insert(2);
    await Promise.all([first, file.durable()]);
    expect(seen()).toEqual([1, 2]);
  });

  it('shares one transaction among those that wait in the same turn', async () => {
    let commits = 0;
    file.beforeCommit(() => (commits += 1));
    await Promise.all(
      Array.from({ length: 20 }, async (_, id) => {
        insert(id);
        await file.durable();
      }),
    );
    expect(commits).toBe(1);
    expect(seen()).toHaveLength(20);
  });

  it('commits what nobody waits for soon after', async () => {
    insert(1);
    await eventually('the commit', () => seen().length > 0);
    expect(seen()).toEqual([1]);
  });

  it('undoes a transaction in which a statement failed: every waiter is told, listeners too, and the next one works', async () => {
    const told: GateError[] = [];
    file.onUndone((why) => told.push(why));
    insert(1);
    const waiting = file.durable();
    expect(() => insert(1)).toThrow(GateError);
    await expect(waiting).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(told).toHaveLength(1);
    insert(2);
    await file.durable();
    expect(seen()).toEqual([2]);
  });

  it('tells whoever waits for the disk only after an undo that what he applied before it is gone, and nobody who came later', async () => {
    let failing = true;
    let tried = 0;
    file.beforeCommit(() => {
      tried += 1;
      if (failing) throw new Error('database or disk is full');
    });
    const onDisk = file.durableFromHere();
    insert(1);
    await eventually('the commit that fails', () => tried > 0);
    failing = false;
    await expect(onDisk()).rejects.toMatchObject({ code: 'store_unavailable' });
    const next = file.durableFromHere();
    const before = tried;
    insert(2);
    await eventually('the next commit', () => tried > before);
    await next();
    await expect(onDisk()).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(seen()).toEqual([2]);
  });

  it('keeps a transaction whose job refused before it changed anything', async () => {
    insert(1);
    const refuse = () => {
      throw new GateError('already_decided');
    };
    expect(() => file.apply(refuse)).toThrow(GateError);
    await file.durable();
    expect(seen()).toEqual([1]);
  });

  it('says that the disk is full, undoes, and keeps what was durable', async () => {
    await file.close();
    file = await open(12);
    insert(1);
    await file.durable();
    const fill = async () => {
      for (let id = 2; id < 200; id += 1) insert(id, 'x'.repeat(4_000));
      await file.durable();
    };
    await expect(fill()).rejects.toThrow('the disk is full');
    expect(seen()).toEqual([1]);
    insert(2);
    await file.durable();
    expect(seen()).toEqual([1, 2]);
  });

  it('counts the migrations of each authority apart, and opens again', async () => {
    await file.close();
    const other: Record<string, Migration> = {
      '0001-others': { up: async (db) => void (await sql`create table others (id integer)`.execute(db)) },
    };
    file = await openLocalFile({ file: join(folder, 'a.db'), migrations: { others: other, things } });
    insert(1);
    await file.durable();
    expect(file.connection.prepare('select count(*) as n from others').get()).toMatchObject({ n: 0 });
  });

  it('takes nothing after it was closed', async () => {
    await file.close();
    expect(() => insert(1)).toThrow('the file is closed');
  });

  it('waits once for a process that has locked it, refuses all after that at once, and goes on when the lock is gone', async () => {
    const other = new DatabaseSync(join(folder, 'a.db'));
    const refusedWithinMs = (id: number): number => {
      const fromMs = performance.now();
      expect(() => insert(id)).toThrow('the file is locked by another process');
      return performance.now() - fromMs;
    };
    try {
      // Twice: after a lock that is gone, the next one is waited for again.
      for (const id of [1, 2]) {
        other.exec('begin immediate');
        expect(refusedWithinMs(id)).toBeGreaterThan(1_500);
        for (let n = 0; n < 5; n += 1) expect(refusedWithinMs(id)).toBeLessThan(500);
        other.exec('rollback');
        insert(id);
        await file.durable();
      }
    } finally {
      other.close();
    }
    expect(seen()).toEqual([1, 2]);
  });
});
