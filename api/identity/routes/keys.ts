import { identityKey, identityKeys, type IdentityKeyRecord, keyRotation } from '../../../contracts/identity.js';
import { GateError } from '../../../domain/errors.js';
import type { IdentityKey } from '../../../domain/identity/key-rotation.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type AdministratorOf, askerFirst } from '../administrator.js';
import type { SigningKeys } from '../signing-keys.js';
import { instant, instantOr } from './changes.js';

export interface KeyRouteParts {
  readonly keys: (Pick<SigningKeys, 'keys' | 'rotate'> & { readonly canRotateCa: boolean }) | null;
  readonly administratorOf: AdministratorOf;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** The keys with which identity signs (docs/architecture/identity.md#rotation). They are of the deployment, so no tenant's operator has a say. */
export function keyRoutes(app: ServiceApp, { keys, administratorOf, onChanged }: KeyRouteParts): void {
  app.get(
    '/keys',
    { schema: { response: { 200: identityKeys } }, onRequest: askerFirst(administratorOf) },
    async () => ({ keys: ((await keys?.keys()) ?? []).map(recordOf) }),
  );
  app.post(
    '/keys/rotations',
    {
      schema: { body: keyRotation, response: { 200: identityKey } },
      onRequest: askerFirst(administratorOf),
    },
    async (request) => {
      const { request_id: requestId, use, old_until: oldUntil, reason = null } = request.body;
      if (!keys || (use === 'certificates' && !keys.canRotateCa)) throw new GateError('rotation_unavailable');
      const oldUntilMs = oldUntil === undefined ? null : Date.parse(oldUntil);
      const key = await keys.rotate({ requestId, use, oldUntilMs, by: administratorOf(request).sub, reason });
      onChanged();
      return recordOf(key);
    },
  );
}

const recordOf = (key: IdentityKey): IdentityKeyRecord => ({
  id: key.id,
  use: key.use,
  state: key.state,
  public_pem: key.publicPem,
  configured: key.requestId === null,
  request_id: key.requestId,
  announced_at: instant(key.announcedMs),
  signs_from: instant(key.signedMs ?? key.signsDueMs),
  retired_at: instantOr(key.retiredMs),
  withdrawn_from: instantOr(key.withdrawnMs ?? key.withdrawDueMs),
  by: key.by,
});
