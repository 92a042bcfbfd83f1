import { z } from 'zod';
import {
  type GrantRecord,
  grantList,
  grantRequest,
  grantsQuery,
  grantUses,
  issuedGrant,
} from '../../../contracts/grants.js';
import { CALLER_IDS } from '../../../contracts/route-authority.js';
import { GateError } from '../../../domain/errors.js';
import type { Granting } from '../../../domain/identity/granting.js';
import type { GrantStore, KeptGrant } from '../../../domain/identity/grants.js';
import { recurrenceSummary } from '../../../domain/identity/grant-terms.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import type { People } from '../people.js';
import { instant, instantOr } from './changes.js';

export interface GrantParts {
  readonly store: GrantStore;
  readonly granting: Granting;
  readonly people: People;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onGranted: () => void;
}

/** What people delegate to agents (docs/architecture/identity.md#grants). */
export function grantRoutes(app: ServiceApp, { store, granting, people, clock, onGranted }: GrantParts): void {
  // Whoever delegates proves who that is by the token in the body; an agent, by the certificate that the proxy saw.
  app.post('/grant', { schema: { body: grantRequest, response: { 200: issuedGrant } } }, async (request, reply) => {
    if (request.caller?.callerId === CALLER_IDS.proxy && request.body.credential_fingerprint === undefined)
      throw new GateError('invalid_token', 'an agent shows its certificate');
    const issued = await granting.issue(request.body);
    onGranted();
    return reply.header('cache-control', 'no-store').send(issued);
  });
  app.get(
    '/grants',
    { schema: { querystring: grantsQuery, response: { 200: grantList } }, onRequest: askerFirst(people.readerOf) },
    async (request) => {
      const { tenant, agent_name: agent, active, after } = request.query;
      people.assertReads(tenant, request);
      const grants = await store.grants({ tenant, agent, active: active === 'true', after }, clock());
      return { grants: grants.map((one) => ('tampered' in one ? one : recordOf(one))) };
    },
  );
  app.post(
    '/grants/uses',
    { schema: { body: grantUses, response: { 200: z.strictObject({ told: z.number().int() }) } } },
    async (request) => {
      await store.tellUses(request.body.uses);
      return { told: request.body.uses.length };
    },
  );
}

const recordOf = (grant: KeptGrant): GrantRecord => ({
  jti: grant.jti,
  agent_spiffe: grant.spiffe,
  human_sub: grant.humanSub,
  idp: grant.idp,
  scope: [...grant.scope],
  yellow_scope: [...grant.yellowScope],
  issued_at: instant(grant.issuedMs),
  max_uses: grant.maxUses,
  uses: grant.uses,
  not_before: instantOr(grant.notBeforeMs),
  not_after: instantOr(grant.notAfterMs),
  exp: instant(grant.expiresMs),
  recurrence_summary: grant.recurrence && recurrenceSummary(grant.recurrence),
  revoked_at: instantOr(grant.revokedMs),
  revoked_by: grant.revokedBy,
});
