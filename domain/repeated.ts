import { errorText, GateError } from './errors.js';

export interface Repeated {
  /** Does it after each pause from now on. */
  begin(): void;
  /** Does it now, after a run that goes on; resolves whatever came of it. */
  once(): Promise<void>;
  /** Waits for the current run; no other follows, and nothing is told any more. */
  stop(): Promise<void>;
}

/** What tells one fault from another: its code; without one its text, in which a number makes no other fault. */
const kindOf = (error: unknown): string =>
  error instanceof GateError ? error.code : errorText(error).replaceAll(/[0-9]+/g, '#');

/** Work that is done again and again and may fail. What is due is in a store, so a run may be interrupted or done twice; never two at once. */
export function createRepeated({
  work,
  everyMs,
  longestPauseMs = everyMs,
  onFault,
}: {
  readonly work: (isStopped: () => boolean) => Promise<unknown>;
  readonly everyMs: number;
  /** The pause doubles with each failure in a row, up to this. */
  readonly longestPauseMs?: number;
  /** Told once per fault, also where another one takes its place, and null when it is over. */
  readonly onFault: (reason: string | null) => void;
}): Repeated {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let pauseMs = everyMs;
  let fault: string | null = null;
  let running: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    if (stopped) return;
    try {
      await work(() => stopped);
      if (fault !== null && !stopped) onFault(null);
      [fault, pauseMs] = [null, everyMs];
    } catch (error) {
      const kind = kindOf(error);
      if (kind !== fault && !stopped) onFault(errorText(error));
      [fault, pauseMs] = [kind, Math.min(longestPauseMs, pauseMs * 2)];
    }
  }
  const once = (): Promise<void> => (running = running.then(run));
  const begin = (): void => {
    if (stopped) return;
    timer = setTimeout(() => void once().finally(begin), pauseMs).unref();
  };
  return {
    begin,
    once,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
