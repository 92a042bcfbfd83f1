import { type RevocationList, revocationList } from '../../contracts/identity.js';
import { GateError } from '../../domain/errors.js';
import { createServiceClient, type ServiceClientOptions } from './service-client.js';

export interface IdentityClient {
  /** What was taken back after a number; its signature is not checked here. */
  revocations(after: number): Promise<RevocationList>;
}

/** Identity over HTTP. No answer, or an unreadable one: `control_state_unavailable`. All questions may be repeated. */
export function createIdentityClient({ timeoutMs = 2_000, ...options }: ServiceClientOptions): IdentityClient {
  const unavailable = (detail: string, cause?: unknown) =>
    new GateError('control_state_unavailable', detail, { cause });
  const ask = createServiceClient('identity', options, unavailable);
  return {
    revocations: (after) => ask(revocationList, { method: 'GET', path: `/revocation/list?after=${after}`, timeoutMs }),
  };
}
