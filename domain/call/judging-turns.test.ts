import { describe, expect, it } from '@jest/globals';
import { createJudgingTurns, type GiveBack } from './judging-turns.js';

const LONG_MS = 60_000;

/** Turns whose takers are noted in the order in which they begin. */
function noted(limits: Parameters<typeof createJudgingTurns>[0]) {
  const turns = createJudgingTurns(limits);
  const order: string[] = [];
  const held: { who: string; giveBack: GiveBack }[] = [];
  return {
    turns,
    order,
    ask(who: string, withinMs = LONG_MS) {
      return turns.take(who, withinMs).then((turn) => {
        if (typeof turn === 'string') return turn;
        order.push(who);
        held.push({ who, giveBack: turn });
        return 'began';
      });
    },
    /** Gives back the oldest turn of this agent, and lets what follows happen. */
    async done(who: string) {
      const at = held.findIndex((one) => one.who === who);
      held.splice(at, 1)[0]?.giveBack();
      await new Promise(setImmediate);
    },
  };
}

describe('turns at the judgement of calls', () => {
  it('a burst waits behind itself; another agent begins at once', async () => {
    const { turns, ask, order } = noted({ together: 8, each: 2, waiting: 100 });
    for (let n = 0; n < 40; n += 1) void ask('a');
    await ask('b');
    expect(order).toEqual(['a', 'a', 'b']);
    expect([turns.underWay(), turns.waiting()]).toEqual([3, 38]);
  });

  it('where all turns are taken, each agent that waits has one before any has a second', async () => {
    const { ask, order, done } = noted({ together: 2, each: 2, waiting: 100 });
    for (let n = 0; n < 6; n += 1) void ask('a');
    void ask('b');
    void ask('c');
    await new Promise(setImmediate);
    for (let n = 0; n < 5; n += 1) await done(order[n] ?? '');
    expect(order).toEqual(['a', 'a', 'a', 'b', 'c', 'a', 'a']);
  });

  it('an agent that has its share is passed over, and nobody behind it waits for it', async () => {
    const { ask, order, done } = noted({ together: 3, each: 2, waiting: 100 });
    for (let n = 0; n < 3; n += 1) void ask('a');
    void ask('b');
    void ask('b');
    await new Promise(setImmediate);
    await done('b');
    expect(order).toEqual(['a', 'a', 'b', 'b']);
    await done('a');
    expect(order).toEqual(['a', 'a', 'b', 'b', 'a']);
  });

  it('says at once that too many of an agent wait, and takes others', async () => {
    const { ask } = noted({ together: 8, each: 1, waiting: 2 });
    const began = [ask('a'), ask('a'), ask('a')];
    expect(await ask('a')).toBe('full');
    expect(await ask('b')).toBe('began');
    expect(await began[0]).toBe('began');
  });

  it('whoever is told that its turn came too late has none, and holds nobody up', async () => {
    const { turns, ask, order, done } = noted({ together: 1, each: 1, waiting: 10 });
    await ask('a');
    const patient = ask('a');
    // The timer of `late` keeps nobody's process alive, so the test waits with one of its own.
    const late = ask('a', 1);
    const alive = setInterval(() => undefined, 1_000);
    expect(await late).toBe('late');
    clearInterval(alive);
    expect(turns.waiting()).toBe(1);
    await done('a');
    expect(await patient).toBe('began');
    expect(order).toEqual(['a', 'a']);
  });

  it('a turn that is given back twice is one turn', async () => {
    const turns = createJudgingTurns({ together: 1, each: 1, waiting: 10 });
    const first = (await turns.take('a', LONG_MS)) as GiveBack;
    first();
    await turns.take('a', LONG_MS);
    first();
    expect(turns.underWay()).toBe(1);
  });
});
