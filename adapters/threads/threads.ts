import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { ErrorCodeName } from '../../contracts/error-codes.js';
import { errorText, GateError } from '../../domain/errors.js';
import { createFairQueue } from '../../domain/fair-queue.js';
import { PROGRAM_FOLDER } from './program-folder.js';

/**
 * The time from asking to the answer, including waiting and starting a thread. Shorter than the time that a workflow gives the step. A thread
 * works as long on one request: one that was handed a request late goes on after that is refused, and is not replaced by one that is cold.
 */
const LIMIT_MS = 4_000;
/**
 * A thread that is not ready by then is terminated. Longer than any request waits, so the next request benefits from the start. Nothing that an
 * agent wrote is worked on before.
 */
const START_MS = 30_000;
/** The part of the limit that a request may always use a thread, even while other agents wait. */
const SHARE_WHILE_OTHERS_WAIT = 1 / 3;
/** The part of the limit that an agent waits before another agent's request is ended in its favour. The rest is for its own request. */
const PATIENCE = 1 / 2;
/** After an agent used a turn of the whole limit in vain, it gets no other such turn for this long while others wait. */
const IN_VAIN_MS = 60_000;
const REMEMBERED_AGENTS = 1_000;
/** Large requests of one agent that may wait for a thread. Later ones are refused at once, because they could not be answered in time. */
const LONGEST_QUEUE = 32;
/** The total queue has room for this many agents with full queues; beyond that, every request is refused. */
const FULL_QUEUES = 4;
/** A thread that needs more memory ends, and its request is refused. */
const MEMORY_MB = 512;

/**
 * Threads of one kind that serve agents in turns. One request of each agent is in progress at a time, and no agent waits for more than one
 * request of another. A request that cannot be answered in time is refused with the kind's code and has no result; asking again is safe.
 *
 * A thread is slow until it has worked once. So it is ready only then (`answerInThread`), and is ended only for a request that it has itself
 * worked on for its time: were it ended for the time that the request waited, a slow machine would end every thread that it starts.
 */
export interface Threads<Question, Answer> {
  /** `agent` identifies the agent that asks, including its tenant. */
  ask(question: Question, agent: string): Promise<Answer>;
  /**
   * Starts a thread in advance, so that the first question finds it ready. Of all kinds of this process one starts at a time: a start takes half
   * a second of a processor, and the first calls need one too. A question that comes sooner starts its thread at once.
   */
  warm(): void;
  /** Ends the threads; open requests are refused. */
  close(): Promise<void>;
}

export interface ThreadLimits {
  readonly threads?: number;
  readonly limitMs?: number;
  /** How long a thread may take until it is ready. */
  readonly startMs?: number;
  /** The minimum time that a thread works on one request while other agents wait. */
  readonly turnMs?: number;
  /** How long an agent waits before a request that has had its minimum time is ended in its favour. */
  readonly patienceMs?: number;
  /** How many requests of one agent may wait. */
  readonly longestQueue?: number;
}

export interface ThreadKind extends ThreadLimits {
  /** The work in one word, for messages: "inspection". */
  readonly work: string;
  readonly code: ErrorCodeName;
  /** Of what cannot be handed to a thread, which no later time changes: it is nested too deeply. */
  readonly unreadable?: ErrorCodeName;
  readonly script: URL;
  /** What a thread is started with. `careful` after one that never was ready: what it can do without is left out. */
  readonly material: (careful: boolean) => unknown;
  /** Whom an agent belongs to. All agents of one leave a thread and half of the queue to others. */
  readonly groupOf?: (agent: string) => string;
}

/** The messages of a thread: `ready` once, then one of these for each question. */
type ThreadAnswer<Answer> =
  | { readonly answer: Answer }
  | { readonly refused: { readonly code: ErrorCodeName | null; readonly message: string } };

interface Asked<Question, Answer> {
  readonly agent: string;
  readonly sinceMs: number;
  readonly question: Question;
  readonly settle: (answer: ThreadAnswer<Answer>) => void;
}

/**
 * The program of a thread, by the module it begins with. The build makes one file of each; without it the compiled module itself is started.
 * Tests run from the sources and start what was built from them.
 */
export function compiledScript(beside: URL): URL {
  const at = Math.max(beside.href.lastIndexOf('/adapters/'), beside.href.lastIndexOf('/workers/'));
  // In the single executable, each thread is one file already, in a folder of the machine that may have any name.
  if (at === -1 || beside.href.split('/').at(-2) === PROGRAM_FOLDER) return beside;
  const root = beside.href.slice(0, at).replace(/\/dist$/, '');
  const oneFile = new URL(`${root}/dist/threads/${beside.href.slice(beside.href.lastIndexOf('/') + 1)}`);
  return existsSync(oneFile) ? oneFile : new URL(`${root}/dist${beside.href.slice(at)}`);
}

interface Turn<Question, Answer> {
  readonly asked: Asked<Question, Answer>;
  readonly sinceMs: number;
  readonly timer: NodeJS.Timeout;
  /** The agent's last request was ended in favour of others, so this one gets the whole limit. */
  readonly whole: boolean;
  /** The request has had its minimum time. */
  over: boolean;
  /** Ends the thread of a request that was refused meanwhile. */
  last: NodeJS.Timeout | undefined;
}

/**
 * A limit that has passed may be found before the answer that came in time is read, where something held the event loop. By now that is read: a
 * whole turn of the loop has gone by.
 */
const onceRead = (then: () => void): void => {
  setImmediate(() => setImmediate(then));
};

/**
 * The thread's side of `ask`: answers one question at a time. The thread is ready after `ordinary`, some work of its kind, whose first time takes
 * long. What comes of that is of no matter.
 */
export async function answerInThread<Question, Answer>(
  answer: (question: Question) => Answer | Promise<Answer>,
  ordinary: () => unknown,
): Promise<void> {
  if (isMainThread) return;
  try {
    await ordinary();
  } catch {
    // Each question has an answer or an error of its own.
  }
  parentPort?.on('message', (question: Question) => {
    void (async (): Promise<ThreadAnswer<Answer>> => ({ answer: await answer(question) }))()
      .catch((error: unknown) => ({
        refused: { code: error instanceof GateError ? error.code : null, message: errorText(error) },
      }))
      .then((said) => parentPort?.postMessage(said));
  });
  parentPort?.postMessage('ready');
}

/** Until the threads that were started in advance are ready, or have ended. */
let startsInTurn: Promise<void> = Promise.resolve();

export function createThreads<Question, Answer>({
  work,
  code,
  unreadable = code,
  script,
  material,
  groupOf,
  threads = Math.max(1, Math.min(4, availableParallelism() - 1)),
  limitMs = LIMIT_MS,
  startMs = START_MS,
  turnMs = Math.ceil(limitMs * SHARE_WHILE_OTHERS_WAIT),
  patienceMs = Math.ceil(limitMs * PATIENCE),
  longestQueue = LONGEST_QUEUE,
}: ThreadKind): Threads<Question, Answer> {
  type One = Asked<Question, Answer>;
  const starting = new Map<Worker, NodeJS.Timeout>();
  const idle: Worker[] = [];
  const busy = new Map<Worker, Turn<Question, Answer>>();
  const waiting = createFairQueue<One>(groupOf && { of: groupOf, most: Math.max(1, threads - 1) });
  const remembered = { max: REMEMBERED_AGENTS, ttl: IN_VAIN_MS };
  /** Agents whose last request was ended in favour of others, and agents that have since used the whole limit in vain. */
  const cutShort = new LRUCache<string, true>(remembered);
  const inVain = new LRUCache<string, true>(remembered);
  let patience: NodeJS.Timeout | undefined;
  /** A turn of the event loop goes by before a thread is ended. */
  let making = false;
  let careful = false;
  let closed = false;
  const refusal = (message: string): ThreadAnswer<Answer> => ({ refused: { code, message } });

  function start(): Worker {
    const worker = new Worker(script, {
      workerData: material(careful),
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    // An idle thread does not keep the process alive.
    worker.unref();
    const late = setTimeout(() => onceRead(() => void (starting.get(worker) === late && worker.terminate())), startMs);
    late.unref();
    starting.set(worker, late);
    worker.on('message', (said: ThreadAnswer<Answer> | 'ready') => {
      // A message from a thread whose turn has already been ended is ignored.
      const asked = said === 'ready' ? null : turnEnded(worker);
      if (asked === null ? !started(worker) : asked === undefined) return;
      if (!closed) idle.push(worker);
      if (said !== 'ready') asked?.settle(said);
      next();
    });
    worker.on('error', (error) => lost(worker, `the ${work} thread failed: ${error.message}`));
    worker.on('exit', () => lost(worker, `the ${work} thread ended`));
    return worker;
  }

  function started(worker: Worker): boolean {
    clearTimeout(starting.get(worker));
    return starting.delete(worker);
  }

  function turnOf(worker: Worker, asked: One): void {
    const timer = setTimeout(() => {
      turn.over = true;
      makeRoom();
    }, turnMs);
    timer.unref();
    const whole = cutShort.delete(asked.agent) && !inVain.has(asked.agent);
    const turn: Turn<Question, Answer> = {
      asked,
      sinceMs: performance.now(),
      timer,
      whole,
      over: false,
      last: undefined,
    };
    busy.set(worker, turn);
  }

  function turnEnded(worker: Worker): One | undefined {
    const turn = busy.get(worker);
    if (turn === undefined) return undefined;
    clearTimeout(turn.timer);
    clearTimeout(turn.last);
    busy.delete(worker);
    waiting.done(turn.asked.agent);
    return turn.asked;
  }

  /** Ends the thread in its turn, unless that is over. */
  function end(worker: Worker, turn: Turn<Question, Answer>): void {
    if (busy.get(worker) !== turn) return;
    turnEnded(worker);
    void worker.terminate();
    next();
  }

  /**
   * Refuses what has no answer in time. Its thread may have been handed it just before, and goes on until it has worked on it for the limit itself:
   * its agent has no other meanwhile, and another that waits has it ended as ever. One that is still starting is kept for the next request.
   */
  function giveUp(asked: One): void {
    const [worker, turn] = [...busy].find(([, { asked: one }]) => one === asked) ?? [];
    asked.settle(
      refusal(`${work} took longer than ${limitMs} ms and was given up; the request was not looked at to its end`),
    );
    if (worker === undefined || turn === undefined) waiting.remove(asked.agent, asked);
    else {
      if (turn.whole) inVain.set(asked.agent, true);
      const leftMs = turn.sinceMs + limitMs - performance.now();
      turn.last = setTimeout(() => onceRead(() => end(worker, turn)), Math.max(0, Math.ceil(leftMs)));
      turn.last.unref();
    }
    next();
  }

  /** Handles a thread that has ended. A failed start refuses one waiting request; the next start serves the next request. */
  function lost(worker: Worker, why: string): void {
    if (started(worker)) {
      careful = true;
      const taken = waiting.take();
      if (taken !== undefined) waiting.done(taken.who);
      taken?.item.settle(refusal(why));
    } else {
      turnEnded(worker)?.settle(refusal(why));
    }
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    next();
  }

  function next(): void {
    while (waiting.ready > 0 && idle.length > 0) {
      const [asked, worker] = [waiting.take()?.item as One, idle.pop() as Worker];
      turnOf(worker, asked);
      try {
        worker.postMessage(asked.question);
      } catch (error) {
        // What is nested too deeply cannot be copied; nobody else's request ends for it.
        idle.push(worker);
        const message = `the request cannot be handed to a thread: ${errorText(error)}`;
        turnEnded(worker)?.settle({ refused: { code: unreadable, message } });
      }
    }
    while (!closed && starting.size < waiting.ready && starting.size + busy.size < threads) start();
    makeRoom();
  }

  /** A turn that is to end for an agent that waits for a thread and for whom none is starting, and that agent's request. */
  function turnToEnd():
    | { readonly worker: Worker; readonly turn: Turn<Question, Answer>; readonly inMs: number }
    | undefined {
    const anyone = waiting.ready > starting.size ? waiting.next : undefined;
    const [found] = [...busy]
      .filter(([, turn]) => turn.over && (!turn.whole || turn.last))
      .flatMap(([worker, turn]) => {
        const waiter = anyone ?? (groupOf && waiting.heldBack(groupOf(turn.asked.agent)));
        return waiter ? [{ worker, turn, inMs: waiter.sinceMs + patienceMs - performance.now() }] : [];
      })
      .toSorted((one, other) => one.inMs - other.inMs);
    return found;
  }

  /**
   * When an agent has waited long and no thread is starting for it, ends one thread that has had its minimum time, with only that request.
   * An agent whose request was ended gets the whole limit the next time, so large requests of two agents do not keep ending each other.
   */
  function makeRoom(): void {
    const found = turnToEnd();
    if (found === undefined || making) return;
    clearTimeout(patience);
    if (found.inMs > 0) {
      patience = setTimeout(makeRoom, Math.ceil(found.inMs));
      patience.unref();
      return;
    }
    making = true;
    onceRead(() => {
      making = false;
      const due = turnToEnd();
      if (due === undefined || due.inMs > 0) return makeRoom();
      const { worker, turn } = due;
      if (turn.last === undefined) cutShort.set(turn.asked.agent, true);
      turn.asked.settle(
        refusal(
          `${work} took longer than ${turnMs} ms while other agents waited and was ended; the request was not looked at to its end`,
        ),
      );
      end(worker, turn);
    });
  }

  const answerOf = (question: Question, agent: string): Promise<ThreadAnswer<Answer>> =>
    new Promise((resolve) => {
      if (closed) return resolve(refusal(`${work} is being stopped`));
      // A request that a starting thread will serve does not count as waiting.
      if (waiting.waitingOf(agent) - Math.min(1, starting.size) >= longestQueue)
        return resolve(
          refusal(`${longestQueue} large requests of this agent wait for ${work} already; try again later`),
        );
      if (waiting.size - starting.size >= longestQueue * FULL_QUEUES)
        return resolve(
          refusal(`${longestQueue * FULL_QUEUES} large requests wait for ${work} already; try again later`),
        );
      if (groupOf && waiting.waitingIn(groupOf(agent)) >= (longestQueue * FULL_QUEUES) / 2)
        return resolve(
          refusal(
            `${(longestQueue * FULL_QUEUES) / 2} requests of this tenant wait for ${work} already; try again later`,
          ),
        );
      let open = true;
      const asked: One = {
        agent,
        sinceMs: performance.now(),
        question,
        settle(answer) {
          open = false;
          clearTimeout(timer);
          resolve(answer);
        },
      };
      // One time limit for everything.
      const timer = setTimeout(() => onceRead(() => void (open && giveUp(asked))), limitMs);
      waiting.add(agent, asked);
      next();
    });

  return {
    async ask(question, agent) {
      const said = await answerOf(question, agent);
      if ('answer' in said) return said.answer;
      throw new GateError(said.refused.code ?? code, said.refused.message);
    },
    warm() {
      const started = startsInTurn.then(() => {
        if (closed || idle.length + busy.size + starting.size > 0) return;
        const worker = start();
        return new Promise<void>((over) => {
          worker.once('message', () => over());
          worker.once('exit', () => over());
        });
      });
      // Where a thread cannot be started, the first question meets that too.
      startsInTurn = started.catch(() => undefined);
    },
    async close() {
      closed = true;
      clearTimeout(patience);
      const workers = [...idle.splice(0), ...busy.keys(), ...starting.keys()];
      const asked = [...waiting.clear(), ...[...busy.keys()].flatMap((worker) => turnEnded(worker) ?? [])];
      for (const one of asked) one.settle(refusal(`${work} is being stopped`));
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}
