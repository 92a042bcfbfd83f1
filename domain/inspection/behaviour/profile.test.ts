import { describe, expect, it } from '@jest/globals';
import { canonicalJson } from '../../crypto/digest.js';
import type { Behaviour } from '../../../contracts/inspection.js';
import { compareWithHistory } from './compare.js';
import {
  type AgentProfile,
  agentLearned,
  DESTINATIONS,
  NO_AGENT,
  NO_CALLS,
  SAMPLES,
  SAMPLES_PER_DAY,
  TOOLS,
  toolLearned,
  type ToolProfile,
} from './profile.js';
import type { CallTraits } from './traits.js';

const DAY_MS = 86_400_000;
const TEN = Date.parse('2026-11-16T10:00:00Z');
const at = (day: number, hour = 10): number => TEN + day * DAY_MS + (hour - 10) * 3_600_000;

const call = (given: Partial<CallTraits> & { amount?: number | null; to?: string } = {}): CallTraits => {
  const { amount, to, ...others } = given;
  return {
    tool: 'pay',
    after: null,
    amounts: amount === undefined ? [] : [{ unit: 'EUR', size: amount }],
    destinations: to === undefined ? [] : [{ key: to, look: to }],
    shape: 'a',
    large: false,
    ...others,
  };
};
/** An agent that only knows the calls it is given. */
class Agent {
  tool: ToolProfile = NO_CALLS;
  whole: AgentProfile = NO_AGENT;
  learn(traits: CallTraits, atMs: number): this {
    this.tool = toolLearned(this.tool, traits, atMs);
    this.whole = agentLearned(this.whole, traits.tool, atMs);
    return this;
  }
  asks(traits: CallTraits, atMs: number): Behaviour {
    return compareWithHistory(traits, { agent: this.whole, tools: new Map([['pay', this.tool]]) }, atMs);
  }
  kinds(traits: CallTraits, atMs: number): string[] {
    return this.asks(traits, atMs).reasons.map(({ kind }) => kind);
  }
}
/** So many calls on each of so many days. */
const used = (days: number, perDay: number, one: (n: number) => CallTraits): Agent => {
  const agent = new Agent();
  for (let day = 0; day < days; day += 1)
    for (let n = 0; n < perDay; n += 1) agent.learn(one(day * perDay + n), at(day));
  return agent;
};
/** A generator of numbers that gives the same ones at every run. */
const numbers = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};

describe('drift from an agent’s own history: amounts', () => {
  it('says nothing of fewer than eight', () => {
    const few = used(1, 7, () => call({ amount: 50 }));
    expect(few.asks(call({ amount: 4_000_000 }), at(0))).toMatchObject({ available: false, reasons: [] });
    few.learn(call({ amount: 50 }), at(0));
    expect(few.kinds(call({ amount: 4_000_000 }), at(0))).toEqual(['amount_far']);
  });

  it('lets an agent that always pays the same pay somewhat more', () => {
    const agent = used(4, 8, () => call({ amount: 50 }));
    expect(agent.kinds(call({ amount: 110 }), at(4))).toEqual([]);
    expect(agent.kinds(call({ amount: 150 }), at(4))).toEqual(['amount']);
    expect(agent.kinds(call({ amount: 250 }), at(4))).toEqual(['amount_far']);
  });

  it('takes no single large one for the usual, and what is large now and then for known', () => {
    const once = used(4, 10, (n) => call({ amount: n === 7 ? 1_000_000 : 50 }));
    expect(once.kinds(call({ amount: 1_000_000 }), at(4))).toEqual(['amount_far']);
    const often = used(4, 10, (n) => call({ amount: n % 10 === 7 ? 1_000_000 : 50 }));
    expect(often.kinds(call({ amount: 1_000_000 }), at(4))).toEqual([]);
  });

  it('compares an amount of a currency that is new with those of the others', () => {
    const agent = used(4, 8, () => call({ amount: 50 }));
    const foreign = agent.asks(call({ amounts: [{ unit: 'XYZ', size: 1_000_000 }] }), at(4));
    expect(foreign.reasons).toEqual([
      {
        kind: 'amount_far',
        text: 'amount 20000 times the median of 32 calls of this tool, in a currency that is new here',
      },
      { kind: 'currency', text: 'an amount in a currency that none of 32 calls of this tool had' },
    ]);
  });

  const inYen = (size: number): CallTraits => call({ amounts: [{ unit: 'JPY', size }] });
  it('has a person read an amount of a currency that is new, however small its number, and more of it later', () => {
    const agent = used(4, 8, () => call({ amount: 5_000 }));
    expect(agent.asks(inYen(10), at(4))).toMatchObject({ score_bp: 4_500, reasons: [{ kind: 'currency' }] });
    agent.learn(inYen(10), at(4));
    expect(agent.kinds(inYen(15), at(4))).toEqual([]);
    expect(agent.asks(inYen(16), at(4)).reasons).toEqual([
      { kind: 'currency', text: 'more in its currency than is known of the 1 of 33 calls of this tool that had it' },
    ]);
    expect(used(1, 7, () => call({ amount: 50 })).asks(inYen(10), at(1)).reasons).toEqual([]);
  });

  it('says that a currency is missing where each call before named one', () => {
    const agent = used(4, 8, () => inYen(5_000));
    expect(agent.asks(call({ amounts: [{ unit: '', size: 100 }] }), at(4)).reasons).toEqual([
      { kind: 'currency', text: 'an amount without a currency, which none of 32 calls of this tool left out' },
    ]);
  });

  it('holds calls of a new currency to the days before, and on its first day to the first of them', () => {
    const agent = used(4, 8, () => call({ amount: 5_000 }));
    agent.learn(inYen(10), at(4));
    agent.learn(inYen(15), at(4));
    expect(agent.kinds(inYen(15), at(4))).toEqual([]);
    expect(agent.kinds(inYen(22.5), at(4))).toEqual(['currency']);
    agent.learn(inYen(22.5), at(5));
    expect(agent.kinds(inYen(22.5), at(5))).toEqual([]);
    expect(agent.kinds(inYen(30), at(5))).toEqual(['currency']);
    expect(agent.kinds(inYen(30), at(6))).toEqual([]);
  });

  it('holds a new currency to what is usual of the others until a day after it had eight calls', () => {
    const agent = used(4, 8, () => call({ amount: 50 }));
    for (let n = 0; n < 16; n += 1) agent.learn(inYen(4_000), at(4));
    expect(agent.kinds(inYen(4_000), at(4))).toEqual(['amount_far']);
    agent.learn(inYen(4_000), at(5));
    expect(agent.kinds(inYen(4_000), at(5))).toEqual([]);
    expect(agent.kinds(call({ amount: 50 }), at(5))).toEqual([]);
  });

  it('holds each currency of an agent that uses six of them', () => {
    const agent = used(8, 12, (n) => call({ amounts: [{ unit: `C${n % 6}`, size: 10 ** (n % 6) }] }));
    for (let unit = 0; unit < 6; unit += 1) {
      expect(agent.kinds(call({ amounts: [{ unit: `C${unit}`, size: 10 ** unit }] }), at(8))).toEqual([]);
      expect(agent.kinds(call({ amounts: [{ unit: `C${unit}`, size: 10 ** unit * 9 }] }), at(8))).toEqual([
        'amount_far',
      ]);
    }
  });

  it.each([null, 0, Number.MAX_VALUE, Number.MIN_VALUE])('says something finite of %p', (amount) => {
    const { score_bp, reasons } = used(4, 8, () => call({ amount: 50 })).asks(call({ amount }), at(4));
    expect(score_bp).toBe(amount === null || amount === Number.MAX_VALUE ? 4_500 : 0);
    for (const { text } of reasons) expect(text).not.toMatch(/Infinity|NaN|e\+/);
  });
});

describe('drift from an agent’s own history: poisoning', () => {
  /** From this score on a person is asked (`persona_drift.review_from`). */
  const ASKED = 4_500;
  /** Each day as much as just passes, in as many calls as are remembered. */
  const raised = (days: number): number[] => {
    const agent = used(10, 16, () => call({ amount: 50 }));
    return Array.from({ length: days }, (_, day) => {
      let most = 50;
      while (agent.asks(call({ amount: most * 1.02 }), at(10 + day)).score_bp < ASKED) most *= 1.02;
      for (let n = 0; n < 20; n += 1) agent.learn(call({ amount: most }), at(10 + day));
      return most;
    });
  };

  it('lets an agent that slowly raises its amounts gain at most a quarter a day, once its first leap is used up', () => {
    const most = raised(16);
    const leap = (most[0] as number) / 50;
    expect(leap).toBeGreaterThan(4.3);
    expect(leap).toBeLessThan(4.5);
    for (const [day, amount] of most.entries()) expect(amount / 50).toBeLessThan(55 * 1.25 ** (day + 1));
  });

  it('holds today’s calls to the days before: no number of calls of one day moves what that day is held to', () => {
    const agent = used(4, 16, () => call({ amount: 50 }));
    for (let n = 0; n < 1_000; n += 1) agent.learn(call({ amount: 5_000 }), at(4));
    expect(agent.kinds(call({ amount: 5_000 }), at(4))).toContain('amount_far');
  });

  it('says that growth is held back, where it is', () => {
    const agent = used(4, 16, () => call({ amount: 50 }));
    for (let day = 4; day < 12; day += 1)
      for (let n = 0; n < 16; n += 1) agent.learn(call({ amount: 50_000 }), at(day));
    const { reasons } = agent.asks(call({ amount: 50_000 }), at(12));
    expect(reasons).toEqual([{ kind: 'amount_far', text: expect.stringContaining('grows by at most 25 % a day') }]);
  });
});

describe('drift from an agent’s own history: destinations, habits and hours', () => {
  const four = (n: number) => call({ to: `d${n % 4}` });

  it('tells the first time to a destination, where new ones are rare', () => {
    expect(used(4, 8, four).asks(call({ to: 'other' }), at(4)).reasons).toEqual([
      { kind: 'destination', text: 'first time to this destination: 32 calls of this tool went to 4 others' },
    ]);
    const anywhere = used(4, 8, (n) => call({ to: `d${n}` }));
    expect(anywhere.kinds(call({ to: 'other' }), at(4))).toEqual([]);
  });

  it('remembers so many new ones of a day: no day pushes out what was known, and those beyond stay new', () => {
    const agent = used(8, 32, (n) => call({ to: `d${n}` }));
    for (let n = 0; n < 1_000; n += 1) agent.learn(call({ to: `x${n}` }), at(8));
    const keys = new Set(agent.tool.known.map(({ key }) => key));
    expect(keys.size).toBe(DESTINATIONS);
    expect(['d32', 'd255', 'x31'].every((key) => keys.has(key))).toBe(true);
    expect(keys.has('x32')).toBe(false);
    agent.learn(call({ to: 'd32' }), at(9));
    expect(agent.tool.known.at(-1)?.key).toBe('d32');
  });

  it('asks a person where a new one comes with an amount above the usual, and not for either alone', () => {
    const agent = used(4, 8, (n) => call({ amount: 50, to: `d${n % 4}` }));
    expect(agent.asks(call({ amount: 150, to: 'd1' }), at(4)).score_bp).toBe(2_500);
    expect(agent.asks(call({ amount: 50, to: 'other' }), at(4)).score_bp).toBe(2_500);
    expect(agent.asks(call({ amount: 150, to: 'other' }), at(4)).score_bp).toBe(5_000);
  });

  it('tells an hour at which the agent never called, with the whole gap', () => {
    const agent = new Agent();
    for (let day = 0; day < 12; day += 1) for (const hour of [0, 5, 10, 23]) agent.learn(call(), at(day, hour));
    for (let day = 0; day < 12; day += 1) for (let hour = 6; hour < 23; hour += 1) agent.learn(call(), at(day, hour));
    expect(agent.asks(call(), at(12, 3)).reasons).toEqual([
      { kind: 'hour', text: 'no call of this agent between 01:00 and 05:00 UTC before, on 12 days' },
    ]);
    expect(agent.kinds(call(), at(12, 1))).toEqual([]);
  });

  it('tells the first call of another tool, an order and a shape that were never seen', () => {
    const agent = used(4, 8, () => call({ after: 'get_balance' }));
    expect(agent.kinds({ ...call(), tool: 'drop_all' }, at(4))).toEqual(['tool']);
    expect(agent.kinds(call({ after: 'read_mail', shape: 'b' }), at(4))).toEqual(['order', 'shape']);
  });

  it('tells arguments that are too large to be compared', () => {
    const agent = used(4, 8, () => call({ amount: 50 }));
    expect(agent.asks(call({ large: true }), at(4))).toMatchObject({ score_bp: 4_500, reasons: [{ kind: 'size' }] });
  });
});

describe('drift from an agent’s own history: any history', () => {
  const random = numbers(7);
  const any = (): CallTraits =>
    call({
      ...(random() < 0.7 && { amount: random() < 0.05 ? null : Math.exp(random() * 30 - 5) }),
      ...(random() < 0.7 && { to: `d${Math.floor(random() * 2_000)}` }),
      after: random() < 0.5 ? null : `t${Math.floor(random() * 200)}`,
      shape: `s${Math.floor(random() * 200)}`,
      large: random() < 0.05,
    });

  it('stays within its bounds, and is the same after it was written and read', () => {
    const agent = new Agent();
    let day = 0;
    for (let n = 0; n < 500; n += 1) {
      if (random() < 0.1) day += Math.floor(random() * 5);
      const before = agent.asks(any(), at(day));
      expect(before.score_bp).toBeLessThanOrEqual(6_000);
      agent.learn({ ...any(), tool: random() < 0.9 ? 'pay' : `other${n}` }, at(day, Math.floor(random() * 24)));
    }
    const { tool, whole } = agent;
    expect(tool.samples.length).toBeLessThanOrEqual(SAMPLES);
    expect(tool.known.length).toBeLessThanOrEqual(DESTINATIONS);
    expect(whole.tools.length).toBeLessThanOrEqual(TOOLS);
    for (const { day: one } of tool.samples)
      expect(tool.samples.filter((sample) => sample.day === one).length).toBeLessThanOrEqual(SAMPLES_PER_DAY);
    const again = new Agent();
    Object.assign(again, JSON.parse(JSON.stringify(agent)));
    const asked = any();
    expect(canonicalJson(again.asks(asked, at(day)) as never)).toBe(canonicalJson(agent.asks(asked, at(day)) as never));
  });

  it('never asks a person less for a larger amount, all else being equal', () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const next = numbers(seed);
      const agent = used(5, 12, () => call({ amount: Math.exp(next() * next() * 8) }));
      let last = 0;
      for (let amount = 1; amount < 1e9; amount *= 1.5) {
        const { score_bp } = agent.asks(call({ amount }), at(5));
        expect(score_bp).toBeGreaterThanOrEqual(last);
        last = score_bp;
      }
    }
  });
});
