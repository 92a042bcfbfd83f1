import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../domain/errors.js';

/** One life of a part: how it is used, and when it ends. */
export interface Life<Handle> {
  readonly handle: Handle;
  /** Resolves with a description when it has ended by itself; may reject instead. */
  readonly ended: Promise<string>;
  stop(limitMs?: number): Promise<void>;
}

export interface SupervisedOptions<Handle> {
  /** For messages: `the workflow engine`. */
  readonly name: string;
  /** Starts a life. The signal aborts it when the part is stopped. */
  readonly start: (signal: AbortSignal) => Promise<Life<Handle>>;
  /** One line for the terminal. */
  readonly say: (line: string) => void;
  /** Called with the description of how it ended. */
  readonly onLost?: (how: string) => void;
  /** What it must wait for before it can be started again; that time does not count as a failure. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  readonly limits?: Partial<Limits>;
}

/** A part that cannot be kept running: its message is for the operator, and is printed as one line. */
export class GivenUp extends Error {
  override readonly name = 'StartError';
}

interface Limits {
  /** This many lives that ended within the window are too many. */
  readonly starts: number;
  readonly windowMs: number;
  /** The pause before the second start in a row; doubled for each further one. */
  readonly firstPauseMs: number;
}

const LIMITS: Limits = { starts: 5, windowMs: 60_000, firstPauseMs: 500 };

export interface Supervised<Handle> {
  /** The current life; `null` when there is none. */
  current(): Handle | null;
  /** A readiness check: throws the present state unless it runs. */
  assertUp(): void;
  /** Ends the current life for this reason; another one begins. For a part that runs but does nothing. */
  renew(why: string, limitMs?: number): Promise<void>;
  /** Rejects with the reason when it could not be kept running; resolves when it was stopped. */
  readonly finished: Promise<void>;
  /** Stops it, whatever it is doing, and starts it no more; what does not end within `limitMs` is killed. May be called again. */
  stop(limitMs?: number): Promise<void>;
}

/**
 * Keeps a part of the stack running: starts it, and starts it again with growing pauses when it ends by itself. An error of the very first
 * start is thrown here. When it ends too often within a minute it is given up, with the last reason.
 */
export async function supervise<Handle>(options: SupervisedOptions<Handle>): Promise<Supervised<Handle>> {
  const { name, say } = options;
  const limits = { ...LIMITS, ...options.limits };
  const stopping = new AbortController();
  const { signal } = stopping;
  let life: Life<Handle> | null = await options.start(signal);
  let away = '';
  let renewed: string | null = null;

  async function keepUp(): Promise<void> {
    let ends: number[] = [];
    for (;;) {
      const ended = life ? await life.ended.catch(errorText) : away;
      const how = renewed ?? ended;
      renewed = null;
      if (signal.aborted) return;
      const wasUp = life !== null;
      life = null;
      away = how;
      // By the monotonic clock.
      ends = [...ends.filter((at) => at > performance.now() - limits.windowMs), performance.now()];
      if (ends.length >= limits.starts)
        throw new GivenUp(
          `${name} cannot be kept up: it ended ${ends.length} times within ${limits.windowMs / 1_000} s, at last with: ${how}`,
        );
      if (wasUp) {
        options.onLost?.(how);
        say(`${name} ended (${how}); it is started again, and calls are answered 503 until it is back`);
      }
      const wentMs = performance.now();
      try {
        await options.ready?.(signal);
        // The first restart in a row is immediate, because most failures happen once.
        if (ends.length > 1) await sleep(limits.firstPauseMs * 2 ** (ends.length - 2), undefined, { signal });
        life = await options.start(signal);
      } catch (error) {
        if (signal.aborted) return;
        away = errorText(error);
        continue;
      }
      // A stop that was requested during the start has not seen this life.
      if (signal.aborted) return (life as Life<Handle>).stop();
      say(`${name} is back after ${((performance.now() - wentMs) / 1_000).toFixed(1)} s; calls go on`);
    }
  }

  const finished = keepUp();
  finished.catch(() => undefined);
  return {
    current: () => life?.handle ?? null,
    assertUp() {
      if (!life) throw new Error(`${name} ended (${away}); it is being started again`);
    },
    async renew(why, limitMs) {
      renewed = why;
      await life?.stop(limitMs);
    },
    finished,
    async stop(limitMs) {
      stopping.abort(new Error('the stop has begun'));
      await life?.stop(limitMs);
      // A part that cannot be kept running has reported it through `finished`.
      await finished.catch(() => undefined);
    },
  };
}
