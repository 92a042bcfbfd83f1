import { setTimeout as sleep } from 'node:timers/promises';

/** The signals by which a person, a terminal or a service manager asks this process to stop. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** One Ctrl-C comes twice under npm: from the terminal, and handed on by npm. */
const ONE_WISH_MS = 500;
/** After the last word; what still holds the process then has been given up by the stop. */
const LEAVE_AFTER_MS = 500;

export interface StopSignals {
  /** Resolves with the name of the first one. */
  readonly asked: Promise<string>;
  /** Resolves when it is asked a second time. */
  readonly again: Promise<void>;
}

/** Listens from now on. Without it a second signal would end the process between two of its steps. */
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

/** Ends the process when nothing is left to do, or a moment later. */
export function leave(): void {
  process.exitCode ??= 0;
  setTimeout(() => process.exit(), LEAVE_AFTER_MS).unref();
}

/** The last word of a stop that was asked for twice. */
export const STOPPED_AT_ONCE = 'stopped at once; whether calls under way ran is not known, and none of them runs again';

/** What a start that is given up may take to undo what it did. */
const UNDO_LIMIT_MS = 30_000;

/** Waits until a start that was given up has undone what it did, within a bound and unless it is asked to stop once more. */
export async function givenUpStart(bringUp: Promise<{ stop(): Promise<void> }>, { again }: StopSignals): Promise<void> {
  const undone = bringUp.then((running) => running.stop()).catch(() => undefined);
  await Promise.race([undone, again, sleep(UNDO_LIMIT_MS, undefined, { ref: false })]);
}
