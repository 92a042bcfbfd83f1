import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import type { ErrorCodeName } from '../contracts/error-codes.js';
import { errorText, GateError } from './errors.js';

/** From being asked to having answered, waiting and the start of a thread included. Below what a workflow gives the step. */
const LIMIT_MS = 4_000;
/** A thread that is not there by then is given up. Longer than any request waits: the next one finds what this one waited for. */
const START_MS = 30_000;
/** Large requests that may wait for a thread; those that could not be answered in time anyway are refused at once. */
const LONGEST_QUEUE = 32;
/** A thread that needs more ends, and the request it had is refused. */
const MEMORY_MB = 512;

/** Threads of one kind. What they cannot answer in time is refused with the kind's code, and was not looked at; asking again is safe. */
export interface Threads<Question, Answer> {
  ask(question: Question): Promise<Answer>;
  /** Starts a thread, so that the first question finds one. */
  warm(): void;
  /** Ends the threads; what they were asked is refused. */
  close(): Promise<void>;
}

export interface ThreadLimits {
  readonly threads?: number;
  readonly limitMs?: number;
  readonly longestQueue?: number;
}

export interface ThreadKind extends ThreadLimits {
  /** What they do, for messages: "inspection". */
  readonly work: string;
  readonly code: ErrorCodeName;
  readonly script: URL;
  readonly material: unknown;
}

/** What a thread says: that it is ready, then one of these to each question. */
type ThreadAnswer<Answer> =
  | { readonly answer: Answer }
  | { readonly refused: { readonly code: ErrorCodeName | null; readonly message: string } };

interface Asked<Question, Answer> {
  readonly question: Question;
  readonly settle: (answer: ThreadAnswer<Answer>) => void;
}

/** A compiled script beside the module that names it; tests run the sources and start what was compiled of them. */
export function compiledScript(beside: URL): URL {
  if (existsSync(beside)) return beside;
  const at = beside.href.lastIndexOf('/domain/');
  return new URL(`${beside.href.slice(0, at)}/dist${beside.href.slice(at)}`);
}

/** The other side of `ask`: one question at a time, answered by a thread. */
export function answerInThread<Question, Answer>(answer: (question: Question) => Answer | Promise<Answer>): void {
  if (isMainThread) return;
  parentPort?.on('message', (question: Question) => {
    void (async (): Promise<ThreadAnswer<Answer>> => ({ answer: await answer(question) }))()
      .catch((error: unknown) => ({
        refused: { code: error instanceof GateError ? error.code : null, message: errorText(error) },
      }))
      .then((said) => parentPort?.postMessage(said));
  });
  parentPort?.postMessage('ready');
}

export function createThreads<Question, Answer>({
  work,
  code,
  script,
  material,
  threads = Math.max(1, Math.min(4, availableParallelism() - 1)),
  limitMs = LIMIT_MS,
  longestQueue = LONGEST_QUEUE,
}: ThreadKind): Threads<Question, Answer> {
  type One = Asked<Question, Answer>;
  const starting = new Map<Worker, NodeJS.Timeout>();
  const idle: Worker[] = [];
  const busy = new Map<Worker, One>();
  const waiting: One[] = [];
  let closed = false;
  const refusal = (message: string): ThreadAnswer<Answer> => ({ refused: { code, message } });

  function start(): void {
    const worker = new Worker(script, {
      workerData: material,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    // An idle thread keeps no process alive.
    worker.unref();
    const late = setTimeout(() => void worker.terminate(), START_MS);
    late.unref();
    starting.set(worker, late);
    worker.on('message', (said: ThreadAnswer<Answer> | 'ready') => {
      const asked = busy.get(worker);
      // What was ended while it spoke is not heard.
      if (said === 'ready' ? !started(worker) : !busy.delete(worker)) return;
      if (!closed) idle.push(worker);
      if (said !== 'ready') asked?.settle(said);
      next();
    });
    worker.on('error', (error) => lost(worker, `the ${work} thread failed: ${error.message}`));
    worker.on('exit', () => lost(worker, `the ${work} thread ended`));
  }

  function started(worker: Worker): boolean {
    clearTimeout(starting.get(worker));
    return starting.delete(worker);
  }

  /** A thread that is no more. One that failed to start takes a request with it: the next start is for the next request. */
  function lost(worker: Worker, why: string): void {
    const asked = started(worker) ? waiting.shift() : busy.get(worker);
    busy.delete(worker);
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    asked?.settle(refusal(why));
    next();
  }

  function next(): void {
    while (waiting.length > 0 && idle.length > 0) {
      const [asked, worker] = [waiting.shift() as One, idle.pop() as Worker];
      busy.set(worker, asked);
      worker.postMessage(asked.question);
    }
    while (!closed && starting.size < waiting.length && starting.size + busy.size < threads) start();
  }

  const answerOf = (question: Question): Promise<ThreadAnswer<Answer>> =>
    new Promise((resolve) => {
      if (closed) return resolve(refusal(`${work} is being stopped`));
      // One for each thread that is being started does not wait for others.
      if (waiting.length - starting.size >= longestQueue)
        return resolve(refusal(`${longestQueue} large requests wait for ${work} already; try again later`));
      const asked: One = {
        question,
        settle(answer) {
          clearTimeout(timer);
          resolve(answer);
        },
      };
      // One time for all of it. The thread that worked on it is ended; one that is only starting is left for who comes next.
      const timer = setTimeout(() => {
        const worker = [...busy].find(([, one]) => one === asked)?.[0];
        if (worker === undefined) waiting.splice(waiting.indexOf(asked), 1);
        else busy.delete(worker);
        asked.settle(
          refusal(`${work} took longer than ${limitMs} ms and was ended; the request was not looked at to its end`),
        );
        void worker?.terminate();
        next();
      }, limitMs);
      waiting.push(asked);
      next();
    });

  return {
    async ask(question) {
      const said = await answerOf(question);
      if ('answer' in said) return said.answer;
      throw new GateError(said.refused.code ?? code, said.refused.message);
    },
    warm() {
      if (!closed && idle.length + busy.size + starting.size === 0) start();
    },
    async close() {
      closed = true;
      const workers = [...idle.splice(0), ...busy.keys(), ...starting.keys()];
      const asked = [...waiting.splice(0), ...busy.values()];
      busy.clear();
      for (const one of asked) one.settle(refusal(`${work} is being stopped`));
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}
