import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mcpQuestionMigrations } from '../../migrations/mcp-questions.js';
import { foundInFiles } from '../../test/support/file-bytes.js';
import { ledgerPlace, STORES, testKeys, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openStore, type Store } from '../store/database.js';
import { keptNotesOver, type NoteTables } from './kept-notes.js';

const T0 = Date.parse('2026-11-02T10:00:00.000Z');
const log = (words: string) => ({ method: 'notifications/message', params: `{"data":"${words}","n":1.10}` });

describe.each(STORES)('what tools say, on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<NoteTables>;
  let now: number;
  const keys = testKeys();
  beforeEach(async () => {
    now = T0;
    place = await ledgerPlace(kind, { migrated: mcpQuestionMigrations });
    store = await openStore<NoteTables>(place.target, mcpQuestionMigrations);
  });
  afterEach(async () => {
    await store.close();
    await place.remove();
  });
  const notes = (of = keys) => keptNotesOver(store, { keys: of, now: () => now });
  const keep = (correlationId: string, at: number, ...words: string[]) =>
    notes().keep({ correlationId, at, notes: words.map(log) });
  const rows = () => store.db.selectFrom('mcp_notes').selectAll().execute();
  const wordsOf = (taken: Awaited<ReturnType<ReturnType<typeof notes>['take']>>) =>
    taken.map(({ correlationId, notes: said }) => [correlationId, said.map(({ params }) => params)]);

  it('is taken as it was said, in order, once, for the calls that are named', async () => {
    await keep('a', T0 + 2, 'second', 'third');
    await keep('b', T0 + 1, 'of another');
    await keep('a', T0 + 1, 'first');
    const many = ['a', ...Array.from({ length: 2_500 }, (_, at) => `none-${at}`)];
    expect(await notes().take(many)).toEqual([
      { correlationId: 'a', at: T0 + 1, notes: [log('first')] },
      { correlationId: 'a', at: T0 + 2, notes: [log('second'), log('third')] },
    ]);
    expect([await notes().take(['a']), await notes().take([])]).toEqual([[], []]);
    expect(wordsOf(await notes().take(['b']))).toEqual([['b', [log('of another').params]]]);
    expect(await rows()).toEqual([]);
  });

  it('is given to one of those who take it at once, each of it once', async () => {
    for (let at = 0; at < 20; at += 1) await keep('a', T0 + at, String(at));
    const taken = await Promise.all([notes().take(['a']), notes().take(['a'])]);
    expect(
      taken
        .flat()
        .map(({ at }) => at - T0)
        .toSorted((one, other) => one - other),
    ).toEqual([...Array(20).keys()]);
  });

  it('says how much of what is dropped was still there, and is removed with its call', async () => {
    await keep('a', T0, 'x');
    await keep('a', T0 + 1, 'y');
    await keep('b', T0, 'z');
    expect([
      await notes().drop({ correlationId: 'a', at: T0 }),
      await notes().drop({ correlationId: 'a', at: T0 }),
    ]).toEqual([1, 0]);
    expect([await notes().waiting('a'), await notes().removeOf('a')]).toEqual([[T0 + 1], 1]);
    expect((await rows()).map(({ correlation_id: id }) => id)).toEqual(['b']);
  });

  it('is nothing to who has no key, nor where it was moved to another place or call', async () => {
    await keep('a', T0, 'aubergine');
    const [{ notes: sealed } = { notes: new Uint8Array() }] = await rows();
    expect(Buffer.from(sealed).toString('latin1')).not.toMatch(/aubergine|notifications/);
    expect(wordsOf(await notes(testKeys()).take(['a']))).toEqual([['a', []]]);
    for (const [correlation_id, at_ms] of [
      ['b', T0],
      ['a', T0 + 1],
    ] as const)
      await store.db.insertInto('mcp_notes').values({ correlation_id, at_ms, notes: sealed }).execute();
    expect(wordsOf(await notes().take(['a', 'b'])).map(([, said]) => said)).toEqual([[], []]);
  });

  it('goes where nobody took it in time, and no byte of it is left in a file', async () => {
    const kept = notes();
    await keep('a', T0, 'old');
    await keep('a', T0 + 90_000, 'newer');
    const [{ notes: sealed } = { notes: new Uint8Array() }] = await rows();
    const folder = 'file' in place.target ? dirname(place.target.file) : null;
    const probes = [Buffer.from(sealed).subarray(-16)];
    if (folder) expect(await foundInFiles(folder, probes)).toBe(1);
    now = T0 + 121_000;
    await kept.purge();
    expect((await rows()).map(({ at_ms }) => Number(at_ms))).toEqual([T0 + 90_000]);
    if (folder) expect(await foundInFiles(folder, probes)).toBe(0);
  });
});
