import type { Logger } from 'pino';
import { STOP_PHASES, type StopPhase } from '../api/plugins/declaration.js';
import { within } from '../domain/within.js';

interface Step {
  readonly phase: StopPhase;
  readonly what: string;
  readonly step: () => Promise<unknown>;
  readonly limitMs: number;
}

/** A part without running calls closes at once, unless what it talks to is unreachable. */
const STEP_LIMIT_MS = 5_000;

/**
 * Undoes a start: phase after phase, and within one in reverse order, because what was opened last depends on what was opened before it. No
 * step may delay the stop for long.
 */
export class Undo {
  readonly #steps: Step[] = [];
  #undone: Logger | null = null;

  /** A part that was still opening when the rest was undone is undone at once. */
  push(phase: StopPhase, what: string, step: () => Promise<unknown>, limitMs = STEP_LIMIT_MS): void {
    if (this.#undone) void undone({ phase, what, step, limitMs }, this.#undone);
    else this.#steps.push({ phase, what, step, limitMs });
  }

  async all(logger: Logger): Promise<void> {
    this.#undone = logger;
    const steps = this.#steps.splice(0).reverse();
    for (const phase of STOP_PHASES)
      for (const step of steps.filter((each) => each.phase === phase)) await undone(step, logger);
  }
}

async function undone({ what, step, limitMs }: Step, logger: Logger): Promise<void> {
  const late = () => new Error(`not within ${limitMs / 1000} s`);
  await within(limitMs, Promise.resolve().then(step), late).catch((error: unknown) =>
    logger.warn({ err: error, part: what }, `${what} did not stop cleanly`),
  );
}
