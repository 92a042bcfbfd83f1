import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadPolicySet } from '../../../adapters/policy/load-policy-set.js';
import { opaCompiler } from '../../../adapters/policy/opa-compiler.js';
import { shippedPolicyDirectory } from '../../../adapters/policy/policy-sources.js';
import type { DecidedCall } from '../../../contracts/decided-calls.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import type { ApprovedPart, LeftTool } from '../../../contracts/policy-mining.js';
import { findOpa } from '../../../stack/programs/find-program.js';
import { seededRandom } from '../../../test/support/random.js';
import { canonicalJson } from '../../crypto/digest.js';
import { createNameReader } from '../../money/money-names.js';
import { createMoneyFacts } from '../../money/read-money.js';
import { type AddedRules, createAddedRules } from '../added-rules.js';
import { comparedCalls, createEvidence, type Found, type WithClass } from './evidence.js';
import { fenceOf } from './fence.js';
import { type Layout, layoutOf } from './layout.js';
import { liesIn } from './tightest.js';

declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };

const floor = await loadPolicySet({ directory: shippedPolicyDirectory() });
const readMoney = createMoneyFacts(createNameReader(floor.material.data.gate.money_arguments));

interface Told {
  readonly args: JsonObject;
  readonly decided?: DecidedCall['decided'];
  readonly agent?: string;
  readonly person?: string;
  readonly day?: number;
  readonly upstream?: string | null;
  readonly classes?: JsonObject;
  readonly gone?: boolean;
  readonly tool?: string;
}
const decision = (told: Told, seq: number): DecidedCall => {
  const {
    args,
    decided = 'approved',
    agent = 'a',
    person = 'ana',
    day = 1,
    upstream = 'desk',
    tool = 'file_ticket',
  } = told;
  const input = {
    tool_type: tool,
    method: 'tools/call',
    agent_id: `acme/${agent}`,
    arguments: args,
    ...(upstream !== null && { upstream }),
    ...(told.classes && { tool_classes: { [tool]: told.classes } }),
  };
  return {
    seq,
    at: `2026-11-${String(day).padStart(2, '0')}T09:00:00.000Z`,
    correlation_id: null,
    agent_id: agent,
    tool,
    decided,
    people: [`operator:${person}`],
    input: told.gone ? null : (input as unknown as JsonObject),
  };
};
const RUNS: WithClass = { runs: true };
function mined(
  told: readonly Told[],
  withClass: WithClass = RUNS,
): { rules: readonly Found[]; left: readonly LeftTool[] } {
  const evidence = createEvidence(readMoney);
  for (const [seq, one] of told.entries()) evidence.add(decision(one, seq), withClass);
  const all = evidence.tools().map((one) => ('compare' in one ? one.is(comparedCalls(one.compare)) : one.is));
  return {
    rules: all.flatMap((one) => ('parts' in one ? [one] : [])),
    left: all.flatMap((one) => ('why' in one ? [one] : [])),
  };
}
const partsOf = (told: readonly Told[]): readonly ApprovedPart[] => mined(told).rules[0]?.parts ?? [];
const whyOf = (told: readonly Told[], withClass?: WithClass): string | undefined => mined(told, withClass).left[0]?.why;
const boundsOf = (part: ApprovedPart | undefined): Record<string, unknown> =>
  Object.fromEntries((part?.arguments ?? []).map(({ pointer, is }) => [pointer, is]));
/** So many approvals of two agents, by two people, on three days, in every combination. */
const often = (count: number, argsOf: (at: number) => JsonObject, over: Partial<Told> = {}): Told[] =>
  Array.from({ length: count }, (_, at) => ({
    args: argsOf(at),
    agent: at % 2 === 0 ? 'a' : 'b',
    person: Math.floor(at / 2) % 2 === 0 ? 'ana' : 'bo',
    day: 1 + (Math.floor(at / 4) % 3),
    ...over,
  }));
const NARROW = { queue: 'billing' };

describe('what people approved often enough', () => {
  it('is told as narrowly as it was seen: these agents, these names, each value between what was approved', () => {
    const told = [
      ...often(24, (at) => ({ queue: 'billing', amount: 10 + (at % 12 < 6 ? 0 : 5), options: { notify: true } })),
      ...often(12, () => ({ queue: 'sales', amount: 500, options: { notify: false } })),
    ];
    const [billing, sales] = partsOf(told);
    expect(billing).toMatchObject({ upstream: 'desk', agents: ['acme/a', 'acme/b'], approvals: 24 });
    expect(billing?.objects).toEqual([
      { pointer: '', names: ['amount', 'options', 'queue'] },
      { pointer: '/options', names: ['notify'] },
    ]);
    expect(boundsOf(billing)).toEqual({
      '/amount': { one_of: [10, 15] },
      '/options/notify': { equals: true },
      '/queue': { equals: 'billing' },
    });
    // What was approved of one queue says nothing of the other.
    expect(boundsOf(sales)).toMatchObject({ '/amount': { equals: 500 }, '/queue': { equals: 'sales' } });
  });

  it.each([
    ['nineteen approvals', often(19, () => NARROW), 'too_few'],
    ['one agent', often(60, () => NARROW, { agent: 'a' }), 'too_few'],
    ['one person', often(60, () => NARROW, { person: 'ana' }), 'too_few'],
    ['two days', often(60, () => NARROW).map((one) => ({ ...one, day: (one.day as number) === 1 ? 1 : 2 })), 'too_few'],
    ['other words each time', often(60, (at) => ({ title: `about ${'x'.repeat(at)}` })), 'differs_each_time'],
    ['arguments larger than a rule says', often(60, () => ({ text: 'x'.repeat(2_000) })), 'too_large'],
    ['a class for people', often(60, () => NARROW, { classes: { class: 'strict' } }), 'classed_for_people'],
    [
      'another definition since',
      often(60, () => NARROW, { classes: { suspended: 'definition_changed' } }),
      'classed_for_people',
    ],
    ['a name that a rule cannot hold', often(60, () => NARROW, { tool: 'file\nticket' }), 'too_large'],
  ])('is nothing with %s', (_, told, why) => {
    expect(mined(told).rules).toEqual([]);
    expect(whyOf(told)).toBe(why);
  });

  it('is told what it lacks', () => {
    const lacks = (told: readonly Told[]) => mined(told).left[0]?.detail;
    const takes = 'it takes 20 approvals on 3 days by 2 people for 2 agents';
    expect(lacks(often(1, () => NARROW))).toBe(`1 approval on 1 day by 1 person for 1 agent; ${takes}`);
    expect(lacks(often(19, () => NARROW))).toBe(`19 approvals on 3 days by 2 people for 2 agents; ${takes}`);
    // Each size was approved for one agent, by one person.
    const apart = often(24, (at) => ({ size: 3 ** (at % 8) }));
    expect(lacks(apart)).toBe('no 3 approvals on 2 days by 2 people for 2 agents are alike');
  });

  it('is nothing where a rule asks whatever the class', () => {
    const asks = { runs: false, why: 'Review: money movement requires human approval.' } as const;
    expect(
      mined(
        often(60, () => NARROW),
        asks,
      ).left,
    ).toMatchObject([{ why: 'rules_ask', detail: asks.why }]);
  });

  it('is stretched by nobody alone: each end was reached by several people, on several days, for several agents', () => {
    const usual = often(60, (at) => ({ amount: 100 + Math.floor(at / 12) }));
    const stretched = (over: Partial<Told>) =>
      boundsOf(partsOf([...usual, ...often(24, () => ({ amount: 200 }), over)])[0]);
    for (const over of [{ agent: 'a' }, { person: 'ana' }, { day: 2 }])
      expect(stretched(over)).toMatchObject({ '/amount': { from: 100, to: 104 } });
    expect(stretched({})).toMatchObject({ '/amount': { from: 100, to: 200 } });
    // An agent that people approved twice is none of it.
    const third = [...usual, ...often(2, () => ({ amount: 100 }), { agent: 'c' })];
    expect(partsOf(third)[0]?.agents).toEqual(['acme/a', 'acme/b']);
  });

  it('is of few numbers those that several people approved, and none between them', () => {
    const two = [...often(24, () => ({ amount: 1_000 })), ...often(24, () => ({ amount: 9_999 }))];
    const bounds = (told: readonly Told[]) => boundsOf(partsOf(told)[0])['/amount'];
    expect(bounds(two)).toEqual({ one_of: [1_000, 9_999] });
    for (const over of [{ agent: 'a' }, { person: 'ana' }, { day: 2 }])
      expect(bounds([...two, ...often(24, () => ({ amount: 5_000 }), over)])).toEqual({ one_of: [1_000, 9_999] });
    const denied = { args: { amount: 1_000 }, decided: 'denied' as const };
    expect(bounds([...two, denied])).toEqual({ equals: 9_999 });
    expect(bounds([...two, { ...denied, args: { amount: 5_000 } }])).toEqual({ one_of: [1_000, 9_999] });
  });

  it('is a range only of numbers whose names count or measure, and of others those that were approved', () => {
    const seen = [1, 2, 3, 4, 5, 7];
    const bounds = (name: string) =>
      boundsOf(partsOf(often(72, (at) => ({ [name]: seen[Math.floor(at / 12)] as number })))[0])[`/${name}`];
    for (const name of ['customer', 'patient', 'order', 'user', 'channel', 'issue', 'nums', 'cc', 'priority', 'value'])
      expect([name, bounds(name)]).toEqual([name, { one_of: seen }]);
    for (const name of [
      'amount',
      'unitPrice',
      'page_size',
      'limit',
      'max_results',
      'number_of_rows',
      'days',
      'percent',
    ])
      expect([name, bounds(name)]).toMatchObject([name, { from: 1, to: 7, whole: true }]);
    // Somebody else's number takes away that one alone, and numbers that are others each time are none.
    const customers = often(72, (at) => ({ customer: seen[Math.floor(at / 12)] as number }));
    const denied = { args: { customer: 3 }, decided: 'denied' as const };
    expect(boundsOf(partsOf([...customers, denied])[0])).toEqual({ '/customer': { one_of: [1, 2, 4, 5, 7] } });
    expect(whyOf(often(72, (at) => ({ customer: at })))).toBe('differs_each_time');
    expect(boundsOf(partsOf(often(30 * 12, (at) => ({ customer: Math.floor(at / 12) })))[0])).toEqual({
      '/customer': { one_of: Array.from({ length: 20 }, (_, at) => at) },
    });
  });

  it('is a range without gaps: what is more than double the next lower one is a part of its own', () => {
    const parts = (numbers: readonly number[]) =>
      partsOf(often(12 * numbers.length, (at) => ({ amount: numbers[Math.floor(at / 12)] as number })))
        .map((part) => boundsOf(part)['/amount'])
        .toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
    const range = (from: number, to: number) => expect.objectContaining({ from, to });
    expect(parts([1, 2, 3, 4, 9_999])).toEqual([{ equals: 9_999 }, { one_of: [1, 2, 3, 4] }]);
    expect(parts([1, 2, 3, 4, 5, 9_999])).toEqual([{ equals: 9_999 }, range(1, 5)]);
    expect(parts([10, 20, 30, 40, 50, 900, 910, 920, 930, 940])).toEqual([range(10, 50), range(900, 940)]);
    // No gaps: next to each other, double, and as far as those below lie apart.
    expect(parts([0, 1, 2, 4, 8])).toEqual([range(0, 8)]);
    expect(parts([-40, -10, 0, 1, 30])).toEqual([range(-40, 30)]);
    expect(parts([0.05, 0.06, 0.07, 0.08, 0.09, 0.9])).toEqual([{ equals: 0.9 }, range(0.05, 0.09)]);
    // The one call that filled a gap was an agent's of whom nothing is learned.
    const filled = [...often(60, (at) => ({ amount: 10 + Math.floor(at / 12) })), ...often(24, () => ({ amount: 40 }))];
    const bridge = { ...(often(1, () => ({ amount: 25 }))[0] as Told), agent: 'c' };
    expect(partsOf([...filled, bridge]).map((part) => boundsOf(part)['/amount'])).toEqual([
      range(10, 14),
      { equals: 40 },
    ]);
  });

  it.each(['account_id', 'port', 'orderNumber', 'Konto-Nr'])(
    'is of a number that is called %s that very one',
    (name) => {
      const told = often(72, (at) => ({
        [name]: at < 36 ? 1_000 + Math.floor(at / 12) : String(1_000 + Math.floor(at / 12)),
      }));
      expect(partsOf(told).map((part) => boundsOf(part)[`/${name}`])).toEqual(
        expect.arrayContaining([{ equals: 1_000 }, { equals: '1005' }]),
      );
    },
  );

  it('has identifiers with any digits only where many were seen, and never a payee, a place or an amount', () => {
    const refund = (count: number, of: (at: number) => JsonObject) => boundsOf(partsOf(often(count, of))[0]);
    expect(refund(40, (at) => ({ ticket: `ORD-${10_000 + at}` }))).toEqual({ '/ticket': { like: 'ORD-[0-9]{5}' } });
    const uuid = (at: number) => `6f1f${String(at).padStart(4, '0')}-0000-4000-8000-00000000000a`;
    expect(refund(40, (at) => ({ ticket: uuid(at) }))).toMatchObject({
      '/ticket': { like: expect.stringContaining('0-9a-f') },
    });
    for (const of of [
      // Few of them; twelve each.
      (at: number) => ({ ticket: `ORD-${at % 5}` }),
      (at: number) => ({ iban: `DE${String(89_370_400_440_532 + at)}`, amount: 5 }),
      (at: number) => ({ recipient: `ACC-${1_000 + at}`, amount: 5 }),
      (at: number) => ({ url: `https://host${at}.example/` }),
      (at: number) => ({ path: `/srv/${at}` }),
      (at: number) => ({ to: `user${at}@example.org` }),
      (at: number) => ({ total: `USD ${100 + at}` }),
    ])
      expect(JSON.stringify(refund(60, of))).not.toMatch(/\[0-9\]|"from"/);
    // Numbers in texts are bounded as numbers are.
    expect(refund(40, (at) => ({ total: at % 20 < 10 ? '5.00' : '480.50' }))).toEqual({
      '/total': { one_of: ['5.00', '480.50'] },
    });
    expect(
      refund(100, (at) => ({ total: ['50.00', '60.00', '70.10', '99.99', '180.50'][Math.floor(at / 20)] ?? null })),
    ).toEqual({
      '/total': { from: 50, to: 180.5, whole: false, text: true, decimals: 2 },
    });
  });
});

describe('a tool whose definition changed', () => {
  const changed = { ...(often(1, () => NARROW)[0] as Told), classes: { suspended: 'definition_changed' as const } };

  it('has the approvals of what it is now alone', () => {
    expect(mined(often(60, () => NARROW)).rules).toHaveLength(1);
    expect(mined([...often(60, () => NARROW), changed]).left).toMatchObject([
      { why: 'classed_for_people', approvals: 61 },
    ]);
    const [{ parts }] = mined([...often(60, () => NARROW), changed, ...often(24, () => NARROW)]).rules as [Found];
    expect(parts).toMatchObject([{ approvals: 24 }]);
  });
});

describe('what people denied', () => {
  const usual = often(72, (at) => ({ queue: 'billing', amount: 10 * (1 + (Math.floor(at / 12) % 6)) }));
  const denied = (args: JsonObject, over: Partial<Told> = {}): Told => ({
    args,
    decided: 'denied',
    agent: 'z',
    ...over,
  });
  const amount = (told: readonly Told[]) => boundsOf(partsOf(told)[0])['/amount'];

  it('takes away everything from it on, also of another agent and upstream, and where it was only changed', () => {
    expect(amount(usual)).toMatchObject({ from: 10, to: 60 });
    for (const over of [{}, { upstream: 'elsewhere' }, { decided: 'changed' as const }])
      expect(amount([...usual, denied({ queue: 'billing', amount: 55 }, over)])).toMatchObject({ from: 10, to: 50 });
    // Whichever side has more.
    expect(amount([...usual, denied({ queue: 'billing', amount: 20 })])).toEqual({ one_of: [30, 40, 50, 60] });
    expect(amount([...usual, denied({ queue: 'payroll', amount: 20 })])).toMatchObject({ from: 10, to: 60 });
  });

  it('leaves nothing where the same was approved', () => {
    const told = [...often(40, () => NARROW), denied(NARROW)];
    expect([mined(told).rules, whyOf(told)]).toEqual([[], 'denied_alike']);
    // Nobody can say any more what was denied.
    const gone = [...often(40, () => NARROW), denied(NARROW, { gone: true })];
    expect([mined(gone).rules, whyOf(gone)]).toEqual([[], 'denied_alike']);
  });
});

/** A week of decisions in which much is alike and some is not. */
function history({ next, pick }: ReturnType<typeof seededRandom>): Told[] {
  const number = () => pick<Json>([1, 2, 3, 5, 8, 13, 2.5, '7', '12', '3.50', '9.75']);
  const shapes = [
    () => ({ env: pick(['staging', 'prod']), count: number() }),
    () => ({ env: 'staging', count: number(), extra: { force: pick([true, false, null]) } }),
    () => ({ ticket: `T-${100 + Math.floor(next() * 300)}`, labels: pick<Json>([['a'], ['a', 'b'], []]) }),
  ];
  const one = pick(shapes);
  return Array.from({ length: 60 + Math.floor(next() * 200) }, () => ({
    args: (next() < 0.9 ? one : pick(shapes))(),
    decided: next() < 0.02 ? 'denied' : next() < 0.01 ? 'changed' : 'approved',
    agent: pick(['a', 'a', 'b', 'c']),
    person: pick(['ana', 'bo', 'cem']),
    day: 1 + Math.floor(next() * 6),
    upstream: pick(['desk', 'desk', 'desk', null]),
  }));
}

/** Calls near those of a history: some value of another one, a little more, of another type, left out, or one too many. */
function near(told: readonly Told[], { next, pick }: ReturnType<typeof seededRandom>): JsonObject {
  const args = structuredClone(pick(told).args) as Record<string, Json>;
  const other = pick(told).args;
  const name = pick(Object.keys(args));
  const value = args[name];
  const way = Math.floor(next() * 8);
  if (way === 0) delete args[name];
  else if (way === 1) args[pick(['more', 'Env', 'env ', 'count_'])] = 1;
  else if (way === 2) args[name] = other[name] ?? null;
  else if (way === 3) args[name] = typeof value === 'number' ? value + pick([-1, 0.5, 1, 40, 1e-9]) : [value as Json];
  else if (way === 4) args[name] = typeof value === 'number' ? String(value) : `${JSON.stringify(value)}`;
  else if (way === 5)
    args[name] = pick<Json>([
      'T-0000',
      'T-123\n',
      'T-12',
      ' T-123',
      'T-123',
      '07',
      '1e3',
      '12.0',
      '3.500',
      true,
      {},
      { a: 1 },
    ]);
  else if (way === 6) args[name] = { [name]: value as Json };
  return args;
}

describe('random histories', () => {
  const random = seededRandom('policies that are mined');
  const HISTORIES = 30;
  const PROBES = 60;
  const all = Array.from({ length: HISTORIES }, () => {
    const told = history(random);
    return { told, parts: partsOf(told) };
  }).filter(({ parts }) => parts.length > 0);

  it('suggest something now and then', () => {
    expect(all.length).toBeGreaterThan(HISTORIES / 8);
  });

  it('let pass only what lies between approved calls that are otherwise alike, and nothing that was denied', () => {
    const wrong: unknown[] = [];
    for (const { told, parts } of all) {
      const layouts = told.map((one) => ({ ...one, layout: layoutOf(one.args) as Layout }));
      const probes = Array.from({ length: PROBES }, () => layoutOf(near(told, random)) as Layout);
      for (const part of parts) {
        // Those that it may rest on, and what they have, found by another way than it was.
        const rest = layouts.filter(
          ({ decided, agent, upstream, layout }) =>
            decided === 'approved' &&
            part.agents.includes(`acme/${agent}`) &&
            upstream === part.upstream &&
            layout.key === canonicalJson(part.objects),
        );
        const valuesOf = new Map(
          part.arguments.map(({ pointer }) => [pointer, rest.map(({ layout }) => layout.values.get(pointer) as Json)]),
        );
        for (const { decided, layout } of layouts)
          if (decided !== 'approved' && liesIn(part, layout)) wrong.push([part, layout]);
        for (const agent of part.agents)
          if (rest.filter((one) => `acme/${one.agent}` === agent).length < 3) wrong.push([part, agent]);
        for (const layout of [...layouts.map((one) => one.layout), ...probes].filter((one) => liesIn(part, one)))
          for (const [pointer, value] of layout.values) {
            const seen = (valuesOf.get(pointer) ?? []).filter((one) => typeof one === typeof value);
            const numbers = seen.map(Number);
            const isBetween =
              typeof value === 'number' || (typeof value === 'string' && /^[0-9.]+$/.test(value))
                ? Math.min(...numbers) <= Number(value) && Math.max(...numbers) >= Number(value)
                : typeof value === 'string' && value.startsWith('T-')
                  ? /^T-[0-9]{3}$/.test(value)
                  : seen.map(canonicalJson).includes(canonicalJson(value));
            if (!isBetween) wrong.push([part, pointer, value]);
          }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('suggest the same in whatever order the decisions came', () => {
    for (const { told, parts } of all.slice(0, 8)) {
      const shuffled = told.map((one) => [random.next(), one] as const).toSorted(([one], [other]) => one - other);
      expect(partsOf(shuffled.map(([, one]) => one))).toEqual(parts);
    }
  });

  describe('as rules', () => {
    const compiler = opaCompiler({
      find: () => findOpa({ onProgress: () => undefined }),
      directory: shippedPolicyDirectory(),
    });
    const some = all
      .slice(0, 12)
      .map((one, at) => ({ ...one, tool: `tool_${at}`, ...fenceOf('acme', `tool_${at}`, one.parts) }));
    let rules: AddedRules;
    beforeAll(async () => {
      const compiled = await compiler.compile(some);
      if (compiled.fault) throw new Error(JSON.stringify(compiled.fault));
      rules = createAddedRules({
        module: new WebAssembly.Module(compiled.wasm),
        data: { gate: {} },
        bundle: floor.bundle,
        maxMemoryPages: 1_024,
      });
    }, 120_000);

    it('are in the usual form, and only ever ask', async () => {
      const checked = await compiler.check({ name: some[0]?.name as string, body: some[0]?.body as string });
      expect(checked).toMatchObject({ formatted: some[0]?.body });
    }, 60_000);

    it('let pass exactly what the parts say, of these agents at this upstream', () => {
      let passed = 0;
      for (const { told, parts, tool } of some) {
        const asks = (args: JsonObject, agent: string, upstream: string | null): boolean => {
          const input = { tool_type: tool, agent_id: agent, arguments: args, ...(upstream !== null && { upstream }) };
          const { deny, review } = rules.judge({ ...input, watched_by: {}, found_in_arguments: {} });
          expect(deny).toEqual([]);
          return review.length > 0;
        };
        for (let probe = 0; probe < PROBES; probe += 1) {
          const args = probe % 3 === 0 ? random.pick(told).args : near(told, random);
          const [agent, upstream] = [random.pick(['acme/a', 'acme/b', 'acme/z']), random.pick(['desk', null])];
          const layout = layoutOf(args);
          const passes = parts.some(
            (part) =>
              layout !== null && liesIn(part, layout) && part.agents.includes(agent) && part.upstream === upstream,
          );
          if (passes) passed += 1;
          expect([args, agent, upstream, asks(args, agent, upstream)]).toEqual([args, agent, upstream, !passes]);
        }
        // Another tool is none of its business.
        expect(rules.judge({ tool_type: 'list_files', agent_id: 'acme/a', arguments: {} }).review).toEqual([]);
      }
      expect(passed).toBeGreaterThan(20);
    }, 60_000);
  });
});
