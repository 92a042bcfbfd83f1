import type { RevocationContent } from '../../contracts/identity.js';
import { errorText } from '../../domain/errors.js';
import type { RevocationMirror } from '../../domain/identity/revocation-mirror.js';

export interface RevocationWatch {
  /** Asks the first time; resolves whatever came of it, and goes on asking. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Half a second, and the time of a question: a revocation holds at every proxy well within two seconds. */
const EVERY_MS = 500;

/** Keeps a mirror of what identity took back: asks again and again, and says once when that begins to fail, and when it works again. */
export function watchRevocations({
  mirror,
  ask,
  everyMs = EVERY_MS,
  onFault,
  onBack,
}: {
  readonly mirror: RevocationMirror;
  /** What was taken back after a number, verified. */
  readonly ask: (after: number) => Promise<RevocationContent>;
  readonly everyMs?: number;
  readonly onFault: (reason: string) => void;
  readonly onBack: () => void;
}): RevocationWatch {
  let stopped = false;
  let failing = false;
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> = Promise.resolve();

  async function once(): Promise<void> {
    try {
      while (!stopped && mirror.take(await ask(mirror.position())) === 'more');
      if (failing) onBack();
      failing = false;
    } catch (error) {
      if (stopped) return;
      if (!failing) onFault(errorText(error));
      failing = true;
    }
  }
  const next = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      turn = once().finally(next);
    }, everyMs).unref();
  };

  return {
    start() {
      turn = once().finally(next);
      return turn;
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await turn;
    },
  };
}
