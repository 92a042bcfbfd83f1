import { GateError } from '../../domain/errors.js';

/** How many streams may be open: of a process, of a tenant, of a service that shows it to people without a token, of one operator. */
export const STREAM_SHARES = { process: 256, tenant: 64, service: 32, operator: 16 } as const;

export interface StreamHolder {
  readonly tenants: readonly string[];
  /** Who asks, by his credential. */
  readonly name: string;
  readonly kind: 'service' | 'operator';
}

const RETRY_AFTER_SECS = 15;

/**
 * Places of streams. Nobody takes those of the others: each operator, service and tenant has a share. What comes back gives the place
 * back; it is called once. `rate_limited` where a share is used up, naming it.
 */
export function createStreamPlaces(): (holder: StreamHolder) => () => void {
  const held = new Map<string, number>();
  const add = (share: string, by: number): void => {
    const count = (held.get(share) ?? 0) + by;
    if (count === 0) held.delete(share);
    else held.set(share, count);
  };
  return ({ tenants, name, kind }) => {
    const shares = [
      [`${name} for ${tenants.join(', ')}`, STREAM_SHARES[kind]] as const,
      ...tenants.map((tenant) => [`tenant ${tenant}`, STREAM_SHARES.tenant] as const),
      ['this process', STREAM_SHARES.process] as const,
    ];
    for (const [share, most] of shares)
      if ((held.get(share) ?? 0) >= most)
        throw new GateError('rate_limited', `${most} streams of ${share} are open`, {
          fields: { retry_after_secs: RETRY_AFTER_SECS },
        });
    for (const [share] of shares) add(share, 1);
    return () => {
      for (const [share] of shares) add(share, -1);
    };
  };
}
