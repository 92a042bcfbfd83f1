import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TASK_LIFE_MS } from '../../domain/mcp/tasks.js';
import { mcpTaskMigrations } from '../../migrations/mcp-tasks.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openStore, type Store } from '../store/database.js';
import { keptTasksOver, type TaskTables } from './kept-tasks.js';

const ONE = { tenant: 'acme', agent: 'one' };
const OTHERS = [
  { tenant: 'acme', agent: 'two' },
  { tenant: 'globex', agent: 'one' },
];
const T0 = Date.parse('2026-11-02T10:00:00.000Z');

describe.each(STORES)('the tasks of agents on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<TaskTables>;
  let now: number;
  beforeEach(async () => {
    now = T0;
    place = await ledgerPlace(kind, { migrated: mcpTaskMigrations });
    store = await openStore<TaskTables>(place.target, mcpTaskMigrations);
  });
  afterEach(async () => {
    await store.close();
    await place.remove();
  });
  const tasks = () => keptTasksOver(store, { now: () => now });
  const task = (correlationId: string, createdMs = now) => ({ correlationId, createdMs, askedMs: createdMs });

  it('are kept once, and remember when they were asked for last', async () => {
    await tasks().keep(ONE, task('a'));
    await tasks().keep(ONE, task('a', T0 + 5));
    expect(await tasks().of(ONE, 'a')).toEqual({ correlationId: 'a', createdMs: T0, askedMs: T0 + 5 });
  });

  it('are nobody else’s, not even to keep', async () => {
    await tasks().keep(ONE, task('a'));
    for (const other of OTHERS) {
      await tasks().keep(other, task('a', T0 + 5));
      expect([await tasks().of(other, 'a'), await tasks().list(other, null, 9)]).toEqual([null, []]);
    }
    expect(await tasks().of(ONE, 'a')).toMatchObject({ askedMs: T0 });
  });

  it('are listed from the oldest, page by page, also those of one millisecond', async () => {
    for (const [id, ms] of [
      ['c', 0],
      ['a', 1],
      ['b', 1],
    ] as const)
      await tasks().keep(ONE, task(id, T0 + ms));
    const first = await tasks().list(ONE, null, 2);
    const rest = await tasks().list(ONE, first[1] ?? null, 2);
    expect([...first, ...rest].map(({ correlationId }) => correlationId)).toEqual(['c', 'a', 'b']);
  });

  it('end after thirty days, and are deleted when others are kept', async () => {
    await tasks().keep(ONE, task('a'));
    now += TASK_LIFE_MS + 1;
    expect([await tasks().of(ONE, 'a'), await tasks().list(ONE, null, 9)]).toEqual([null, []]);
    await tasks().keep(ONE, task('b'));
    expect(await store.db.selectFrom('mcp_tasks').select('correlation_id').execute()).toEqual([
      { correlation_id: 'b' },
    ]);
  });
});
