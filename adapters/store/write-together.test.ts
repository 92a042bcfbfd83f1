import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Migration, sql } from 'kysely';
import { startPostgres } from '../../test/support/postgres.js';
import { openStore, type Store } from './database.js';
import { writeTogether } from './write-together.js';

interface Tables {
  things: { id: number; version: number };
  notes: { id: number };
}
const migrations: Record<string, Migration> = {
  '0001': {
    async up(db) {
      await sql`create table things (id integer primary key, version integer not null)`.execute(db);
      await sql`create table notes (id integer primary key)`.execute(db);
      await sql`insert into things values (1, 1)`.execute(db);
    },
  },
};

describe.each(['sqlite', 'postgres'] as const)('statements of one transaction on %s', (kind) => {
  let store: Store<Tables>;
  let undo: () => Promise<void>;
  beforeEach(async () => {
    if (kind === 'sqlite') {
      const folder = mkdtempSync(join(tmpdir(), 'gate-together-'));
      store = await openStore<Tables>({ file: join(folder, 'a.db') }, migrations);
      undo = async () => rmSync(folder, { recursive: true, force: true });
    } else {
      const { url, stop } = await startPostgres();
      store = await openStore<Tables>({ url, schema: 'things' }, migrations);
      undo = stop;
    }
  });
  afterEach(async () => {
    await store.close();
    await undo();
  });

  const moveTo = (version: number, from: number) =>
    store.db.updateTable('things').set({ version }).where('id', '=', 1).where('version', '=', from);
  const note = (id: number) => store.db.insertInto('notes').values({ id });
  const seen = async () => ({
    version: (await store.db.selectFrom('things').select('version').executeTakeFirst())?.version,
    notes: (await store.db.selectFrom('notes').select('id').orderBy('id').execute()).map(({ id }) => id),
  });

  it('are stored together when the first changes a row', async () => {
    expect(await writeTogether(store, [moveTo(2, 1), note(1), note(2)])).toBe(true);
    expect(await seen()).toEqual({ version: 2, notes: [1, 2] });
  });

  it('are none of them stored when the first changes nothing', async () => {
    expect(await writeTogether(store, [moveTo(3, 9), note(1)])).toBe(false);
    expect(await seen()).toEqual({ version: 1, notes: [] });
  });

  it('are none of them stored when one fails, and the store goes on', async () => {
    await expect(writeTogether(store, [moveTo(2, 1), note(1), note(1)])).rejects.toThrow();
    expect(await seen()).toEqual({ version: 1, notes: [] });
    expect(await writeTogether(store, [moveTo(2, 1), note(1)])).toBe(true);
  });

  it('win once, however many make the same change at once', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, id) => writeTogether(store, [moveTo(2, 1), note(id)])),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect((await seen()).notes).toHaveLength(1);
  });
});
