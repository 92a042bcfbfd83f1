import { describe, expect, it } from '@jest/globals';
import { keptNotesOver, type NoteTables } from '../../adapters/mcp/kept-notes.js';
import { keptQuestionsOver } from '../../adapters/mcp/kept-questions.js';
import type { Store } from '../../adapters/store/database.js';
import { STORES, testKeys } from '../../test/support/ledger.js';
import { processesApart } from '../../test/support/processes-apart.js';
import { eventually } from '../../test/support/waiting.js';
import { type ClientAnswer, type KeptQuestion, type Listener, Unaskable } from './call-talks.js';
import { type QuestionStore, talksApart, type TalksApartOptions } from './talks-apart.js';

const CALL = { correlation_id: 'a-call', client_can: ['elicitation'] } as const;
const MINUTE_MS = 60_000;
const ACCEPTED: ClientAnswer = ['result', '{"action":"accept","content":{}}'];

/** A client whose request a proxy holds: what it was asked, and how it ends. */
function client() {
  const asked: { method: string; params: string; timeoutMs: number; key: string | undefined; kept: KeptQuestion }[] =
    [];
  const ends: ((error: Error) => void)[] = [];
  const said: (ClientAnswer | string)[] = [];
  const listener: Listener = {
    progress: false,
    told: () => undefined,
    asked(method, params, timeoutMs, key, of) {
      const kept = of?.kept as KeptQuestion;
      asked.push({ method, params, timeoutMs, key, kept });
      const { over } = kept;
      over.then(
        (answer) => said.push(answer),
        (error: Error) => said.push(error.message),
      );
      return Promise.race([over, new Promise<never>((_, reject) => ends.push(reject))]);
    },
  };
  const gone = () => {
    for (const end of ends.splice(0)) end(new Error('the client is gone'));
  };
  return { asked, said, listener, gone };
}

describe.each(STORES)('what a tool asks where proxy and worker are apart, over %s', (kind) => {
  const keys = testKeys();
  const { opened, connected } = processesApart(kind);
  const notesOver = (store: Store<NoteTables>) => keptNotesOver(store, { keys });
  /** A process of its own, with its own connection to the store. */
  async function process(more: Partial<TalksApartOptions> = {}) {
    const store = await connected();
    const stored = keptQuestionsOver(store, { keys, ...(more.now && { now: more.now }) });
    let looks = 0;
    const counted: QuestionStore = {
      ...stored,
      open: (calls) => stored.open(calls).finally(() => (looks += 1)),
      standing: (ids) => stored.standing(ids).finally(() => (looks += 1)),
    };
    const talks = talksApart({ questions: counted, notes: notesOver(store), keys, pauseMs: 5, ...more });
    opened.push(talks);
    return { talks, kept: talks.kept as NonNullable<typeof talks.kept>, store, looks: () => looks };
  }
  /** It has looked, and done what follows from that, since it is asked. */
  const looks = async ({ looks: count }: Awaited<ReturnType<typeof process>>) => {
    const before = count();
    await eventually('it looks', () => count() > before + 2);
  };
  const asks = ({ talks }: Awaited<ReturnType<typeof process>>, timeoutMs = 30_000, key?: string) => {
    const answer = (talks.listenerOf(CALL) as Listener).asked('elicitation/create', '{"message":"?"}', timeoutMs, key);
    answer.catch(() => undefined);
    return answer;
  };
  const rowsOf = async ({ store }: Awaited<ReturnType<typeof process>>) =>
    (await store.db.selectFrom('mcp_questions').select('id').execute()).length;

  it('reaches the client under a name of its session, and the tool its answer', async () => {
    const [worker, proxy] = [await process(), await process()];
    const { asked, listener } = client();
    proxy.talks.listen('a-call', listener);
    const answer = asks(worker, 30_000, 'sure');
    const [question] = await eventually('it is asked', () => asked.length > 0 && asked);
    expect(question).toMatchObject({ method: 'elicitation/create', params: '{"message":"?"}', key: 'sure' });
    const name = question?.kept.nameIn('session') ?? '';
    expect(name).toMatch(/^gate-[0-9a-f-]{36}\.\S+$/);
    const which = { correlationId: 'a-call', method: 'elicitation/create' };
    expect(await proxy.kept.giveIn('session', name, ACCEPTED)).toEqual(which);
    expect(await answer).toEqual(ACCEPTED);
  });

  it('is answered from that session alone, by that name alone, and once', async () => {
    const [worker, proxy, other] = [await process(), await process(), await process()];
    const { asked, listener } = client();
    proxy.talks.listen('a-call', listener);
    const answer = asks(worker);
    const [question] = await eventually('it is asked', () => asked.length > 0 && asked);
    const name = question?.kept.nameIn('session') ?? '';
    const forged = [
      `gate-${question?.kept.id}`,
      name.slice(0, -1),
      name.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      'x',
      '',
    ];
    for (const one of forged) expect(await other.kept.giveIn('session', one, ACCEPTED)).toBeNull();
    expect(await other.kept.giveIn('another session', name, ACCEPTED)).toBeNull();
    const given = await Promise.all([proxy, other].map(({ kept }) => kept.giveIn('session', name, ACCEPTED)));
    expect(given.filter(Boolean)).toHaveLength(1);
    expect(await answer).toEqual(ACCEPTED);
    expect(await other.kept.giveIn('session', name, ['result', '{"action":"cancel"}'])).toBeNull();
  });

  it('may be answered at another replica: whoever put it to the client hears of that', async () => {
    const [worker, proxy, other] = [await process(), await process(), await process()];
    const { asked, said, listener } = client();
    proxy.talks.listen('a-call', listener);
    const answer = asks(worker);
    const [question] = await eventually('it is asked', () => asked.length > 0 && asked);
    expect(await other.kept.openOf('a-call')).toMatchObject([
      { id: question?.kept.id, method: 'elicitation/create', params: '{"message":"?"}' },
    ]);
    expect(await other.kept.give(question?.kept.id ?? '', ACCEPTED)).toBe(true);
    expect(await answer).toEqual(ACCEPTED);
    await eventually('it hears that', () => said.length > 0);
    expect([said, await other.kept.openOf('a-call')]).toEqual([[ACCEPTED], []]);
  });

  it('is put again to the client that comes back, there or at another replica, under the same name', async () => {
    const [worker, proxy, other] = [await process(), await process(), await process()];
    const before = client();
    const stop = proxy.talks.listen('a-call', before.listener);
    const answer = asks(worker);
    await eventually('it is asked', () => before.asked.length > 0);
    stop();
    before.gone();
    for (const replica of [proxy, other]) {
      const after = client();
      const end = replica.talks.listen('a-call', after.listener);
      const [again] = await eventually('it is asked again', () => after.asked.length > 0 && after.asked);
      expect(again?.kept.nameIn('s')).toBe(before.asked[0]?.kept.nameIn('s'));
      if (replica === other)
        expect(await other.kept.giveIn('s', again?.kept.nameIn('s') ?? '', ACCEPTED)).not.toBeNull();
      end();
      after.gone();
    }
    expect(await answer).toEqual(ACCEPTED);
  });

  it('is put again to a client that had no room for it, or answered beforehand', async () => {
    const [worker, proxy] = [await process(), await process()];
    let tries = 0;
    proxy.talks.listen('a-call', {
      ...client().listener,
      asked: async () => {
        if ((tries += 1) < 3) throw new Error('the request cannot be handed on to the client');
        return ACCEPTED;
      },
    });
    expect(await asks(worker)).toEqual(ACCEPTED);
    expect(tries).toBe(3);
  });

  it('is put to the newest who holds the request, once, and to nobody of another call', async () => {
    const [worker, proxy] = [await process(), await process()];
    const [one, two, another] = [client(), client(), client()];
    proxy.talks.listen('a-call', one.listener);
    proxy.talks.listen('another-call', another.listener);
    const answer = asks(worker);
    await eventually('it is asked', () => one.asked.length > 0);
    proxy.talks.listen('a-call', two.listener);
    const [question] = await eventually('it is asked again', () => two.asked.length > 0 && two.asked);
    await proxy.kept.give(question?.kept.id ?? '', ACCEPTED);
    await answer;
    expect([one.asked.length, two.asked.length, another.asked.length]).toEqual([1, 1, 0]);
  });

  it('is withdrawn with its call: nobody goes on asking, and no answer is taken', async () => {
    const [worker, proxy] = [await process(), await process()];
    const { asked, said, listener } = client();
    proxy.talks.listen('a-call', listener);
    const answer = asks(worker);
    const [question] = await eventually('it is asked', () => asked.length > 0 && asked);
    void worker.talks.over('a-call');
    await expect(answer).rejects.toThrow('waits for no answer');
    await eventually('the client is told', () => said.length > 0);
    expect(said).toEqual([expect.stringContaining('waits for no answer')]);
    expect(await proxy.kept.give(question?.kept.id ?? '', ACCEPTED)).toBe(false);
    expect(await rowsOf(worker)).toBe(0);
  });

  it('is withdrawn where the tool gives it up, and its call goes on', async () => {
    const [worker, proxy] = [await process(), await process()];
    const { asked, said, listener } = client();
    proxy.talks.listen('a-call', listener);
    const givenUp = new AbortController();
    const tool = worker.talks.listenerOf(CALL) as Listener;
    const answer = tool.asked('elicitation/create', '{}', 30_000, undefined, { givenUp: givenUp.signal });
    const next = tool.asked('elicitation/create', '{"next":true}', 30_000);
    await eventually('both are asked', () => asked.length === 2);
    givenUp.abort(new Error('the tool gave its question up'));
    await expect(answer).rejects.toThrow('gave its question up');
    await eventually('the client is told', () => said.length > 0);
    const kept = asked.find(({ params }) => params.includes('next'))?.kept;
    expect(await proxy.kept.give(kept?.id ?? '', ACCEPTED)).toBe(true);
    expect(await next).toEqual(ACCEPTED);
  });

  it('is refused where its client cannot be asked, does not answer in time, or comes for nothing', async () => {
    const [worker, proxy] = [await process(), await process()];
    await expect(asks(await process({ unheldMs: 50 }))).rejects.toThrow('nobody holds a request');
    const end = proxy.talks.listen('a-call', {
      ...client().listener,
      asked: () => Promise.reject(new Unaskable('the client cannot be asked that')),
    });
    await expect(asks(worker)).rejects.toThrow('cannot be asked that');
    end();
    proxy.talks.listen('a-call', client().listener);
    await expect(asks(worker, 100)).rejects.toThrow('in time');
    expect(worker.talks.listenerOf({ correlation_id: 'a-call' })).toBeNull();
    expect(worker.talks.listenerOf({ correlation_id: 'a-call', client_can: [] })).toBeNull();
  });

  it.each([
    ['ahead', MINUTE_MS / 2],
    ['behind', -MINUTE_MS / 2],
  ])('reaches a client at a proxy whose clock is %s by half a minute, and its answer counts', async (_, byMs) => {
    const worker = await process();
    const proxy = await process({ now: () => Date.now() + byMs });
    const { asked, listener } = client();
    proxy.talks.listen('a-call', listener);
    const answer = asks(worker, 10_000);
    const [question] = await eventually('it is asked', () => asked.length > 0 && asked);
    expect(question?.timeoutMs).toBeGreaterThan(10_000);
    expect(await proxy.kept.give(question?.kept.id ?? '', ACCEPTED)).toBe(true);
    expect(await answer).toEqual(ACCEPTED);
  });

  it.each([
    [30_000, 16_000],
    [20_000, 15_000],
    [12_000, 10_000],
    [300_000, 30_000],
  ])(
    'of a call with %i ms left waits %i for who holds the request, so that the tool hears of that in time',
    async (leftMs, waitMs) => {
      let past = 0;
      const worker = await process({ steadyMs: () => performance.now() + past });
      const answer = asks(worker, leftMs);
      const settled: string[] = [];
      answer.catch((error: Error) => settled.push(error.message));
      await eventually('it is kept', async () => (await rowsOf(worker)) === 1);
      past = waitMs - 2_000;
      await looks(worker);
      expect(settled).toEqual([]);
      past = waitMs + 100;
      await expect(answer).rejects.toThrow('nobody holds a request');
    },
  );

  it.each([
    ['ahead', MINUTE_MS / 2],
    ['behind', -MINUTE_MS / 2],
  ])('knows that nobody holds the request where the one that did has a clock that is %s', async (_, byMs) => {
    let past = 0;
    const steadyMs = () => performance.now() + past;
    const worker = await process({ now: () => Date.now() + past, steadyMs });
    const proxy = await process({ now: () => Date.now() + byMs + past, steadyMs });
    const held = client();
    const stop = proxy.talks.listen('a-call', held.listener);
    const answer = asks(worker, 50_000);
    const settled: string[] = [];
    answer.catch((error: Error) => settled.push(error.message));
    await eventually('it is asked', () => held.asked.length > 0);
    for (past of [5_100, 10_200, 15_300, 20_400, 25_500]) {
      await looks(proxy);
      await looks(worker);
    }
    expect(settled).toEqual([]);
    stop();
    held.gone();
    await looks(worker);
    past += 18_000;
    await expect(answer).rejects.toThrow('nobody holds a request');
  });

  it.each([
    ['is set back', -60 * MINUTE_MS, -60 * MINUTE_MS],
    ['is set ahead, the worker’s by an hour', 60 * MINUTE_MS, MINUTE_MS / 2],
  ])(
    'is held, and waits as long as it may, where the clock of a machine %s meanwhile',
    async (_, ofWorker, ofProxy) => {
      let [past, set] = [0, 0];
      const steadyMs = () => performance.now() + past;
      const worker = await process({ now: () => Date.now() + past + set * ofWorker, steadyMs });
      const proxy = await process({ now: () => Date.now() + past + set * ofProxy, steadyMs });
      const { asked, listener } = client();
      proxy.talks.listen('a-call', listener);
      const answer = asks(worker, 50_000);
      const settled: string[] = [];
      answer.catch((error: Error) => settled.push(error.message));
      await eventually('it is asked', () => asked.length > 0);
      set = 1;
      for (past of [5_100, 10_200, 15_300, 20_400, 25_500, 30_600, 35_700]) {
        await looks(proxy);
        await looks(worker);
      }
      expect(settled).toEqual([]);
      past = 50_100;
      await expect(answer).rejects.toThrow('in time');
    },
  );

  it.each<[string, string, string]>([
    ['is too long to be handed on', 'elicitation/create', JSON.stringify('x'.repeat(65_536))],
    ['its client did not say it can be asked', 'sampling/createMessage', '{}'],
    ['nobody knows', 'tools/call', '{}'],
  ])('is kept nowhere where it %s', async (_, method, params) => {
    const worker = await process();
    await expect((worker.talks.listenerOf(CALL) as Listener).asked(method, params, 30_000)).rejects.toThrow(
      /cannot be/,
    );
    expect(await rowsOf(worker)).toBe(0);
  });

  it('is refused where sixteen of its call are open, and asked again once one is not', async () => {
    const worker = await process();
    const tool = worker.talks.listenerOf(CALL) as Listener;
    const ask = () => tool.asked('elicitation/create', '{}', 30_000);
    const open = Array.from({ length: 16 }, () => ask().catch((error: Error) => error.message));
    await expect(ask()).rejects.toThrow('16 questions');
    await eventually('they are kept', async () => (await rowsOf(worker)) === 16);
    const [{ id } = { id: '' }] = await worker.kept.openOf('a-call');
    await worker.kept.give(id, ACCEPTED);
    await Promise.race(open);
    ask().catch(() => undefined);
    // That one was answered is known for a while.
    await eventually('it is kept', async () => (await rowsOf(worker)) === 17);
  });

  it('is looked for in the calls that are listened to, and in no other', async () => {
    const looked: (readonly string[])[] = [];
    const [worker, proxy] = [await process(), await process()];
    const stored = keptQuestionsOver(proxy.store, { keys });
    const open = (calls: readonly string[]) => {
      looked.push(calls);
      return stored.open(calls);
    };
    const talks = talksApart({ questions: { ...stored, open }, notes: notesOver(proxy.store), keys, pauseMs: 5 });
    opened.push(talks);
    asks(worker).catch(() => undefined);
    const { asked, listener } = client();
    const stop = talks.listen('another-call', listener);
    await eventually('it looks', () => looked.length > 1);
    expect([asked.length, looked.every((calls) => calls.join() === 'another-call')]).toEqual([0, true]);
    const own = client();
    const end = talks.listen('a-call', own.listener);
    await eventually('it is asked', () => own.asked.length > 0);
    stop();
    end();
    // What was put to a client is looked after until it is over.
    looked.length = 0;
    await eventually('it looks', () => looked.length > 1);
    expect(looked.at(-1)).toEqual(['a-call']);
    own.gone();
  });

  it('is not put to a client by a look that began before its answer came here', async () => {
    const [worker, proxy] = [await process(), await process()];
    const stored = keptQuestionsOver(proxy.store, { keys });
    let found: () => void = () => undefined;
    const isFound = new Promise<void>((resolve) => (found = resolve));
    let goOn: () => void = () => undefined;
    const goesOn = new Promise<void>((resolve) => (goOn = resolve));
    let looks = 0;
    const open = async (calls: readonly string[]) => {
      const all = await stored.open(calls);
      if (all.length > 0) {
        found();
        await goesOn;
      }
      looks += 1;
      return all;
    };
    const talks = talksApart({ questions: { ...stored, open }, notes: notesOver(proxy.store), keys, pauseMs: 5 });
    opened.push(talks);
    const answer = asks(worker);
    const [{ id }] = (await eventually('it is kept', async () => {
      const all = await worker.kept.openOf('a-call');
      return all.length > 0 && all;
    })) as unknown as [{ id: string }];
    const { asked, listener } = client();
    talks.listen('a-call', listener);
    await isFound;
    expect(await talks.kept?.give(id, ACCEPTED)).toBe(true);
    goOn();
    const before = looks;
    await eventually('it looks again', () => looks > before + 1);
    expect([await answer, asked]).toEqual([ACCEPTED, []]);
  });

  it('of a worker that was killed goes where nothing is asked and nobody listens, at the start or in time', async () => {
    const killed = await process();
    asks(killed).catch(() => undefined);
    await eventually('it is kept', async () => (await rowsOf(killed)) === 1);
    let past = 0;
    const other = await process({ now: () => Date.now() + past, purgeEveryMs: 5 });
    past = 3 * MINUTE_MS;
    await eventually('it is gone', async () => (await rowsOf(other)) === 0);
    other.talks.close();
    asks(killed).catch(() => undefined);
    await eventually('it is kept', async () => (await rowsOf(killed)) === 1);
    killed.talks.close();
    const later = await process({ now: () => Date.now() + past });
    await eventually('it is gone', async () => (await rowsOf(later)) === 0);
  });

  it('is removed once more where the store failed', async () => {
    const { store } = await process();
    const stored = keptQuestionsOver(store, { keys });
    let tries = 0;
    const remove = (ids: readonly string[]) =>
      (tries += 1) === 1 ? Promise.reject(new Error('away')) : stored.remove(ids);
    const talks = talksApart({ questions: { ...stored, remove }, notes: notesOver(store), keys, pauseMs: 5 });
    opened.push(talks);
    const answer = (talks.listenerOf(CALL) as Listener).asked('elicitation/create', '{}', 30_000);
    const left = async () => (await store.db.selectFrom('mcp_questions').select('id').execute()).length;
    await eventually('it is kept', async () => (await left()) === 1);
    void talks.over('a-call');
    await expect(answer).rejects.toThrow('waits for no answer');
    await eventually('it is gone', async () => (await left()) === 0);
    expect(tries).toBe(2);
  });

  it('waits while the store fails, and goes on once it answers', async () => {
    const faults: unknown[] = [];
    const [worker, proxy] = [await process(), await process()];
    const broken = keptQuestionsOver(proxy.store, { keys });
    let fails = true;
    const talks = talksApart({
      questions: { ...broken, open: (of) => (fails ? Promise.reject(new Error('away')) : broken.open(of)) },
      notes: notesOver(proxy.store),
      keys,
      pauseMs: 5,
      onFault: (error) => faults.push(error instanceof Error ? error.message : error),
    });
    opened.push(talks);
    const { asked, listener } = client();
    talks.listen('a-call', listener);
    const answer = asks(worker);
    await eventually('it is told', () => faults.length > 0);
    fails = false;
    const [question] = await eventually('it is asked', () => asked.length > 0 && asked);
    await talks.kept?.give(question?.kept.id ?? '', ACCEPTED);
    expect([await answer, faults]).toEqual([ACCEPTED, ['away', null]]);
  });
});
