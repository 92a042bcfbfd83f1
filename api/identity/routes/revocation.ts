import {
  revocationList,
  revocationQuery,
  revoked,
  revokeRequest,
  svidRecovery,
  svidRecoveryRequest,
} from '../../../contracts/identity.js';
import type { RevocationSigner } from '../../../adapters/identity/revocation-signature.js';
import type { GrantStore } from '../../../domain/identity/grants.js';
import type { RevocationStore } from '../../../domain/identity/revocation.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type Administrator, type AdministratorOf, askerFirst, assertTenant } from '../administrator.js';
import type { People } from '../people.js';
import { changeBy, instant, ofTenant } from './changes.js';

export interface RevocationParts {
  readonly store: RevocationStore & Pick<GrantStore, 'revokeGrant'>;
  readonly administratorOf: AdministratorOf;
  /** Who takes something back: whoever may stop an agent. */
  readonly people: Pick<People, 'administratorOf'>;
  readonly clock: () => number;
  readonly trustDomain: string;
  readonly signList: RevocationSigner;
  /** Called when a row waits for the ledger. */
  readonly onRevoked: () => void;
  /** How long a list counts. */
  readonly lifeMs: number;
}

/** Takes certificates back, and says which were (docs/architecture/identity.md#revocation). */
export function revocationRoutes(app: ServiceApp, parts: RevocationParts): void {
  const { store, administratorOf, people, clock, trustDomain, signList, lifeMs, onRevoked } = parts;
  const onRequest = askerFirst(administratorOf);
  const by = (person: Administrator, reason: string | undefined) => changeBy(person, reason, clock());

  const revoke = {
    schema: { body: revokeRequest, response: { 200: revoked } },
    onRequest: askerFirst(people.administratorOf),
  };
  app.post('/revoke', revoke, async (request) => {
    const administrator = people.administratorOf(request);
    const asked = request.body;
    const who = by(administrator, asked.reason);
    if (asked.kind === 'svid') {
      const { id, revokedMs } = await store.revokeSvid(asked.svid_id, administrator.tenant, who);
      onRevoked();
      return { kind: 'svid' as const, id, revoked_at: revokedMs === null ? null : instant(revokedMs) };
    }
    if (asked.kind === 'grant') {
      const revokedMs = await store.revokeGrant(asked.jti, administrator.tenant, who);
      onRevoked();
      return { kind: 'grant' as const, id: asked.jti, revoked_at: instant(revokedMs) };
    }
    // Rows wait also where something is left.
    const count = await store.revokeAgent(asked.agent_id, administrator.tenant, who).finally(onRevoked);
    return {
      kind: 'agent' as const,
      id: asked.agent_id,
      revoked_at: instant(who.nowMs),
      revoked_svids: count,
    };
  });

  app.post(
    '/agents/:id/svid-recovery',
    {
      schema: {
        ...ofTenant,
        body: svidRecoveryRequest,
        response: { 200: svidRecovery },
      },
      onRequest,
    },
    async (request) => {
      const administrator = administratorOf(request);
      assertTenant(administrator, request.query.tenant);
      const { recoveryGeneration, revokedSvids } = await store.openRecovery(
        request.params.id,
        administrator.tenant,
        by(administrator, request.body.reason),
      );
      onRevoked();
      return {
        agent_id: request.params.id,
        recovery_generation: recoveryGeneration,
        revoked_svids: revokedSvids,
        svid_bootstrap_state: 'recovery' as const,
      };
    },
  );

  app.get(
    '/revocation/list',
    { schema: { querystring: revocationQuery, response: { 200: revocationList } } },
    async ({ query: { after } }) => {
      const now = clock();
      const {
        generation,
        latest,
        history,
        afterHistory,
        agents,
        standings,
        stops,
        budgets,
        decoys,
        upstreams,
        grants,
        svids,
      } = await store.revocations(now, after);
      return signList({
        trust_domain: trustDomain,
        after,
        after_history: afterHistory,
        generation,
        history,
        latest,
        generated_at: instant(now),
        expires_at: instant(now + lifeMs),
        agents: agents.map(({ tenant, agent, revokedMs }) => ({
          tenant,
          agent_name: agent,
          revoked_at: instant(revokedMs),
        })),
        standings: standings.map((one) => ({
          tenant: one.tenant,
          agent_name: one.agent,
          state: one.state,
          force_hil_until: one.forceHilUntilMs === null ? null : instant(one.forceHilUntilMs),
          changed_at: instant(one.changedMs),
        })),
        ...(stops.length > 0 && {
          stops: stops.map(({ tenant, tool, state, isOffboarded, changedMs }) => ({
            tenant,
            tool,
            state,
            ...(isOffboarded && { offboarded: true as const }),
            changed_at: instant(changedMs),
          })),
        }),
        ...(budgets.length > 0 && {
          budgets: budgets.map(({ tenant, agent, budgetMicros, changedMs }) => ({
            tenant,
            agent_name: agent,
            budget_micros: budgetMicros,
            changed_at: instant(changedMs),
          })),
        }),
        ...(decoys.length > 0 && {
          decoys: decoys.map((one) => ({
            id: one.id,
            tenant: one.tenant,
            name: one.name,
            kind: one.kind,
            value: one.value,
            advertised: one.isAdvertised,
            action: one.action,
            schema_json: one.schemaJson,
            description: one.description,
            ...(one.isRetired && { retired: true as const }),
            changed_at: instant(one.changedMs),
          })),
        }),
        ...(upstreams.length > 0 && {
          upstreams: upstreams.map((one) => ({
            id: one.id,
            tenant: one.tenant,
            name: one.name,
            url: one.url,
            tls_pin: one.tlsPin,
            spiffe_id: one.spiffe,
            ...(one.isRetired && { retired: true as const }),
            changed_at: instant(one.changedMs),
          })),
        }),
        ...(grants.length > 0 && { grants: grants.map(({ jti, expiresMs }) => ({ jti, exp: instant(expiresMs) })) }),
        svids: svids.map((one) => ({
          svid_id: one.id,
          serial: one.serial,
          spiffe_id: one.spiffe,
          credential_fingerprint: one.fingerprint,
          not_after: instant(one.notAfterMs),
          why: one.why,
          refused_from: instant(one.refusedFromMs),
        })),
      });
    },
  );
}
