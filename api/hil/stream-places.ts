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
 * back; it is called once. `rate_limited` where a share is used up, naming it.
 */
export function createStreamPlaces(): (holder: StreamHolder) => () => void {
  const take = createSharedPlaces();
  return ({ tenants, name, kind }) =>
    take([
      [`${name} for ${tenants.join(', ')}`, STREAM_SHARES[kind]],
      ...tenants.map((tenant) => [`tenant ${tenant}`, STREAM_SHARES.tenant] as const),
      ['this process', STREAM_SHARES.process],
    ]);
}
