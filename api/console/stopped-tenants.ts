import { LRUCache } from 'lru-cache';
import type { Person } from '../../console/visit.js';
import { roomFor } from '../../domain/room-for.js';
import { within } from '../../domain/within.js';
import type { AskLimits } from './ask-limits.js';
import { stopsOver } from './identity.js';
import { isProvedTo, neighbourOf, type NeighbourOver } from './neighbour.js';
import type { ReviewProof } from './sign-in/mode.js';

/** How long what is known of a tenant is shown without asking again. */
const FRESH_MS = 5_000;
/** How long a page waits for what it says in one line. */
const PATIENCE_MS = 250;
const KEPT = 1_000;

interface Known {
  isStopped: boolean;
  /** When it was asked for last. */
  atMs: number;
}

/** Which tenants are stopped whole, as every page says it. */
export interface StoppedTenants {
  /** As it was heard last; nobody is asked. */
  readonly isStopped: (tenant: string | null) => boolean;
  /** Hears it anew for who is signed in, where it was not heard in the last seconds. It never throws, and no page waits for it for long. */
  readonly hear: (who: { readonly person: Person; readonly proof: ReviewProof }) => Promise<void>;
  readonly note: (tenant: string, isStopped: boolean) => void;
}

/**
 * Keeps of each tenant whether it is stopped. Where identity does not say so, what it said last stands: a tenant that was stopped is let go by two
 * people, whom it tells of.
 */
export function stoppedTenants(
  identity: NeighbourOver,
  { limits, clock }: { readonly limits: Pick<AskLimits, 'readMs'>; readonly clock: () => number },
): StoppedTenants {
  const kept = new LRUCache<string, Known>(roomFor(KEPT));
  const note = (tenant: string, isStopped: boolean): void => void kept.set(tenant, { isStopped, atMs: clock() });
  const isStopped = (tenant: string | null): boolean => tenant !== null && kept.get(tenant)?.isStopped === true;
  return {
    isStopped,
    note,
    async hear({ person: { tenant }, proof }) {
      // It would answer nobody who has only a session of the review service.
      if (identity === undefined || tenant === null || !isProvedTo('identity', proof)) return;
      const known = kept.get(tenant) ?? { isStopped: false, atMs: -Infinity };
      // A time to come is one of a clock that was set back since.
      if (Math.abs(clock() - known.atMs) < FRESH_MS) return;
      // Whoever comes meanwhile sees what was known, and asks nobody.
      known.atMs = clock();
      kept.set(tenant, known);
      const heard = stopsOver(neighbourOf('identity', identity, { tenant, proof, limits }), 'suspended').then(
        (stops) => {
          // What this console changed since is newer, and stands in the place of this.
          known.isStopped = stops.some(({ tool }) => tool === null);
        },
      );
      heard.catch(() => undefined);
      await within(PATIENCE_MS, heard, () => new Error('not heard yet')).catch(() => undefined);
    },
  };
}
