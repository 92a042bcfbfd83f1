import { afterEach, describe, expect, it } from '@jest/globals';
import { createDecisionTurns, DECISION_TURNS, type TurnLimits } from './decision-turns.js';

/** Work that ends when the test says so, in the order in which it began. */
/** Lets everything that is ready run. */
const turnOver = (): Promise<void> => new Promise((over) => void setImmediate(over));

const leftOver: (() => void)[][] = [];
afterEach(async () => {
  // A turn that nobody ends would keep its timer.
  for (const ends of leftOver.splice(0)) while (ends.length > 0) await endOne(ends);
});
const endOne = async (ends: (() => void)[]): Promise<void> => {
  ends.shift()?.();
  await turnOver();
};

function engine(limits: Partial<TurnLimits> = {}) {
  const turns = createDecisionTurns({
    atOnce: 2,
    places: 3,
    placesEach: 3,
    waitMs: 5_000,
    turnMs: 60_000,
    leftBehind: 9,
    ...limits,
  });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  leftOver.push(ends);
  let most = 0;
  let underWay = 0;
  const send = (name: string, left?: AbortSignal, by = 'ana') => {
    const sent = turns.take(
      async ({ waited }) => {
        begun.push(name);
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise<void>((resolve) => ends.push(resolve));
        underWay -= 1;
        return waited;
      },
      by,
      left,
    );
    sent.catch(() => undefined);
    return sent;
  };
  const endNext = () => endOne(ends);
  return { turns, begun, send, endNext, most: () => most };
}

const NOT_SENT = { code: 'decision_not_sent', status: 503 };

describe('many decisions at once', () => {
  it('has so many under way, and lets the others in as they came, overtaken by nobody', async () => {
    const { begun, send, endNext, most } = engine();
    const sent = ['a', 'b', 'c', 'd', 'e'].map((name) => send(name));
    await turnOver();
    expect(begun).toEqual(['a', 'b']);
    await endNext();
    sent.push(send('f'));
    for (let n = 0; n < 5; n += 1) await endNext();
    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(await Promise.all(sent)).toEqual([false, false, true, true, true, true]);
    expect(most()).toBe(2);
  });

  it('goes on after one that fails', async () => {
    const turns = createDecisionTurns({
      atOnce: 1,
      places: 3,
      placesEach: 3,
      waitMs: 5_000,
      turnMs: 60_000,
      leftBehind: 9,
    });
    const failing = turns.take(() => Promise.reject(new Error('the engine is away')), 'ana');
    const next = turns.take(() => Promise.resolve('taken'), 'ana');
    await expect(failing).rejects.toThrow('the engine is away');
    expect(await next).toBe('taken');
    expect(await turns.take(({ waited }) => Promise.resolve(waited), 'ana')).toBe(false);
  });

  it('lets people in by turns: many decisions of one hold up nobody else', async () => {
    const { begun, send, endNext } = engine({ atOnce: 1, places: 10, placesEach: 4 });
    const sent = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => send(name));
    await expect(send('a6')).rejects.toMatchObject({
      ...NOT_SENT,
      message: expect.stringMatching(/4 others of the same person/),
    });
    sent.push(send('b1', undefined, 'ben'), send('c1', undefined, 'cem'), send('b2', undefined, 'ben'));
    for (let n = 0; n < 8; n += 1) await endNext();
    await Promise.all(sent);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'a5']);
  });

  it('sends away at once whoever finds no place', async () => {
    const { begun, send } = engine();
    for (const name of ['a', 'b', 'c', 'd', 'e']) void send(name);
    await expect(send('f')).rejects.toMatchObject({ ...NOT_SENT, message: expect.stringMatching(/3 others wait/) });
    expect(begun).toEqual(['a', 'b']);
  });

  it('sends away whoever has waited too long, and frees the place', async () => {
    const { begun, send, endNext } = engine({ atOnce: 1, places: 1, waitMs: 30 });
    void send('a');
    await expect(send('b')).rejects.toMatchObject({ ...NOT_SENT, message: expect.stringMatching(/within 0\.03 s/) });
    const next = send('c');
    await endNext();
    expect(begun).toEqual(['a', 'c']);
    await endNext();
    expect(await next).toBe(true);
  });

  it('does not send the decision of somebody who has gone, and frees the place; once sent it goes on', async () => {
    const { begun, send, endNext } = engine({ atOnce: 1, places: 1 });
    const gone = new AbortController();
    const first = send('a', gone.signal);
    const second = send('b', gone.signal);
    gone.abort();
    await expect(second).rejects.toMatchObject(NOT_SENT);
    const third = send('c');
    await endNext();
    await endNext();
    expect(await first).toBe(false);
    expect(await third).toBe(true);
    await expect(send('d', gone.signal)).rejects.toMatchObject(NOT_SENT);
    expect(begun).toEqual(['a', 'c']);
  });

  it('at the stop finishes what is under way, and sends everybody else away', async () => {
    const { turns, begun, send, endNext } = engine({ atOnce: 1 });
    const first = send('a');
    const second = send('b');
    turns.close();
    await expect(second).rejects.toMatchObject({ ...NOT_SENT, message: expect.stringMatching(/stopping/) });
    await expect(send('c')).rejects.toMatchObject(NOT_SENT);
    await endNext();
    expect(await first).toBe(false);
    expect(begun).toEqual(['a']);
  });

  it('takes the place from a turn that hangs before it sends: the next one has it, and nothing is sent any more', async () => {
    const turns = createDecisionTurns({
      atOnce: 1,
      places: 3,
      placesEach: 3,
      waitMs: 5_000,
      turnMs: 30,
      leftBehind: 9,
    });
    let storeAnswers: () => void = () => undefined;
    const sent: string[] = [];
    let end: unknown = null;
    const hangs = turns.take(async (turn) => {
      await new Promise<void>((resolve) => (storeAnswers = resolve));
      try {
        turn.sends();
        sent.push('hangs');
      } catch (error) {
        end = error;
      }
    }, 'ana');
    const next = turns.take(async (turn) => {
      turn.sends();
      sent.push('next');
    }, 'ben');
    await expect(hangs).rejects.toMatchObject({
      ...NOT_SENT,
      message: expect.stringMatching(/took longer than 0\.03 s; nothing was decided/),
    });
    await next;
    storeAnswers();
    await turnOver();
    expect(end).toMatchObject(NOT_SENT);
    expect(sent).toEqual(['next']);
  });

  it('takes it from a turn that hangs after it has sent too, and does not say that nothing was decided', async () => {
    const turns = createDecisionTurns({
      atOnce: 1,
      places: 3,
      placesEach: 3,
      waitMs: 5_000,
      turnMs: 30,
      leftBehind: 9,
    });
    const hangs = turns.take(async (turn) => {
      turn.sends();
      return new Promise<never>(() => undefined);
    }, 'ana');
    const next = turns.take(({ waited }) => Promise.resolve(waited), 'ben');
    const error: unknown = await hangs.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'store_unavailable', status: 503 });
    expect(String(error)).not.toMatch(/nothing was decided|not sent/);
    expect(await next).toBe(true);
  });

  it('lets nobody in while too many were left behind, and everybody once one of them has come back', async () => {
    const { send, endNext, begun } = engine({ atOnce: 2, turnMs: 200, leftBehind: 2 });
    const hang = [send('a'), send('b')];
    for (const each of hang) await expect(each).rejects.toMatchObject(NOT_SENT);
    await expect(send('c')).rejects.toMatchObject({
      ...NOT_SENT,
      message: expect.stringMatching(/2 before it have not/),
    });
    expect(begun).toEqual(['a', 'b']);
    await endNext();
    const next = send('d');
    await endNext();
    await endNext();
    expect(await next).toBe(false);
  });

  it('gives a hundred at once a place', () => {
    expect(DECISION_TURNS).toEqual({
      atOnce: 8,
      places: 1_000,
      placesEach: 150,
      waitMs: 20_000,
      turnMs: 15_000,
      leftBehind: 64,
    });
  });
});
