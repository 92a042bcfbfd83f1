import { setTimeout as sleep } from 'node:timers/promises';

/** The signals that ask this process to stop. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Under npm, one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const ONE_WISH_MS = 500;
/** Wait after the last output. What still keeps the process alive then was already given up by the stop. */
const LEAVE_AFTER_MS = 500;

export interface StopSignals {
  /** Resolves with the name of the first signal. */
  readonly asked: Promise<string>;
  /** Resolves at the second request. */
  readonly again: Promise<void>;
}

/** Starts listening. Without it a second signal would end the process between two steps. */
export function stopSignals(): StopSignals {
  let first: number | null = null;
  let ask: (signal: string) => void;
  let askAgain: () => void;
  const asked = new Promise<string>((resolve) => (ask = resolve));
  const again = new Promise<void>((resolve) => (askAgain = resolve));
  for (const signal of STOP_SIGNALS)
    process.on(signal, () => {
      if (first === null) {
        first = performance.now();
        ask(signal);
      } else if (performance.now() - first > ONE_WISH_MS) askAgain();
    });
  return { asked, again };
}

/** Ends the process when nothing is left to do, or after a short wait. */
export function leave(): void {
  process.exitCode ??= 0;
  setTimeout(() => process.exit(), LEAVE_AFTER_MS).unref();
}

/** A start. Where it fails the process ends as after a stop, and whatever the start left open does not keep it: it hears no signals any more. */
export async function begun<Started>(bringUp: Promise<Started>): Promise<Started> {
  try {
    return await bringUp;
  } catch (error) {
    leave();
    throw error;
  }
}

/** The last line of a stop that was requested twice. */
export const STOPPED_AT_ONCE = 'stopped at once; whether calls under way ran is not known, and none of them runs again';

/** How long an aborted start may take to undo what it did. */
const UNDO_LIMIT_MS = 30_000;

/** Waits until an aborted start has undone what it did, at most for the limit, or until a second request to stop. */
export async function givenUpStart(bringUp: Promise<{ stop(): Promise<void> }>, { again }: StopSignals): Promise<void> {
  const undone = bringUp.then((running) => running.stop()).catch(() => undefined);
  await Promise.race([undone, again, sleep(UNDO_LIMIT_MS, undefined, { ref: false })]);
}
