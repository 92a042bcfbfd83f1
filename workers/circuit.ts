import { ASK_AGAIN, GateError } from '../domain/errors.js';

/** Whether the engine answers, known from probes and from running calls. While it is down nobody waits for it. */
export interface EngineCircuit {
  /** Throws `pipeline_unavailable` at once while the engine is known to be down. */
  assertUp(): void;
  /** What is wrong, and since when; `null` while the engine answers. */
  away(): EngineAway | null;
  /** Runs `work`. Throws `pipeline_unavailable` as soon as the engine goes down, whatever happens to the work. */
  whileUp<Result>(work: Promise<Result>): Promise<Result>;
  /** Resolves when the engine answers; rejects when the circuit is closed before. */
  up(): Promise<void>;
  /** Called by those who know that the engine is gone, such as the process that started it. */
  lost(reason: string): void;
  /** Called on a sign that the engine is gone: probes now instead of at the next interval. */
  suspect(): void;
  /** Stops probing. */
  close(): void;
}

export interface EngineAway {
  readonly reason: string;
  readonly sinceMs: number;
}

export interface CircuitOptions {
  /** Asks the engine for something that costs it nothing. Rejects when it does not answer by the deadline. */
  readonly probe: (deadlineMs: number) => Promise<unknown>;
  /** Called at each change, with `null` when the engine answers again after `awayMs`. */
  readonly onChange?: (away: EngineAway | null, awayMs: number) => void;
  readonly now?: () => number;
}

const BEAT_MS = 1_000;
/** Used while calls wait for it. */
const BEAT_BUSY_MS = 500;
/** While it is down it is probed more often, which shortens the wait of callers. */
const BEAT_AWAY_MS = 200;
const PROBE_LIMIT_MS = 2_000;
const GRPC_DEADLINE_EXCEEDED = 4;
/** A busy machine misses a deadline now and then; a refused connection is proof at once. */
const DEADLINES_MISSED = 2;
/**
 * Waiting callers are told sooner than by missed deadlines: after a silence of this many times the slowest of the last answers, within
 * these bounds. On a quiet machine, where the engine answers within milliseconds, the lower bound applies; a busy one gets more time.
 */
const SILENCE_TIMES = 8;
const SILENCE_AT_LEAST_MS = 1_200;
const SILENCE_AT_MOST_MS = 4_000;
const ANSWERS_REMEMBERED = 20;
const TICK_MS = 100;
/** A late tick was delayed in this process: while it could not receive an answer, the engine's silence says nothing. */
const TICK_COUNTS_MS = 150;

/**
 * A circuit breaker for the engine. The probe runs all the time, so that the first call after a failure does not have to find out, and so
 * that recovery is noticed without sending it a call.
 */
export function createEngineCircuit({ probe, onChange, now = Date.now }: CircuitOptions): EngineCircuit {
  let known: EngineAway | null = null;
  let missed = 0;
  let closed = false;
  let asking = false;
  let timer: NodeJS.Timeout | undefined;
  let dueMs = 0;
  /** How long it has not answered, counting only time in which this process could have received an answer. */
  let silentMs = 0;
  let took: number[] = [];
  const leaving = new Set<(away: EngineAway) => void>();
  const waiting = new Set<{ resolve(): void; reject(error: Error): void }>();

  const next = (inMs: number) => {
    clearTimeout(timer);
    dueMs = performance.now() + inMs;
    if (!closed) timer = setTimeout(() => void ask(), inMs).unref();
  };
  const opened = (reason: string) => {
    if (known || closed) return;
    known = { reason, sinceMs: now() };
    for (const leave of leaving) leave(known);
    leaving.clear();
    onChange?.(known, 0);
  };
  const answered = () => {
    missed = 0;
    silentMs = 0;
    if (!known) return;
    const awayMs = now() - known.sinceMs;
    known = null;
    onChange?.(null, awayMs);
    for (const waiter of waiting) waiter.resolve();
    waiting.clear();
  };
  const silenceMs = () =>
    Math.min(Math.max(SILENCE_AT_LEAST_MS, SILENCE_TIMES * Math.max(0, ...took)), SILENCE_AT_MOST_MS);
  function listen(): NodeJS.Timeout {
    let lastMs = performance.now();
    return setInterval(() => {
      const atMs = performance.now();
      silentMs += Math.min(atMs - lastMs, TICK_COUNTS_MS);
      lastMs = atMs;
      if (leaving.size > 0 && silentMs >= silenceMs()) opened('it does not answer in time');
    }, TICK_MS).unref();
  }
  async function ask(): Promise<void> {
    if (asking || closed) return;
    asking = true;
    const begunMs = performance.now();
    const listening = listen();
    try {
      await probe(now() + PROBE_LIMIT_MS);
      took = [...took.slice(1 - ANSWERS_REMEMBERED), performance.now() - begunMs];
      if (!closed) answered();
    } catch (error) {
      missed += 1;
      const late = (error as { code?: unknown }).code === GRPC_DEADLINE_EXCEEDED;
      if (!late || missed >= DEADLINES_MISSED) opened(late ? 'it does not answer in time' : 'it cannot be reached');
    } finally {
      clearInterval(listening);
      asking = false;
      next(known ? BEAT_AWAY_MS : missed > 0 ? 0 : leaving.size > 0 ? BEAT_BUSY_MS : BEAT_MS);
    }
  }
  next(BEAT_MS);

  return {
    assertUp() {
      if (known) throw engineAway(known);
    },
    away: () => known,
    whileUp: (work) =>
      new Promise((resolve, reject) => {
        const leave = (away: EngineAway) => reject(engineAway(away));
        if (known) leave(known);
        else {
          leaving.add(leave);
          if (!asking && dueMs - performance.now() > BEAT_BUSY_MS) next(BEAT_BUSY_MS);
        }
        work.then(resolve, reject).finally(() => leaving.delete(leave));
      }),
    up: () =>
      closed
        ? Promise.reject(new Error('the stop has begun'))
        : known
          ? new Promise((resolve, reject) => waiting.add({ resolve, reject }))
          : Promise.resolve(),
    lost(reason) {
      opened(reason);
      next(BEAT_AWAY_MS);
    },
    suspect: () => next(0),
    close() {
      closed = true;
      clearTimeout(timer);
      for (const waiter of waiting) waiter.reject(new Error('the stop has begun'));
      waiting.clear();
    },
  };
}

const engineAway = ({ reason }: EngineAway): GateError =>
  new GateError('pipeline_unavailable', `the workflow engine is away (${reason}); ${ASK_AGAIN}`, {
    fields: { layer: 'engine' },
  });
