import { afterEach, describe, expect, it } from '@jest/globals';
import { createRecordNotifier, type RecordNotifier } from './notifier.js';
import type { CallRecord } from '../../domain/call/record.js';
import { eventually, timePasses } from '../../test/support/waiting.js';

const recordOf = (id: string, state: CallRecord['state']) => ({ correlation_id: id, state }) as CallRecord;
const isCompleted = ({ state }: CallRecord) => state === 'completed';
const soon = () => Date.now() + 20_000;

let notifier: RecordNotifier;
let stored: Map<string, CallRecord>;
let looks: number;
const start = (find = async (id: string) => stored.get(id) ?? null) => {
  stored = new Map();
  looks = 0;
  notifier = createRecordNotifier(async (id) => {
    looks += 1;
    return find(id);
  });
};
afterEach(() => notifier.close());

/** The first look is over, and who waits is known. */
const looked = async () => {
  await eventually('the first look', () => looks > 0);
  await new Promise((resolve) => setImmediate(resolve));
};

describe('waiting on a record', () => {
  it('answers at once where the record is there already', async () => {
    start();
    stored.set('a', recordOf('a', 'completed'));
    expect(await notifier.waitFor('a', isCompleted, soon())).toMatchObject({ state: 'completed' });
  });

  it('waits as long as was asked for, whatever is done to the wall clock meanwhile', async () => {
    const { now } = Date;
    for (const jumpMs of [3_600_000, -3_600_000]) {
      start();
      const from = performance.now();
      const waiting = notifier.waitFor('a', isCompleted, Date.now() + 500);
      Date.now = () => now() + jumpMs;
      try {
        expect(await waiting).toBeNull();
      } finally {
        Date.now = now;
      }
      expect(performance.now() - from).toBeGreaterThan(450);
      expect(performance.now() - from).toBeLessThan(5_000);
      notifier.close();
    }
  });

  it('is woken by a write of this process, and only by one that satisfies it', async () => {
    start();
    const waiting = [notifier.waitFor('a', isCompleted, soon()), notifier.waitFor('a', isCompleted, soon())];
    const other = notifier.waitFor('b', isCompleted, Date.now() + 400);
    await looked();
    notifier.changed(recordOf('a', 'intended'));
    notifier.changed(recordOf('a', 'completed'));
    for (const record of await Promise.all(waiting)) expect(record).toMatchObject({ state: 'completed' });
    expect(await other).toBeNull();
  });

  it('sees a write of another process by looking', async () => {
    start();
    const waiting = notifier.waitFor('a', isCompleted, soon());
    await looked();
    stored.set('a', recordOf('a', 'completed'));
    expect(await waiting).toMatchObject({ state: 'completed' });
  });

  it('ends at its deadline with what stands then', async () => {
    start();
    stored.set('a', recordOf('a', 'intended'));
    expect(await notifier.waitFor('a', isCompleted, Date.now() + 100)).toMatchObject({ state: 'intended' });
    expect(await notifier.waitFor('b', isCompleted, Date.now() + 100)).toBeNull();
    expect(await notifier.waitFor('a', isCompleted, Date.now() - 1)).toMatchObject({ state: 'intended' });
  });

  it('ends at its deadline also where the store is away: with what was seen last, and never as if there were nothing', async () => {
    let away = false;
    start(async (id) => {
      if (away) throw new Error('the store is away');
      return stored.get(id) ?? null;
    });
    stored.set('a', recordOf('a', 'parked'));
    const waiting = notifier.waitFor('a', isCompleted, Date.now() + 300);
    const unseen = notifier.waitFor('b', isCompleted, Date.now() + 300);
    unseen.catch(() => undefined);
    await looked();
    away = true;
    expect(await waiting).toMatchObject({ state: 'parked' });
    await expect(unseen).rejects.toThrow('the store is away');
  });

  it('ends at its deadline also where the store hangs: with what was seen last, and never as if there were nothing', async () => {
    let hangs = false;
    start(async (id) => {
      if (hangs) await new Promise<never>(() => undefined);
      return stored.get(id) ?? null;
    });
    stored.set('a', recordOf('a', 'parked'));
    const from = performance.now();
    const waiting = notifier.waitFor('a', isCompleted, Date.now() + 300);
    const unseen = notifier.waitFor('b', isCompleted, Date.now() + 300);
    unseen.catch(() => undefined);
    await looked();
    hangs = true;
    expect(await waiting).toMatchObject({ state: 'parked' });
    await expect(unseen).rejects.toThrow('the store did not answer in time');
    await expect(notifier.waitFor('c', isCompleted, Date.now() - 1)).rejects.toThrow(
      'the store did not answer in time',
    );
    expect(performance.now() - from).toBeLessThan(15_000);
  });

  it('is not asked for again while the store has not answered', async () => {
    let open = 0;
    let most = 0;
    const answers: (() => void)[] = [];
    start(async () => {
      if (looks === 1) return null;
      most = Math.max(most, (open += 1));
      await new Promise<void>((resolve) => answers.push(resolve));
      open -= 1;
      return null;
    });
    const waiting = notifier.waitFor('a', isCompleted, Date.now() + 1_000);
    await eventually('it is looked again', () => looks > 1);
    await timePasses(600, 'two more looks would come');
    expect([looks, most]).toEqual([2, 1]);
    await eventually('it is over', async () => {
      for (const answer of answers.splice(0)) answer();
      return Promise.race([waiting.then(() => true), timePasses(20, 'it may look again').then(() => false)]);
    });
  });

  it('looks only while somebody waits, and once per call however many wait for it', async () => {
    start();
    const waiting = Array.from({ length: 20 }, () => notifier.waitFor('a', isCompleted, Date.now() + 500));
    await Promise.all(waiting);
    const during = looks;
    expect(during).toBeLessThan(20 + 10);
    await timePasses(500, 'another look would come');
    expect(looks).toBe(during);
  });

  it('lets everybody go when it is closed', async () => {
    start();
    const waiting = notifier.waitFor('a', isCompleted, soon());
    await looked();
    notifier.close();
    expect(await waiting).toBeNull();
  });
});
