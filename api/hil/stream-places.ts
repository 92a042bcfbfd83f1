import { createSharedPlaces } from '../../domain/limits/shared-places.js';

/** How many streams may be open: of a process, of a tenant, of a service that shows it to people without a token, of one operator. */
export const STREAM_SHARES = { process: 256, tenant: 64, service: 32, operator: 16 } as const;

export interface StreamHolder {
  readonly tenants: readonly string[];
  /** Who asks, by his credential. */
  readonly name: string;
  readonly kind: 'service' | 'operator';
}

/**
 * Places of streams. Nobody takes those of the others: each operator, service and tenant has a share. What comes back gives the place
 * back; it is called once. An operator whose own are all taken loses his oldest stream, which nobody may read any more: `end` of it is called,
 * and gives its place back at once. `rate_limited` where another share is used up, naming it.
 */
export function createStreamPlaces(): (holder: StreamHolder, end: () => void) => () => void {
  const take = createSharedPlaces();
  /** The streams of each operator, the oldest first. */
  const streams = new Map<string, Set<() => void>>();
  return ({ tenants, name, kind }, end) => {
    const whose = `${name} for ${tenants.join(', ')}`;
    const [oldest] = streams.get(whose) ?? [];
    if (kind === 'operator' && (streams.get(whose)?.size ?? 0) >= STREAM_SHARES.operator) oldest?.();
    const giveBack = take([
      [whose, STREAM_SHARES[kind]],
      ...tenants.map((tenant) => [`tenant ${tenant}`, STREAM_SHARES.tenant] as const),
      ['this process', STREAM_SHARES.process],
    ]);
    const own = streams.get(whose) ?? new Set();
    streams.set(whose, own.add(end));
    return () => {
      own.delete(end);
      if (own.size === 0) streams.delete(whose);
      giveBack();
    };
  };
}
