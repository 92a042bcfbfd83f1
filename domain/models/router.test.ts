import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { type Failure, type ModelClient, ModelFailure, type ModelReply } from './port.js';
import { type Attempt, createModels } from './router.js';
import type { Budget, Route, Target } from './routing.js';

const schema = z.strictObject({ word: z.string().max(8) });
/** Input at 1, output at 4 millionths of a dollar a token. */
const price = { inputMicrosPerMillionTokens: 1_000_000, outputMicrosPerMillionTokens: 4_000_000 };
const target = (alias: string, provider = alias): Target => ({
  alias,
  provider,
  model: `${alias}-1`,
  maxOutputTokens: 100,
  price,
});
const usage = { inputTokens: 10, outputTokens: 5 };
const COST = 10 + 20;
/** "ask" and "data" and what is around them, and all of the output. */
const MOST = 3 + 4 + 256 + 400;

type Says = (signal: AbortSignal) => Promise<ModelReply>;
const says =
  (word: string): Says =>
  () =>
    Promise.resolve({ text: JSON.stringify({ word }), usage });
const fails =
  (failure: Failure, options: ConstructorParameters<typeof ModelFailure>[1] = {}): Says =>
  () =>
    Promise.reject(new ModelFailure(failure, options));
const busy = fails('rate_limited', { transient: true });
/** Answers when it is told to; ends when nobody waits any more. */
function held() {
  const open: { resolve: (reply: ModelReply) => void; reject: (error: unknown) => void }[] = [];
  const ask: Says = (signal) =>
    new Promise((resolve, reject) => {
      open.push({ resolve, reject });
      signal.addEventListener('abort', () => reject(new ModelFailure('ambiguous_transport', { unknownCost: true })));
    });
  return { ask, open, answer: (word: string) => open.shift()?.resolve({ text: JSON.stringify({ word }), usage }) };
}

function world(
  models: Readonly<Record<string, Says>>,
  { budget, ...route }: { budget?: Budget; hedgeAfterMs?: number; targets?: Route['targets'] } = {},
) {
  const asked: string[] = [];
  const attempts: Attempt[] = [];
  const clock = { ms: 0 };
  const names = Object.keys(models);
  const [first = '', ...others] = names;
  const clients = Object.fromEntries(
    Object.entries(models).map(([alias, answer]): [string, ModelClient] => [
      alias,
      { ask: ({ signal }) => (asked.push(alias), answer(signal)) },
    ]),
  );
  const made = createModels({
    routing: {
      sha256: '',
      providers: Object.fromEntries(names.map((name) => [name, name === first ? { budget } : {}])),
      workloads: { injection: { targets: [target(first), ...others.map((name) => target(name))], ...route } },
    },
    clients,
    observe: (attempt) => attempts.push(attempt),
    now: () => clock.ms,
  });
  const ask = (tenant: string | null = 'acme', signal?: AbortSignal) =>
    made.complete({ workload: 'injection', tenant, system: 'ask', data: 'data', schema, ...(signal && { signal }) });
  return { ask, asked, attempts, clock };
}
const failure = (name: Failure, costMicros?: number) =>
  expect.objectContaining({ name: 'ModelFailure', failure: name, ...(costMicros !== undefined && { costMicros }) });

describe('an answer', () => {
  it('is the value, who gave it, and what it cost', async () => {
    const { ask } = world({ one: says('yes') });
    expect(await ask()).toEqual({ value: { word: 'yes' }, usage, model: 'one:one-1', costMicros: COST });
  });
  it.each([
    ['no JSON', 'yes'],
    ['another form', '{"word":1}'],
    ['one field more', '{"word":"a","and":1}'],
    ['a text that is too long', '{"word":"123456789"}'],
    ['a key twice', '{"word":"a","word":"b"}'],
    ['two of them', '{"word":"a"}{"word":"b"}'],
    ['a cut one', '{"word":"a"'],
  ])('that is %s is none, is paid, and nobody else is asked', async (_what, text) => {
    const { ask, asked, attempts } = world({ one: () => Promise.resolve({ text, usage }), two: says('yes') });
    await expect(ask()).rejects.toEqual(failure('parse', COST));
    expect(asked).toEqual(['one']);
    expect(attempts).toEqual([{ workload: 'injection', model: 'one:one-1', outcome: 'parse', costMicros: COST }]);
  });
  it('whose provider does not say what it counted costs the most that it may have', async () => {
    const { ask } = world({ one: () => Promise.resolve({ text: '{"word":"a"}', usage: null }) });
    expect((await ask()).costMicros).toBe(MOST);
  });
});

describe('who stands in', () => {
  it.each<[string, Says]>([
    ['a connection that was not made', fails('connect', { transient: true })],
    ['a provider that is busy', busy],
    ['503', fails('unavailable', { transient: true })],
  ])('is asked after %s, each once, in order', async (_what, how) => {
    const { ask, asked } = world({ one: how, two: how, three: says('yes') });
    expect(await ask()).toMatchObject({ value: { word: 'yes' }, model: 'three:three-1' });
    expect(asked).toEqual(['one', 'two', 'three']);
  });

  it.each<Failure>([
    'unavailable',
    'authentication',
    'invalid_input',
    'unsupported',
    'ambiguous_transport',
    'refused',
    'truncated',
    'parse',
  ])('is not asked after %s', async (name) => {
    const { ask, asked } = world({ one: fails(name), two: says('yes') });
    await expect(ask()).rejects.toEqual(failure(name));
    expect(asked).toEqual(['one']);
  });

  it('is not asked after an error that nobody foresaw, which may have cost the most', async () => {
    const { ask, asked } = world({ one: () => Promise.reject(new TypeError('x')), two: says('yes') });
    await expect(ask()).rejects.toEqual(failure('ambiguous_transport', MOST));
    expect(asked).toEqual(['one']);
  });

  it('who fails as well has the last word', async () => {
    const { ask } = world({ one: busy, two: fails('refused', { usage }) });
    await expect(ask()).rejects.toEqual(failure('refused', COST));
  });
});

describe('a provider that is held back', () => {
  it('has 24 questions of one tenant at once; one more goes to who stands in', async () => {
    const slow = held();
    const { ask, asked } = world({ one: slow.ask, two: says('two') });
    const first = Array.from({ length: 24 }, () => ask());
    expect((await ask()).model).toBe('two:two-1');
    slow.answer('a');
    await Promise.race(first);
    const next = ask();
    expect(asked.filter((name) => name === 'one')).toHaveLength(25);
    while (slow.open.length > 0) slow.answer('a');
    await Promise.all([...first, next]);
  });

  it('is not asked for 30 s after five failures in a row, then by one question', async () => {
    let how: Says = fails('unavailable');
    const { ask, asked, clock } = world({ one: (signal) => how(signal) });
    for (let count = 0; count < 5; count += 1) await expect(ask()).rejects.toEqual(failure('unavailable'));
    clock.ms = 29_999;
    await expect(ask()).rejects.toEqual(failure('held_back', 0));
    expect(asked).toHaveLength(5);
    clock.ms = 30_000;
    const slow = held();
    how = slow.ask;
    const trial = ask();
    await expect(ask()).rejects.toEqual(failure('held_back'));
    slow.answer('a');
    await trial;
    how = says('a');
    await ask();
    expect(asked).toHaveLength(7);
  });

  it('again after the trial failed too', async () => {
    const { ask, asked, clock } = world({ one: fails('ambiguous_transport') });
    for (let count = 0; count < 5; count += 1) await expect(ask()).rejects.toEqual(failure('ambiguous_transport'));
    clock.ms = 30_000;
    await expect(ask()).rejects.toEqual(failure('ambiguous_transport'));
    await expect(ask()).rejects.toEqual(failure('held_back'));
    expect(asked).toHaveLength(6);
  });

  it.each<Failure>(['rate_limited', 'refused', 'parse', 'authentication'])('never for %s: it answers', async (name) => {
    const { ask, asked } = world({ one: fails(name) });
    for (let count = 0; count < 8; count += 1) await expect(ask()).rejects.toEqual(failure(name));
    expect(asked).toHaveLength(8);
  });
});

describe('a budget', () => {
  const budget = { microsPerHour: 3 * MOST, microsPerTenantAndHour: 2 * MOST };
  it('is set aside before a question is sent, and given back as far as it was not needed', async () => {
    const slow = held();
    const { ask, asked } = world({ one: slow.ask }, { budget });
    const two = [ask('acme'), ask('acme')];
    await expect(ask('acme')).rejects.toEqual(failure('over_budget', 0));
    expect(asked).toHaveLength(2);
    slow.answer('a');
    slow.answer('a');
    await Promise.all(two);
    const third = ask('acme');
    slow.answer('a');
    expect((await third).costMicros).toBe(COST);
  });

  it('is of each tenant, and of all of them together', async () => {
    const slow = held();
    const { ask } = world({ one: slow.ask }, { budget });
    const open = [ask('acme'), ask('acme'), ask('globex')];
    await expect(ask('globex')).rejects.toEqual(failure('over_budget'));
    await expect(ask(null)).rejects.toEqual(failure('over_budget'));
    while (slow.open.length > 0) slow.answer('a');
    await Promise.all(open);
  });

  it('is spent by a question of which nobody knows what became of it, until the hour is over', async () => {
    const { ask, clock } = world({ one: fails('ambiguous_transport', { unknownCost: true }) }, { budget });
    await expect(ask()).rejects.toEqual(failure('ambiguous_transport', MOST));
    await expect(ask()).rejects.toEqual(failure('ambiguous_transport', MOST));
    await expect(ask()).rejects.toEqual(failure('over_budget', 0));
    clock.ms = 3_600_000;
    await expect(ask()).rejects.toEqual(failure('ambiguous_transport', MOST));
  });

  it('is not spent by a question that was not sent', async () => {
    const { ask } = world({ one: fails('connect', { transient: true }) }, { budget });
    for (let count = 0; count < 4; count += 1) await expect(ask()).rejects.toEqual(failure('connect', 0));
  });

  it('that is used up leaves the question to who stands in', async () => {
    const { ask } = world(
      { one: says('a'), two: says('b') },
      { budget: { microsPerHour: 1, microsPerTenantAndHour: 1 } },
    );
    expect((await ask()).model).toBe('two:two-1');
  });
});

describe('a second question beside a slow one', () => {
  it('goes to who stands in, and the first answer counts; the other one is ended and may have cost the most', async () => {
    const slow = held();
    const { ask, asked, attempts } = world({ one: slow.ask, two: says('two') }, { hedgeAfterMs: 20 });
    expect(await ask()).toMatchObject({ model: 'two:two-1', costMicros: COST + MOST });
    expect(asked).toEqual(['one', 'two']);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['answered', 'abandoned']);
  });

  it('is not asked where the first one is quick', async () => {
    const { ask, asked } = world({ one: says('one'), two: says('two') }, { hedgeAfterMs: 20 });
    expect((await ask()).model).toBe('one:one-1');
    expect(asked).toEqual(['one']);
  });

  it('is asked at once where the first one is busy', async () => {
    const { ask } = world({ one: busy, two: says('two') }, { hedgeAfterMs: 60_000 });
    expect((await ask()).model).toBe('two:two-1');
  });

  it('cannot overrule what the first one says meanwhile', async () => {
    const [slow, other] = [held(), held()];
    const { ask, asked } = world({ one: slow.ask, two: other.ask }, { hedgeAfterMs: 1 });
    const answer = ask();
    const refused = expect(answer).rejects.toEqual(failure('refused'));
    while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
    slow.open[0]?.reject(new ModelFailure('refused'));
    other.answer('two');
    await refused;
  });

  it('that fails leaves the first one its time', async () => {
    const slow = held();
    const { ask, asked } = world({ one: slow.ask, two: fails('parse') }, { hedgeAfterMs: 1 });
    const answer = ask();
    while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
    slow.answer('one');
    expect((await answer).model).toBe('one:one-1');
  });
});

it('ends with whoever asked', async () => {
  const slow = held();
  const { ask, attempts } = world({ one: slow.ask });
  const unwanted = new AbortController();
  const answer = ask('acme', unwanted.signal);
  unwanted.abort();
  await expect(answer).rejects.toEqual(failure('ambiguous_transport', MOST));
  expect(attempts.map(({ outcome }) => outcome)).toEqual(['abandoned']);
});

it('a provider is held back no longer because the clock is set back', async () => {
  let answers = false;
  const { complete } = createModels({
    routing: { sha256: '', providers: { one: {} }, workloads: { injection: { targets: [target('one')] } } },
    clients: { one: { ask: () => (answers ? says('yes') : fails('unavailable'))(AbortSignal.timeout(1_000)) } },
  });
  const ask = () =>
    complete({ workload: 'injection', tenant: 'acme', system: 'ask', data: 'data', schema }).catch(
      ({ failure: why }: ModelFailure) => why,
    );
  for (let times = 0; times < 5; times += 1) expect(await ask()).toBe('unavailable');
  expect(await ask()).toBe('held_back');
  answers = true;
  const [day, steady] = [Date.now(), performance.now()];
  jest.spyOn(Date, 'now').mockReturnValue(day - 3_600_000);
  jest.spyOn(performance, 'now').mockReturnValue(steady + 31_000);
  try {
    expect(await ask()).toMatchObject({ value: { word: 'yes' } });
  } finally {
    jest.restoreAllMocks();
  }
});
