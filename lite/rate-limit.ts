import type { Refusals } from '../api/proxy/refusals.js';
import type { Caller } from '../api/plugins/app.js';
import type { LiteConfig } from '../config/lite.js';
import { GateError } from '../domain/errors.js';
import { batchTooLarge } from '../domain/mcp/batch.js';
import { tokenBuckets } from './token-bucket.js';

type Agent = Caller & { readonly tenant: string; readonly agent: string };

export interface RateLimitOptions {
  readonly config: Pick<LiteConfig, 'rateLimitQps' | 'rateLimitBurst'>;
  readonly refusals: Refusals;
  readonly onLimited: () => void;
  readonly now: () => number;
}

/**
 * Refuses an agent that calls faster than it may: a bucket per agent, for tool calls and control methods alike, and each call of a batch.
 * Throws `rate_limited` with the seconds to wait, and `batch_too_large` where no wait would help.
 */
export function createRateLimit({ config, refusals, onLimited, now }: RateLimitOptions) {
  const { rateLimitQps: qps, rateLimitBurst: burst } = config;
  const size = burst ?? Math.max(1, Math.ceil(qps));
  const wait = qps > 0 ? tokenBuckets(qps, size) : null;
  return async (caller: Agent, name: string, correlationId: string, calls = 1): Promise<void> => {
    if (wait && calls > size) throw batchTooLarge(calls, `a burst of ${size} calls`);
    const key = `${caller.tenant}/${caller.agent}`;
    const seconds = wait?.(key, now(), calls) ?? 0;
    if (seconds === 0) return;
    onLimited();
    const reason = `more than ${qps} calls per second`;
    await refusals({
      caller,
      correlationId,
      name,
      limit: 'rate',
      reason,
      limits: { qps_milli: Math.round(qps * 1000) },
    });
    throw new GateError('rate_limited', reason, { fields: { scope: 'agent', key, retry_after_secs: seconds } });
  };
}
