import { afterEach, describe, expect, it } from '@jest/globals';
import type { PolicyInput } from '../../contracts/policy.js';
import { lasting, TookTooLong } from '../../domain/in-place.js';
import { createTurns } from '../../domain/turns.js';
import { createLocalEvaluator, type LocalEvaluator } from './local-evaluator.js';
import { shippedPolicyDirectory } from './policy-sources.js';
import { loadPolicySet } from './load-policy-set.js';

const policies = await loadPolicySet({ directory: shippedPolicyDirectory() });
const open: LocalEvaluator[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((evaluator) => evaluator.close()));
});
const evaluatorWith = (
  ...more: Parameters<typeof createLocalEvaluator> extends [unknown, ...infer Rest] ? Rest : []
) => {
  const evaluator = createLocalEvaluator(policies, ...more);
  open.push(evaluator);
  return evaluator;
};
const asking = (given: PolicyInput['arguments']): PolicyInput => ({
  tool_type: 'query_database',
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0,
  arguments: given,
});
/** A thread that starts on a crowded machine takes seconds. */
const PATIENT = { limitMs: 60_000 };
const MANY = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));

describe('a large input is judged in a thread', () => {
  it.each([
    ['that is allowed', asking(MANY)],
    ['that drops a table', asking({ ...MANY, sql: 'drop table accounts' })],
    ['with more statements than are read', asking({ sql: 'select 1;'.repeat(20_000) })],
  ])('as it is in place: one %s', async (_, input) => {
    const tiers: string[] = [];
    const decision = await evaluatorWith(({ tier }) => tiers.push(tier), PATIENT).evaluate(input);
    const inPlace = policies.judge(input);
    expect(decision).toEqual(inPlace.decision);
    expect(tiers).toEqual([inPlace.tier]);
  });

  it('or refused as policy_unavailable, in its time', async () => {
    await expect(evaluatorWith(undefined, { limitMs: 1 }).evaluate(asking(MANY))).rejects.toMatchObject({
      code: 'policy_unavailable',
      message: expect.stringContaining('took longer than 1 ms') as never,
    });
  });

  it('or refused where it is nested too deeply to be handed over, and the thread goes on', async () => {
    const evaluator = evaluatorWith(undefined, { threads: 1, limitMs: 60_000 });
    await evaluator.evaluate(asking(MANY));
    const deep = JSON.parse(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`) as PolicyInput['arguments'];
    await expect(evaluator.evaluate(asking(deep))).rejects.toMatchObject({ code: 'policy_input_invalid' });
    expect((await evaluator.evaluate(asking(MANY))).allow).toBe(policies.judge(asking(MANY)).decision.allow);
  });

  it('of one agent after that of another, however many the one has waiting', async () => {
    const evaluator = evaluatorWith(undefined, { threads: 1, limitMs: 60_000 });
    const order: string[] = [];
    const asked = async (agent_id: string, name: string) => {
      await evaluator.evaluate({ ...asking(MANY), tenant: 'acme', agent_id });
      order.push(name);
    };
    const flood = ['flood 1', 'flood 2', 'flood 3', 'flood 4'].map((name) => asked('acme/flood', name));
    await Promise.all([...flood, asked('acme/other', 'other 1'), asked('acme/other', 'other 2')]);
    expect(order).toEqual(['flood 1', 'other 1', 'flood 2', 'other 2', 'flood 3', 'flood 4']);
  });

  it('or refused at once where its agent has too many waiting, and another agent has not', async () => {
    const evaluator = evaluatorWith(undefined, { threads: 1, limitMs: 60_000, longestQueue: 2 });
    const of = (agent_id: string) => evaluator.evaluate({ ...asking(MANY), tenant: 'acme', agent_id });
    const ends = await Promise.allSettled([...[1, 2, 3, 4].map(() => of('acme/flood')), of('acme/other')]);
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(ends[3]).toMatchObject({
      reason: {
        code: 'policy_unavailable',
        message: '2 large requests of this agent wait for policy evaluation already; try again later',
      },
    });
  });

  it('and an invalid one is refused as it is in place', async () => {
    const input = { ...asking(MANY), intent_score: 'x' } as unknown as PolicyInput;
    await expect(evaluatorWith().evaluate(input)).rejects.toMatchObject({ code: 'policy_input_invalid' });
  });
});

describe('arguments of a few thousand characters, which take their time to be read as SQL and by a shell,', () => {
  const inPlaceOrNot = async (text: string, inPlaceMs = 60_000) => {
    let judged = 0;
    const evaluator = createLocalEvaluator(
      {
        material: policies.material,
        denied: policies.denied,
        judge: (...asked) => {
          const judgement = policies.judge(...asked);
          judged += 1;
          return judgement;
        },
      },
      undefined,
      { inPlaceMs },
    );
    open.push(evaluator);
    const decision = await evaluator.evaluate(asking({ text }));
    expect(decision).toEqual(policies.evaluate(asking({ text })));
    return judged === 1 ? 'in place' : 'in a thread';
  };

  it.each([`$(${'rm;'.repeat(1_400)})`, `a="${'x '.repeat(60)}";${'rm $a$a;'.repeat(500)}`, "';drop ".repeat(600)])(
    'are judged in a thread: %#',
    async (text) => expect(await inPlaceOrNot(text)).toBe('in a thread'),
  );

  it('and shorter ones in place', async () => expect(await inPlaceOrNot('rm;'.repeat(1_000))).toBe('in place'));

  it.each([
    ['shell commands', `'"%41;${'sh|'.repeat(1_200)}`],
    ['a text in many columns', '[{"a":"-c","b":"x;","c":"rm"}]'],
    ['SQL', `select 1;${'drop table a;'.repeat(200)}`],
  ])('but in a thread from the beginning where they take longer in place than they may: %s', async (_, text) =>
    expect(await inPlaceOrNot(text, -1)).toBe('in a thread'),
  );

  it('and what is given up leaves the next call judged as ever', async () => {
    const given = asking({ text: 'rm;'.repeat(1_000) });
    expect(() => policies.judge(given, lasting(-1))).toThrow(TookTooLong);
    expect(policies.judge(given, lasting(60_000))).toEqual(policies.judge(given));
    const evaluator = evaluatorWith(undefined, { inPlaceMs: -1, limitMs: 1 });
    await expect(evaluator.evaluate(given)).rejects.toMatchObject({ code: 'policy_unavailable' });
  });
});

describe('many small inputs at once', () => {
  const busyFor = (ms: number) => () => {
    for (const until = performance.now() + ms; performance.now() < until; );
  };
  const never = { agent: 'a', late: () => new Error('late') };

  it('leave the event loop turns between them, and keep their order', async () => {
    const said: string[] = [];
    const turns = createTurns({ turnMs: 5 });
    const work = Promise.all(
      ['one', 'two', 'three'].map(async (name) => {
        await turns.run(busyFor(6), never);
        said.push(name);
      }),
    );
    const others = (async () => {
      for (let turn = 0; turn < 2; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        said.push('another');
      }
    })();
    await Promise.all([work, others]);
    expect(said.filter((one) => one !== 'another')).toEqual(['one', 'two', 'three']);
    expect(said.indexOf('another')).toBeLessThan(said.indexOf('three'));
  });

  it('are judged in turns of their agents', async () => {
    const said: string[] = [];
    const turns = createTurns({ turnMs: 1 });
    const doing = async (agent: string, name: string) => {
      await turns.run(busyFor(2), { ...never, agent });
      said.push(name);
    };
    const batch = ['batch 1', 'batch 2', 'batch 3', 'batch 4'].map((name) => doing('batch', name));
    await Promise.all([...batch, doing('other', 'other 1')]);
    expect(said).toEqual(['batch 1', 'batch 2', 'other 1', 'batch 3', 'batch 4']);
  });

  it('are refused where their turn comes too late, and what comes later is not', async () => {
    const turns = createTurns({ turnMs: 5, limitMs: 50 });
    const ends = await Promise.allSettled([1, 2, 3].map(() => turns.run(busyFor(60), never)));
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(await turns.run(() => 'done', never)).toBe('done');
  });

  it('go on after one that fails', async () => {
    const turns = createTurns({ turnMs: 5 });
    const broken = () => {
      busyFor(6)();
      throw new Error('broken');
    };
    const ends = await Promise.allSettled([turns.run(broken, never), turns.run(() => 'done', never)]);
    expect(ends).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: 'done' }]);
  });
});
