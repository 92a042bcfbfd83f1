import type { z } from 'zod';
import { type StepOwner, tenantWarrant, type TenantWarrantContent } from '../../contracts/tenant-lifecycle.js';
import { tenantWarrantCheck } from '../../adapters/identity/tenant-warrant-signature.js';
import { GateError } from '../../domain/errors.js';
import { type TlsMaterial, trustedBy } from '../../domain/identity/live-tls.js';
import type { ServiceApp } from './app.js';

/** Which CAs a service trusts. */
export type Trusting = Pick<TlsMaterial, 'ca' | 'live'>;

/**
 * The step of a service in an operation that identity leads (docs/architecture/tenants.md#steps). Whoever brings it has no say in it: it is done for the
 * warrant that identity signed for this service.
 */
export function tenantStepRoute<Receipt extends object>(
  app: ServiceApp,
  {
    owner,
    tls,
    receipt,
    take,
    clock,
  }: {
    readonly owner: StepOwner;
    /** Whose CA signs warrants. A service without it takes none. */
    readonly tls: Trusting | undefined;
    readonly receipt: z.ZodType<Receipt>;
    readonly take: (warrant: TenantWarrantContent) => Promise<Receipt>;
    readonly clock?: () => number;
  },
): void {
  const check = tls && tenantWarrantCheck(trustedBy(tls), owner, clock);
  app.post('/tenant-steps', { schema: { body: tenantWarrant, response: { 200: receipt } } }, (request) => {
    if (!check) throw new GateError('warrant_invalid', 'this service knows no CA');
    // Each kind of receipt has its own schema, which no type of the framework can follow from here.
    return take(check(request.body)) as never;
  });
}
