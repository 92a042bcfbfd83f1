import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { AskedQuestion } from '../../domain/upstream/talks-apart.js';
import { mcpQuestionMigrations } from '../../migrations/mcp-questions.js';
import { foundInFiles } from '../../test/support/file-bytes.js';
import { ledgerPlace, STORES, testKeys, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openStore, type Store } from '../store/database.js';
import { keptQuestionsOver, type QuestionTables } from './kept-questions.js';

const T0 = Date.parse('2026-11-02T10:00:00.000Z');
const ROOTS = { method: 'roots/list', params: '{}', key: 'roots' };
const QUESTION = {
  method: 'elicitation/create',
  params: '{"message":"Which account?","n":1.10}',
  key: 'account',
  from: 'crm',
};

describe.each(STORES)('what tools ask, on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<QuestionTables>;
  let now: number;
  const keys = testKeys();
  beforeEach(async () => {
    now = T0;
    place = await ledgerPlace(kind, { migrated: mcpQuestionMigrations });
    store = await openStore<QuestionTables>(place.target, mcpQuestionMigrations);
  });
  afterEach(async () => {
    await store.close();
    await place.remove();
  });
  const questions = (of = keys) => keptQuestionsOver(store, { keys: of, now: () => now });
  const asked = async (correlationId: string, question: AskedQuestion, untilMs: number): Promise<string> => {
    const id = randomUUID();
    await questions().ask({ id, correlationId, ...question, untilMs });
    return id;
  };
  const rows = () => store.db.selectFrom('mcp_questions').selectAll().execute();

  it('is read as it was asked, oldest first, of the calls that are named', async () => {
    const kept = questions();
    const first = await asked('a', QUESTION, T0 + 1_000);
    now += 1;
    const second = await asked('b', ROOTS, T0 + 2_000);
    // Of more calls than one statement names.
    const many = ['b', ...Array.from({ length: 2_500 }, (_, at) => `none-${at}`), 'a'];
    expect(await kept.open(many)).toEqual([
      { id: first, correlationId: 'a', untilMs: T0 + 1_000 },
      { id: second, correlationId: 'b', untilMs: T0 + 2_000 },
    ]);
    expect(await kept.open(['b'])).toMatchObject([{ id: second }]);
    expect(await kept.open([])).toEqual([]);
    expect(await kept.read({ id: first, correlationId: 'a' })).toEqual(QUESTION);
    expect(await kept.read({ id: second, correlationId: 'b' })).toEqual(ROOTS);
  });

  it('is answered once: the first answer counts, and is not open any more', async () => {
    const kept = questions();
    const id = await asked('a', QUESTION, T0 + 1_000);
    expect((await kept.standing([id])).get(id)).toEqual({ correlationId: 'a', said: null, heldMs: 0 });
    const given = await Promise.all(
      ['{"n":1}', '{"n":2}', '{"n":3}'].map((text) => questions().say(id, ['result', text])),
    );
    expect(given.filter(Boolean)).toHaveLength(1);
    const counts = ['{"n":1}', '{"n":2}', '{"n":3}'][given.indexOf(true)];
    expect((await kept.standing([id])).get(id)?.said).toEqual(['result', counts]);
    expect(await kept.say(id, ['error', '{}'])).toBe(false);
    expect(await kept.open(['a'])).toEqual([]);
  });

  it('is found and answered by a clock that is ahead of whoever asked, and not once it is surely over', async () => {
    const kept = questions();
    const id = await asked('a', QUESTION, T0 + 1_000);
    const other = await asked('a', ROOTS, T0 + 1_000);
    now = T0 + 60_999;
    expect([await kept.open(['a']), await kept.say(id, ['result', '{}'])]).toEqual([
      expect.arrayContaining([expect.objectContaining({ id })]),
      true,
    ]);
    now = T0 + 61_000;
    const said = [await kept.say(other, ['result', '{}']), await kept.say('none', ['result', '{}'])];
    expect([await kept.open(['a']), ...said]).toEqual([[], false, false]);
  });

  it('shows neither question nor answer to who has no key, and takes none that was moved to another row or call', async () => {
    const kept = questions();
    const ids = [await asked('a', QUESTION, T0 + 1_000), await asked('b', QUESTION, T0 + 1_000)] as const;
    await kept.say(ids[0], ['result', '{"content":{"account":"DE89"}}']);
    const text = (await rows()).map(
      ({ question, answer }) =>
        Buffer.from(question).toString('latin1') + String(answer && Buffer.from(answer).toString('latin1')),
    );
    expect(text.join()).not.toMatch(/account|elicitation|DE89/);
    expect(await questions(testKeys()).read({ id: ids[0], correlationId: 'a' })).toBeNull();
    expect((await questions(testKeys()).standing(ids)).get(ids[0])?.said).toBeNull();
    const [{ question, answer } = { question: new Uint8Array(), answer: null }] = (await rows()).filter(
      ({ id }) => id === ids[0],
    );
    await store.db.updateTable('mcp_questions').set({ question, answer }).where('id', '=', ids[1]).execute();
    expect(await kept.read({ id: ids[1], correlationId: 'b' })).toBeNull();
    expect((await kept.standing([ids[1]])).get(ids[1])?.said).toBeNull();
    await store.db.updateTable('mcp_questions').set({ correlation_id: 'c' }).where('id', '=', ids[0]).execute();
    expect([
      await kept.read({ id: ids[0], correlationId: 'c' }),
      (await kept.standing([ids[0]])).get(ids[0])?.said,
    ]).toEqual([null, null]);
  });

  it.each<[string, (of: ReturnType<typeof questions>, id: string) => Promise<void>]>([
    ['with its answer', (of, id) => of.remove([id])],
    ['with its call', (of) => of.removeOf('a')],
    ['after its time', async () => void (now += 62_000)],
  ])('leaves no byte once it went %s, not even sealed', async (_, goes) => {
    const kept = questions();
    const id = await asked('a', QUESTION, T0 + 1_000);
    await kept.say(id, ['result', '{"content":{"account":"DE89"}}']);
    const [{ question, answer } = { question: new Uint8Array(), answer: null }] = await rows();
    const folder = 'file' in place.target ? dirname(place.target.file) : null;
    const probes = [question, answer ?? new Uint8Array()].map((sealed) => Buffer.from(sealed).subarray(-16));
    if (folder) expect(await foundInFiles(folder, probes)).toBe(2);
    await goes(kept, id);
    await kept.purge();
    expect(await rows()).toEqual([]);
    if (folder) expect(await foundInFiles(folder, probes)).toBe(0);
  });

  it('says when the request of its client was held last, and goes when nobody waits for it', async () => {
    const kept = questions();
    const ids = [await asked('a', QUESTION, T0 + 1_000), await asked('b', QUESTION, T0 + 90_000)] as const;
    now += 5;
    await kept.hold([ids[0]]);
    const standing = await kept.standing([...ids, 'none']);
    expect([standing.get(ids[0])?.heldMs, standing.get(ids[1])?.heldMs, standing.size]).toEqual([T0 + 5, 0, 2]);
    now = T0 + 62_000;
    await kept.purge();
    expect((await rows()).map(({ id }) => id)).toEqual([ids[1]]);
    const third = await asked('b', QUESTION, T0 + 90_000);
    await kept.remove([ids[1]]);
    expect((await rows()).map(({ id }) => id)).toEqual([third]);
    await kept.removeOf('b');
    expect([await rows(), await kept.standing([])]).toEqual([[], new Map()]);
  });
});
