import { errorText, GateError } from './errors.js';

export interface Repeated {
  /** Does it after each pause from now on. */
  begin(): void;
  /** Does it now, after a run that goes on; resolves whatever came of it. */
  once(): Promise<void>;
  /** Waits for the current run; no other follows, and nothing is told any more. */
  stop(): Promise<void>;
}

/** What tells one fault from another: its code, and its text, in which a number makes no other fault. */
const kindOf = (error: unknown): string =>
  `${error instanceof GateError ? error.code : ''} ${errorText(error).replaceAll(/[0-9]+/g, '#')}`;

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
  /** Told once per fault, also where another one takes its place, and null when it is over. Where it throws, it is told again after the next run. */
  readonly onFault: (reason: string | null) => void;
}): Repeated {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let pauseMs = everyMs;
  let fault: string | null = null;
  let running: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    if (stopped) return;
    let failed: { readonly kind: string; readonly text: string } | null = null;
    try {
      await work(() => stopped);
    } catch (error) {
      failed = { kind: kindOf(error), text: errorText(error) };
    }
    pauseMs = failed ? Math.min(longestPauseMs, pauseMs * 2) : everyMs;
    const kind = failed?.kind ?? null;
    if (kind !== fault && !stopped) onFault(failed?.text ?? null);
    fault = kind;
  }
  const once = (): Promise<void> => (running = running.then(run).catch(() => undefined));
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
