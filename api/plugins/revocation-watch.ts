import type { RevocationContent } from '../../contracts/identity.js';
import type { RevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { createRepeated } from '../../domain/repeated.js';

export interface RevocationWatch {
  /** Asks the first time; resolves whatever came of it, and goes on asking. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Half a second, and the time of a question: a revocation holds at every proxy well within two seconds. */
const EVERY_MS = 500;
/** So often it is said at most that identity has another history: behind it there may be several stores, one of which lags. */
const OTHER_HISTORY_EVERY_MS = 60_000;

/**
 * Keeps a mirror of what identity took back: asks again and again, as often where that fails, and says when all had to be asked for anew.
 */
export function watchRevocations({
  mirror,
  ask,
  everyMs = EVERY_MS,
  onFault,
  onOtherHistory,
  steadyMs = () => performance.now(),
}: {
  readonly mirror: RevocationMirror;
  /** What was taken back after a number, verified. */
  readonly ask: (after: number) => Promise<RevocationContent>;
  readonly everyMs?: number;
  readonly onFault: (reason: string | null) => void;
  /** The store of identity is not the one that was known, or an earlier state of it. */
  readonly onOtherHistory: () => void;
  readonly steadyMs?: () => number;
}): RevocationWatch {
  let saidAtMs = Number.NEGATIVE_INFINITY;

  async function askAll(isStopped: () => boolean): Promise<void> {
    let isAnew = false;
    while (!isStopped()) {
      const came = mirror.take(await ask(mirror.position()));
      if (came === 'whole') return;
      if (came === 'more') continue;
      if (isAnew) throw new Error('identity answers from several histories in turn');
      isAnew = true;
      if (steadyMs() - saidAtMs < OTHER_HISTORY_EVERY_MS) continue;
      saidAtMs = steadyMs();
      onOtherHistory();
    }
  }

  const { begin, once, stop } = createRepeated({ work: askAll, everyMs, onFault });
  return {
    async start() {
      await once();
      begin();
    },
    stop,
  };
}
