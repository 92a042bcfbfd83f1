import { agentKey, rateLimited, type Refusals } from '../api/proxy/refusals.js';
import type { Caller } from '../api/plugins/app.js';
import type { LiteConfig } from '../config/lite.js';
import { batchTooLarge } from '../domain/mcp/batch.js';
import { tokenBuckets } from '../domain/limits/token-buckets.js';

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
  const bucket = qps > 0 ? tokenBuckets(qps, size) : null;
  return async (caller: Agent, name: string, correlationId: string, calls = 1): Promise<void> => {
    if (bucket && calls > size) throw batchTooLarge(calls, `a burst of ${size} calls`);
    const seconds = bucket?.take(agentKey(caller), calls, now()) ?? 0;
    if (seconds === 0) return;
    throw await rateLimited({ refusals, onLimited }, seconds, {
      caller,
      correlationId,
      name,
      limit: 'rate',
      reason: `more than ${qps} calls per second`,
      limits: { qps_milli: Math.round(qps * 1000) },
    });
  };
}
