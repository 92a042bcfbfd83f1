import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, timePasses } from '../../test/support/waiting.js';
import { createThreads, type ThreadKind, type Threads } from './threads.js';

/** A question is answered with the number of the thread, at once or when this gate opens; one that needs all memory never is. */
type Question = 'at once' | 'when it opens' | 'all memory';
/** What a test and the threads share. A gate is open at 1; the others count. */
const PLACES = { ordinary: 0, question: 1, started: 2, taken: 3, answered: 4 } as const;
type Place = keyof typeof PLACES;

const compiled = new URL('../../dist/adapters/threads/threads.js', import.meta.url).href;
const THREAD = `
import { workerData } from 'node:worker_threads';
import { answerInThread } from ${JSON.stringify(compiled)};
const { places, ordinary } = workerData;
const number = Atomics.add(places, ${PLACES.started}, 1) + 1;
const open = (gate) => void Atomics.wait(places, gate, 0);
await answerInThread((question) => {
  Atomics.add(places, ${PLACES.taken}, 1);
  if (question === 'when it opens') open(${PLACES.question});
  for (const held = []; question === 'all memory'; ) held.push(new Array(10_000).fill(number));
  // By then the answer is on its way.
  setImmediate(() => void Atomics.add(places, ${PLACES.answered}, 1));
  return number;
}, () => ordinary && open(${PLACES.ordinary}));
`;

let folder: string;
let script: URL;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-threads-'));
  const file = join(folder, 'thread.mjs');
  writeFileSync(file, THREAD);
  script = pathToFileURL(file);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let places: Int32Array;
const open: Threads<Question, number>[] = [];
const newPlaces = () => new Int32Array(new SharedArrayBuffer(4 * Object.keys(PLACES).length));
beforeEach(() => {
  places = newPlaces();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((threads) => threads.close()));
});
const at = (place: Place): number => Atomics.load(places, PLACES[place]);
function openGate(gate: 'ordinary' | 'question'): void {
  Atomics.store(places, PLACES[gate], 1);
  Atomics.notify(places, PLACES[gate]);
}
const closeGate = (gate: 'ordinary' | 'question') => void Atomics.store(places, PLACES[gate], 0);
function threadsWith(limits: Partial<ThreadKind>): Threads<Question, number> {
  const threads = createThreads<Question, number>({
    work: 'work',
    code: 'policy_unavailable',
    script,
    material: (careful) => ({ places, ordinary: !careful }),
    threads: 1,
    ...limits,
  });
  open.push(threads);
  return threads;
}
const answered = (threads: Threads<Question, number>) =>
  eventually('an answer', () => threads.ask('at once', 'one').catch(() => null));
/** Nothing else happens in this process until then, as where something holds the event loop. */
function holdUntil(there: () => boolean): void {
  while (!there());
}

describe('a thread that is still cold', () => {
  it('is not ended for the time of those that wait for it: after one slow request a slow machine answers again', async () => {
    const threads = threadsWith({ limitMs: 1_000 });
    openGate('ordinary');
    expect(await answered(threads)).toBe(1);
    closeGate('ordinary');
    const tooLong = { code: 'policy_unavailable', message: expect.stringContaining('took longer than 1000 ms') };
    await expect(threads.ask('when it opens', 'one')).rejects.toMatchObject(tooLong);
    for (const _ of [1, 2, 3]) await expect(threads.ask('at once', 'one')).rejects.toMatchObject(tooLong);
    await eventually('another thread', () => at('started') > 1);
    openGate('ordinary');
    expect(await answered(threads)).toBe(2);
    expect(at('started')).toBe(2);
  });

  it('is ended where it is never ready, and the next one leaves out what it can', async () => {
    let startMs = 500;
    // Where a machine starts no thread at all in this time, it is twice as long.
    const next = await eventually('a thread that leaves it out', async () => {
      startMs *= 2;
      const threads = threadsWith({ limitMs: 60_000, startMs });
      await expect(threads.ask('at once', 'one')).rejects.toThrow('the work thread ended');
      return threads.ask('at once', 'one').catch(() => null);
    });
    expect(next).toBe(at('started'));
    expect(at('ordinary')).toBe(0);
  }, 120_000);
});

describe('threads that are started in advance', () => {
  /** A kind whose thread is not ready before its own gate opens. */
  const kind = () => {
    const own = newPlaces();
    return {
      threads: threadsWith({ limitMs: 60_000, material: () => ({ places: own, ordinary: true }) }),
      started: () => Atomics.load(own, PLACES.started),
      becomesReady() {
        Atomics.store(own, PLACES.ordinary, 1);
        Atomics.notify(own, PLACES.ordinary);
      },
    };
  };

  it('start one at a time, whatever their kind', async () => {
    const [first, second, third] = [kind(), kind(), kind()];
    for (const { threads } of [first, second, third]) threads.warm();
    await eventually('the first thread', () => first.started() === 1);
    await timePasses(300, 'the others would have started by now');
    expect([second.started(), third.started()]).toEqual([0, 0]);
    first.becomesReady();
    await eventually('the second thread', () => second.started() === 1);
    expect(third.started()).toBe(0);
    // One that ends before it is ready holds up no other.
    await second.threads.close();
    await eventually('the third thread', () => third.started() === 1);
  }, 60_000);

  it('hold up no question: its thread starts at once, and not a second time in its turn', async () => {
    const [first, second, third] = [kind(), kind(), kind()];
    for (const { threads } of [first, second, third]) threads.warm();
    second.becomesReady();
    expect(await second.threads.ask('at once', 'one')).toBe(1);
    first.becomesReady();
    await eventually('the third thread', () => third.started() === 1);
    expect(second.started()).toBe(1);
  }, 60_000);

  it('hold up no other where one cannot be started: the first question is told why', async () => {
    const broken = threadsWith({ material: () => () => 'a function cannot be copied' });
    const next = kind();
    for (const threads of [broken, next.threads]) threads.warm();
    await eventually('the thread of the next kind', () => next.started() === 1);
    await expect(broken.ask('at once', 'one')).rejects.toThrow('could not be cloned');
  }, 60_000);
});

describe('a thread that is handed a request after that has waited', () => {
  const LIMIT_MS = 2_000;
  /**
   * The thread is held in its ordinary work; a request has waited for half of its limit, then the thread has it, and then the limit is over. Null where
   * a busy machine did not hand it over in the other half.
   */
  async function refusedLate(): Promise<Threads<Question, number> | null> {
    places = newPlaces();
    const threads = threadsWith({ limitMs: LIMIT_MS });
    threads.warm();
    await eventually('its thread', () => at('started') === 1);
    const late = threads.ask('when it opens', 'one');
    const refused = expect(late).rejects.toThrow('took longer than 2000 ms and was given up');
    await timePasses(LIMIT_MS / 2, 'the time that a request waits is part of its limit');
    openGate('ordinary');
    await refused;
    expect(at('started')).toBe(1);
    return at('taken') === 1 ? threads : null;
  }

  it('goes on after the request is refused, and has the next one', async () => {
    // A busy machine may also take all of the time that the thread has left.
    await eventually('the same thread', async () => {
      const threads = await refusedLate();
      openGate('question');
      return threads && (await answered(threads)) === 1 && at('started') === 1;
    });
  }, 120_000);

  it('is ended when it has worked on it for the limit itself, and the next one has another thread', async () => {
    const threads = await eventually('a request that is handed over late', refusedLate);
    expect(await answered(threads)).toBe(2);
  }, 120_000);
});

describe('an answer that came while something held the event loop beyond a limit', () => {
  const came = async (threads: Threads<Question, number>, forMs: number, ...agents: string[]) => {
    // What comes next in the loop are timers, and then messages.
    await new Promise((resolve) => setImmediate(resolve));
    const before = at('answered');
    const answers = Promise.all(agents.map((agent) => threads.ask('at once', agent)));
    const until = performance.now() + forMs;
    holdUntil(() => at('answered') > before && performance.now() > until);
    return answers;
  };

  it('is given, and its thread goes on', async () => {
    openGate('ordinary');
    const threads = threadsWith({ limitMs: 500 });
    await answered(threads);
    expect(await came(threads, 600, 'one')).toEqual([1]);
    expect(await answered(threads)).toBe(1);
  });

  it('is given also where others have waited long', async () => {
    openGate('ordinary');
    const threads = threadsWith({ limitMs: 60_000, turnMs: 10, patienceMs: 10 });
    await answered(threads);
    expect(await came(threads, 50, 'one', 'another', 'a third')).toEqual([1, 1, 1]);
    expect(at('started')).toBe(1);
  });
});

describe('a request that allocates without end', () => {
  it('is refused when its thread reaches its memory limit, and the next one is answered by another thread', async () => {
    openGate('ordinary');
    const threads = threadsWith({ limitMs: 100_000 });
    expect(await answered(threads)).toBe(1);
    const [, waiting] = await Promise.all([
      expect(threads.ask('all memory', 'one')).rejects.toMatchObject({
        code: 'policy_unavailable',
        message: expect.stringMatching(/^the work thread failed: .*memory limit/),
      }),
      threads.ask('at once', 'another'),
    ]);
    expect(waiting).toBe(2);
    expect(await threads.ask('at once', 'one')).toBe(2);
  }, 120_000);
});
