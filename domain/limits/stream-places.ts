import { createSharedPlaces, type Share } from './shared-places.js';

/** How many streams may be open: of a process, of a tenant, of a service that names nobody for whom it asks, of one person. */
export const STREAM_SHARES = { process: 256, tenant: 64, service: 32, person: 16 } as const;

export interface StreamHolder {
  /** Whose rows it shows; none where it shows those of every tenant. */
  readonly tenants: readonly string[];
  /** Who asks, or for whom. */
  readonly name: string;
  readonly kind: 'service' | 'person';
}

/** What one holder has open. */
interface Own {
  readonly kind: StreamHolder['kind'];
  /** The shares that all its streams count in, beside its own. */
  readonly shares: readonly Share[];
  /** The oldest first. */
  readonly streams: Set<() => void>;
}

/**
 * Places of streams. Nobody takes those of the others: each person, service and tenant has a share. What comes back gives the place
 * back; it is called once. Somebody whose own are all taken loses his oldest stream, which nobody may read any more; and where a tenant's or the
 * process's are all taken, so does the person who has most of them, to whoever has at least two fewer, or else the person himself. `end` of
 * that stream is called, and gives its place back at once. `rate_limited` where a share is used up otherwise, naming it.
 */
export function createStreamPlaces(): (holder: StreamHolder, end: () => void) => () => void {
  const take = createSharedPlaces();
  const holders = new Map<string, Own>();

  /** Whose oldest stream ends for one of somebody who has `count`, so that a share has room; `null`: nobody's. */
  function whoGives(share: string, count: number): Own | null {
    let most: Own | null = null;
    for (const own of holders.values())
      if (own.kind === 'person' && own.shares.some(([name]) => name === share))
        if (own.streams.size > (most?.streams.size ?? count + 1)) most = own;
    return most;
  }

  /** The streams that end for a new one; none where they would not make room in each of the shares. */
  function displaced(shares: readonly Share[], count: number, own: Own | undefined): ReadonlySet<() => void> {
    const ending = new Set<() => void>();
    for (const [share, places] of shares) {
      let taken = 0;
      for (const held of holders.values())
        if (held.shares.some(([name]) => name === share))
          for (const stream of held.streams) if (!ending.has(stream)) taken += 1;
      if (taken < places) continue;
      const [oldest] = (whoGives(share, count) ?? (own?.kind === 'person' ? own : null))?.streams ?? [];
      if (oldest === undefined) return new Set();
      ending.add(oldest);
    }
    return ending;
  }

  return ({ tenants, name, kind }, end) => {
    const whose = `${name} for ${tenants.join(', ') || 'every tenant'}`;
    const of = tenants.length === 0 ? ['every tenant'] : tenants.map((tenant) => `tenant ${tenant}`);
    const shares: readonly Share[] = [
      ...of.map((shown) => [shown, STREAM_SHARES.tenant] as const),
      ['this process', STREAM_SHARES.process],
    ];
    const before = holders.get(whose);
    const count = before?.streams.size ?? 0;
    const [oldest] = before?.streams ?? [];
    if (count < STREAM_SHARES[kind]) for (const stream of displaced(shares, count, before)) stream();
    else if (kind === 'person') oldest?.();
    const giveBack = take([[whose, STREAM_SHARES[kind]], ...shares]);
    const own = holders.get(whose) ?? { kind, shares, streams: new Set() };
    holders.set(whose, own);
    own.streams.add(end);
    return () => {
      own.streams.delete(end);
      if (own.streams.size === 0 && holders.get(whose) === own) holders.delete(whose);
      giveBack();
    };
  };
}
