import type { IdentityClient } from '../../activities/clients/identity-client.js';
import type { CallStore } from '../../domain/call/ports.js';
import { createRepeated, type Repeated } from '../../domain/repeated.js';

const EVERY_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
const AT_ONCE = 500;

/** Tells identity how often grants were used, which this proxy and others count in the store that they share (docs/architecture/identity.md#grants). */
export const createGrantUseReporter = ({
  identity,
  calls,
  onFault,
}: {
  readonly identity: () => Promise<Pick<IdentityClient, 'tellGrantUses'>>;
  readonly calls: Pick<CallStore, 'grantUsesUntold' | 'grantUsesTold'>;
  readonly onFault: (reason: string | null) => void;
}): Repeated =>
  createRepeated({
    async work(isStopped) {
      for (;;) {
        const uses = await calls.grantUsesUntold(AT_ONCE);
        if (uses.length > 0) {
          await (await identity()).tellGrantUses({ uses: [...uses] });
          await calls.grantUsesTold(uses);
        }
        if (isStopped() || uses.length < AT_ONCE) return;
      }
    },
    everyMs: EVERY_MS,
    longestPauseMs: LONGEST_PAUSE_MS,
    onFault,
  });
