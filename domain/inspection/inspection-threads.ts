import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { InspectionResponse, InspectRequest } from '../../contracts/inspection.js';
import type { Json } from '../../contracts/json.js';
import type { ErrorCodeName } from '../../contracts/error-codes.js';
import { GateError } from '../errors.js';
import type { Persona, Personas } from './personas.js';
import type { ReadyInspector } from './port.js';
import type { HeuristicLevel } from './texts.js';

/** Up to this many characters a request is inspected where it is asked for: sending it to a thread would take longer. */
export const INSPECTED_IN_PLACE = 16_384;
/** From being asked, or from the start of a thread that was started for it, to having answered. Below what a workflow gives the step. */
const LIMIT_MS = 4_000;
/** A thread that was not started by then is not waited for. */
const START_MS = 4_000;
/** Large requests that may wait for a thread; those that could not be answered in time anyway are refused at once. */
const LONGEST_QUEUE = 32;
/** A thread that needs more ends, and the request it had is not inspected. */
const MEMORY_MB = 512;

export interface InspectionThreads extends ReadyInspector {
  /** Starts a thread, so that the first large request finds one. */
  warm(): void;
  /** Ends the threads; what they were asked is refused. */
  close(): Promise<void>;
}

export interface InspectionThreadOptions {
  readonly personas: Personas;
  readonly level?: HeuristicLevel;
  readonly threads?: number;
  readonly limitMs?: number;
  readonly longestQueue?: number;
  /** The compiled inspection-thread.js. */
  readonly script?: URL;
}

/** What a thread is started with, what it is asked, and what it says. */
export interface ThreadStart {
  readonly personas: readonly (readonly [string, Persona])[];
  readonly level: HeuristicLevel;
}
export type ThreadAnswer =
  | { readonly verdict: InspectionResponse }
  | { readonly refused: { readonly code: ErrorCodeName | null; readonly message: string } };

interface Asked {
  readonly request: InspectRequest;
  readonly settle: (answer: ThreadAnswer) => void;
  /** Its thread is being started; and is there: the time begins. */
  readonly starting: () => void;
  readonly begin: () => void;
}

/** Beside this module once it is compiled; tests run the sources and start the compiled thread. */
function compiledThread(): URL {
  const beside = new URL('./inspection-thread.js', import.meta.url);
  return existsSync(beside) ? beside : new URL('../../dist/domain/inspection/inspection-thread.js', import.meta.url);
}

const unavailable = (why: string): ThreadAnswer => ({ refused: { code: 'provider_unavailable', message: why } });

/**
 * The same inspector with large requests in threads of its own, so that inspecting a megabyte holds up nobody else. Fails closed, as
 * `provider_unavailable`: when a verdict takes longer than the limit (the thread is ended), when too many wait, when a thread ends. A
 * request that is refused was not inspected, and asking again is safe.
 */
export function inspectLargeInThreads(
  inPlace: ReadyInspector,
  {
    personas,
    level = 'standard',
    threads = Math.max(1, Math.min(4, availableParallelism() - 1)),
    limitMs = LIMIT_MS,
    longestQueue = LONGEST_QUEUE,
    script,
  }: InspectionThreadOptions,
): InspectionThreads {
  const material = entriesOf(personas);
  const idle: Worker[] = [];
  const ready = new WeakSet<Worker>();
  const busy = new Map<Worker, Asked>();
  const waiting: Asked[] = [];
  let closed = false;

  function started(): Worker {
    const worker = new Worker(script ?? compiledThread(), {
      workerData: { personas: material, level } satisfies ThreadStart,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    // An idle thread keeps no process alive.
    worker.unref();
    worker.on('message', (answer: ThreadAnswer | 'ready') => {
      if (answer === 'ready') {
        ready.add(worker);
        busy.get(worker)?.begin();
      } else finish(worker, answer, true);
    });
    worker.on('error', (error) => finish(worker, unavailable(`the inspection thread failed: ${error.message}`), false));
    worker.on('exit', () => finish(worker, unavailable('the inspection thread ended'), false));
    return worker;
  }

  function finish(worker: Worker, answer: ThreadAnswer, usable: boolean): void {
    const asked = busy.get(worker);
    busy.delete(worker);
    if (!usable && idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    if (asked === undefined) return;
    if (usable && !closed) idle.push(worker);
    asked.settle(answer);
    next();
  }

  function next(): void {
    while (waiting.length > 0 && (idle.length > 0 || busy.size < threads)) {
      const asked = waiting.shift() as Asked;
      const worker = idle.pop() ?? started();
      busy.set(worker, asked);
      if (!ready.has(worker)) asked.starting();
      worker.postMessage(asked.request);
    }
  }

  const inThread = (request: InspectRequest): Promise<ThreadAnswer> =>
    new Promise((resolve) => {
      if (closed) return resolve(unavailable('inspection is being stopped'));
      if (waiting.length >= longestQueue)
        return resolve(unavailable(`${longestQueue} large requests wait for inspection already; try again later`));
      const asked: Asked = {
        request,
        settle(answer) {
          clearTimeout(timer);
          resolve(answer);
        },
        starting() {
          clearTimeout(timer);
          timer = setTimeout(tooLate, Math.max(limitMs, START_MS));
        },
        begin() {
          clearTimeout(timer);
          timer = setTimeout(tooLate, limitMs);
        },
      };
      let timer = setTimeout(tooLate, limitMs);
      function tooLate(): void {
        const late = unavailable(
          `inspection took longer than ${limitMs} ms and was ended; the request was not inspected`,
        );
        const worker = [...busy].find(([, one]) => one === asked)?.[0];
        if (worker === undefined) {
          waiting.splice(waiting.indexOf(asked), 1);
          asked.settle(late);
        } else {
          finish(worker, late, false);
          void worker.terminate();
        }
      }
      waiting.push(asked);
      next();
    });

  return {
    async inspect(request) {
      if (!isLarge(request)) return inPlace.inspect(request);
      const answer = await inThread(request);
      if ('verdict' in answer) return answer.verdict;
      throw new GateError(answer.refused.code ?? 'provider_unavailable', answer.refused.message);
    },
    ready: () => inPlace.ready(),
    warm() {
      if (!closed && idle.length + busy.size === 0) idle.push(started());
    },
    async close() {
      closed = true;
      const workers = [...idle.splice(0), ...busy.keys()];
      for (const asked of waiting.splice(0)) asked.settle(unavailable('inspection is being stopped'));
      for (const worker of busy.keys()) finish(worker, unavailable('inspection is being stopped'), false);
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

/** Whether a request holds more than may be inspected in place: characters of keys and texts, and one for each value. */
export function isLarge({ method, params }: Pick<InspectRequest, 'method' | 'params'>): boolean {
  let size = method.length;
  const open: Json[] = [params as Json];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    size += typeof value === 'string' ? value.length : 1;
    if (size > INSPECTED_IN_PLACE) return true;
    if (Array.isArray(value)) {
      if (value.length > INSPECTED_IN_PLACE) return true;
      for (const item of value) open.push(item);
    } else if (value !== null && typeof value === 'object') {
      for (const key in value) {
        size += key.length;
        if (size > INSPECTED_IN_PLACE) return true;
        open.push(value[key] as Json);
      }
    }
  }
  return false;
}

/** Personas as a thread can be given them. */
const entriesOf = (personas: Personas): [string, Persona][] =>
  personas.names.flatMap((name) => {
    const [agent = '', tenant] = name.split('/').toReversed();
    const persona = personas.find(tenant, agent);
    return persona === null ? [] : [[name, persona] as [string, Persona]];
  });
