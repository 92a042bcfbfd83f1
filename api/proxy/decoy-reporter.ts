import type { IdentityClient } from '../../activities/clients/identity-client.js';
import type { CallStore } from '../../domain/call/ports.js';
import { createRepeated, type Repeated } from '../../domain/repeated.js';

/** Who touched a decoy is contained well within two seconds. */
const EVERY_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
const AT_ONCE = 100;

/** Tells identity who touched decoys, as this proxy and others count it in the store that they share (docs/architecture/decoys.md). */
export const createDecoyReporter = ({
  identity,
  calls,
  isGone,
  onFault,
}: {
  readonly identity: () => Promise<Pick<IdentityClient, 'tellDecoyHits'>>;
  readonly calls: Pick<CallStore, 'decoyHitsUntold' | 'decoyHitsTold' | 'forgetDecoyHits'>;
  /** Of whom nothing is kept: a call of it may have come just before this process heard that. */
  readonly isGone: (tenant: string) => boolean;
  readonly onFault: (reason: string | null) => void;
}): Repeated =>
  createRepeated({
    async work(isStopped) {
      for (;;) {
        const hits = await calls.decoyHitsUntold(AT_ONCE);
        if (hits.length > 0) {
          await (await identity()).tellDecoyHits({
            hits: hits.map((one) => ({
              decoy_id: one.decoyId,
              tenant: one.tenant,
              agent_name: one.agent,
              hits: one.hits,
              last_at: new Date(one.lastMs).toISOString(),
              correlation_id: one.correlationId,
              contain: one.contain,
            })),
          });
          await calls.decoyHitsTold(hits);
          for (const tenant of new Set(hits.map((one) => one.tenant)))
            if (isGone(tenant)) await calls.forgetDecoyHits(tenant);
        }
        if (isStopped() || hits.length < AT_ONCE) return;
      }
    },
    everyMs: EVERY_MS,
    longestPauseMs: LONGEST_PAUSE_MS,
    onFault,
  });
