import { describe, expect, it } from '@jest/globals';
import { type Admitted, createAdmission } from './admission.js';

const DEADLINE_MS = 10_000;

/** A pipeline that begins `perSecond` calls, in virtual time. `onlySettled`: nobody is told that a call began before it has ended. */
function pipeline({
  perSecond,
  toolMs = 0,
  firstBound = 200,
}: {
  perSecond: number;
  toolMs?: number;
  firstBound?: number;
}) {
  let nowMs = 0;
  let beginsMs = 0;
  const begins = new Map<string, number>();
  const ends: { atMs: number; begunMs: number; call: Admitted }[] = [];
  const admission = createAdmission({
    maxInFlight: 500,
    firstBound,
    callDeadlineMs: DEADLINE_MS,
    hasBegun: (id) => Promise.resolve((begins.get(id) ?? Infinity) <= nowMs),
    now: () => nowMs,
  });
  let count = 0;
  const late: number[] = [];
  return {
    admission,
    late,
    async ask(): Promise<'let in' | 'refused'> {
      const id = `call ${(count += 1)}`;
      const call = await admission.admit(id).catch((error: { code: string; status: number }) => {
        expect(error).toMatchObject({ code: 'pipeline_unavailable', status: 503 });
        return null;
      });
      if (!call) return 'refused';
      beginsMs = Math.max(beginsMs, nowMs) + 1_000 / perSecond;
      const begunMs = Math.min(beginsMs, nowMs + DEADLINE_MS);
      if (beginsMs > nowMs + DEADLINE_MS) late.push(nowMs);
      else begins.set(id, beginsMs);
      ends.push({ atMs: begunMs + toolMs, begunMs, call });
      return 'let in';
    },
    pass(ms: number): void {
      nowMs += ms;
      for (const one of ends.toSorted((a, b) => a.atMs - b.atMs).filter(({ atMs }) => atMs <= nowMs)) {
        ends.splice(ends.indexOf(one), 1);
        one.call.begun(one.begunMs);
        one.call.ended();
      }
    },
  };
}
type Pipeline = ReturnType<typeof pipeline>;
const burst = async ({ ask }: Pick<Pipeline, 'ask'>, calls: number) =>
  (await Promise.all(Array.from({ length: calls }, ask))).filter((told) => told === 'let in').length;

describe('admission: as many calls as can begin in time', () => {
  it('a burst of more than that is cut, and all that were let in begin in time', async () => {
    const of = pipeline({ perSecond: 40 });
    expect(await burst(of, 500)).toBe(200);
    of.pass(10_000);
    expect(of.late).toEqual([]);
    expect(of.admission.inFlight()).toBe(0);
  });

  it('where calls begin slowly it learns so from the first burst, and none of the next ones is late', async () => {
    const of = pipeline({ perSecond: 10 });
    await burst(of, 500);
    expect(of.late.length).toBeGreaterThan(0);
    of.pass(30_000);
    of.late.length = 0;
    for (let round = 0; round < 5; round += 1) {
      expect(await burst(of, 500)).toBeGreaterThanOrEqual(16);
      of.pass(15_000);
    }
    expect(of.late).toEqual([]);
    expect(of.admission.bound()).toBeLessThan(80);
  });

  it('where they begin faster again it lets in more again, up to all that may be under way', async () => {
    const of = pipeline({ perSecond: 500, firstBound: 16 });
    for (let round = 0; round < 12; round += 1) {
      await burst(of, 500);
      of.pass(2_000);
    }
    expect(await burst(of, 500)).toBe(500);
  });

  it('calls at slow tools do not wait: they take no place of others, up to all that may be under way', async () => {
    const of = pipeline({ perSecond: 100, toolMs: 60_000 });
    let letIn = 0;
    for (let round = 0; round < 10; round += 1) {
      letIn += await burst(of, 60);
      of.pass(1_000);
    }
    expect(letIn).toBe(500);
    expect(of.late).toEqual([]);
    of.pass(70_000);
    expect(of.admission.inFlight()).toBe(0);
    expect(of.admission.bound()).toBeGreaterThanOrEqual(200);
  });

  it('a few calls now and then say nothing of how many could begin', async () => {
    const of = pipeline({ perSecond: 1 });
    for (let round = 0; round < 20; round += 1) {
      await burst(of, 4);
      of.pass(4_000);
    }
    expect(of.admission.bound()).toBe(200);
  });

  it('a store that cannot say who has begun lets nobody in for it, and forgets who is too late', async () => {
    let nowMs = 0;
    const { admit } = createAdmission({
      maxInFlight: 500,
      firstBound: 20,
      callDeadlineMs: DEADLINE_MS,
      hasBegun: () => Promise.reject(new Error('away')),
      now: () => nowMs,
    });
    const ask = () =>
      admit('one').then(
        () => 'let in' as const,
        () => 'refused' as const,
      );
    expect(await burst({ ask }, 30)).toBe(20);
    nowMs = DEADLINE_MS + 1;
    expect(await burst({ ask }, 30)).toBe(20);
  });
});
