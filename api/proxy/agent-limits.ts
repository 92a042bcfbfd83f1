import { slidingBudget } from '../../domain/limits/sliding-budget.js';
import { createKeyedQueue } from '../../domain/keyed-queue.js';
import { agentKey, rateLimited, type Refused, type Refusals } from './refusals.js';

/** What one agent may do per minute besides tool calls; 0 means no limit. */
export interface AgentLimits {
  readonly controls: number;
  readonly replays: number;
  /** Bytes of retained answers that are sent again. */
  readonly replayedBytes: number;
  /** Event streams that are open at once. */
  readonly streams: number;
}

/** Who asks, and for what. */
export type AskedAgain = Omit<Refused, 'limit' | 'reason' | 'limits'>;

const WINDOW_MS = 60_000;
const WINDOW = `${WINDOW_MS / 1000} s`;

/**
 * Limits what an agent may do that the velocity limit does not count: control calls, and answers that are fetched again. Counted in
 * this process. Throws `rate_limited` with the seconds to wait; one row per agent, limit and minute says so.
 */
export function createAgentLimits({
  limits,
  refusals,
  onLimited,
  now,
}: {
  readonly limits: AgentLimits;
  readonly refusals: Refusals;
  readonly onLimited: () => void;
  readonly now: () => number;
}) {
  const controls = slidingBudget(limits.controls, WINDOW_MS);
  const replays = slidingBudget(limits.replays, WINDOW_MS);
  const bytes = slidingBudget(limits.replayedBytes, WINDOW_MS);
  const oneAtATime = createKeyedQueue();
  const keyOf = ({ caller }: AskedAgain) => agentKey(caller);

  async function refuse(secs: number, refused: Refused): Promise<void> {
    if (secs > 0) throw await rateLimited({ refusals, onLimited }, secs, refused);
  }
  const tooManyBytes = (asked: AskedAgain): Refused => ({
    ...asked,
    limit: 'replays',
    reason: `more than ${limits.replayedBytes} bytes of earlier answers in ${WINDOW}`,
    limits: { replayed_bytes: limits.replayedBytes, window_ms: WINDOW_MS },
  });

  return {
    control: (asked: AskedAgain): Promise<void> =>
      refuse(controls.take(keyOf(asked), 1, now()), {
        ...asked,
        limit: 'control',
        reason: `more than ${limits.controls} control calls in ${WINDOW}`,
        limits: { limit: limits.controls, window_ms: WINDOW_MS },
      }),

    /** Counts one request for an earlier answer. */
    replay: (asked: AskedAgain): Promise<void> =>
      refuse(replays.take(keyOf(asked), 1, now()), {
        ...asked,
        limit: 'replays',
        reason: `more than ${limits.replays} earlier answers in ${WINDOW}`,
        limits: { limit: limits.replays, window_ms: WINDOW_MS },
      }),

    /** Loads a retained answer and counts its bytes, one at a time per agent. A single answer is never too large. */
    retained: <T extends Buffer | null>(asked: AskedAgain, load: () => Promise<T>): Promise<T> =>
      oneAtATime(keyOf(asked), async () => {
        await refuse(bytes.look(keyOf(asked), now()), tooManyBytes(asked));
        const loaded = await load();
        if (loaded) await refuse(bytes.take(keyOf(asked), loaded.byteLength, now()), tooManyBytes(asked));
        return loaded;
      }),
  };
}
export type AgentLimitsCheck = ReturnType<typeof createAgentLimits>;
