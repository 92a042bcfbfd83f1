import { z } from 'zod';
import type { IdentityService } from '../../console/services.js';
import {
  agentRecord,
  agentReleased,
  AGENTS_LISTED,
  containment,
  keptStopReport,
  revoked,
  stopRecord,
  stopReleased,
  stopReportAnswer,
  STOPS_LISTED,
  tenantBudget,
} from '../../contracts/identity.js';
import { measurement } from '../../contracts/attestation.js';
import { decoyHits, decoyList, decoyRecord, decoyRetired } from '../../contracts/decoys.js';
import { grantList, GRANTS_LISTED } from '../../contracts/grants.js';
import { listedTenantOperation } from '../../contracts/tenant-lifecycle.js';
import { upstreamRecord } from '../../contracts/upstreams.js';
import { get, type Neighbour } from './neighbour.js';

interface Asking {
  /** Throws for somebody who has all tenants. */
  readonly ownTenant: () => string;
  /** Told what this console has just changed, or heard. */
  readonly note: (tenant: string, isStopped: boolean) => void;
}

/** What stays in doubt where no answer came. */
const MAY_BE_DONE = 'It may have done it: load the page again before you send it again.';

/** Identity as one person may ask it: who is stopped of his tenant, and changed in his name. */
export function identityOver({ ask }: Neighbour, { ownTenant, note }: Asking): IdentityService {
  const change = <Type extends z.ZodType>(type: Type, path: string, body: object): Promise<z.infer<Type>> =>
    ask(type, { method: 'POST', path, body, doubt: MAY_BE_DONE }) as Promise<z.infer<Type>>;
  const agentAt = (id: string, what: string): string => `/agents/${encodeURIComponent(id)}/${what}`;
  return {
    async agent(name) {
      ownTenant();
      return (await ask(z.array(agentRecord), get('/agents', { agent_name: name })))[0] ?? null;
    },
    stoppedAgents: () =>
      all(
        (after) => ask(z.array(agentRecord), get('/agents', { state: 'suspended', after })),
        AGENTS_LISTED,
        ({ agent_name: name }) => name,
      ),
    register: (name) => change(agentRecord, '/agents', { tenant: ownTenant(), agent_name: name }),
    async transfer(id, team, reason) {
      await change(agentRecord, agentAt(id, 'owner-team'), { owner_team: team, ...said(reason) });
    },
    async describe(id, description, reason) {
      await change(agentRecord, agentAt(id, 'description'), { description, ...said(reason) });
    },
    async narrow(id, { scope, yellow }, reason) {
      const to = { scope_envelope: scope, yellow_envelope: yellow };
      await change(agentRecord, agentAt(id, 'envelope/narrow'), { ...to, ...said(reason) });
    },
    async decommission(id, reason) {
      await change(agentRecord, agentAt(id, 'decommission'), said(reason));
    },
    suspend: (id, reason) => change(agentRecord, agentAt(id, 'suspend'), { reason }),
    unsuspend: (id, reason) => change(agentReleased, agentAt(id, 'unsuspend'), said(reason)),
    async forceHil(id, reason, seconds) {
      await change(containment, agentAt(id, 'containment'), { reason, ttl_seconds: seconds });
    },
    async clearForceHil(id) {
      await change(containment, agentAt(id, 'containment/clear'), {});
    },
    stops: () => stopsOver({ ask }),
    async stop(tool, reason) {
      const tenant = ownTenant();
      const stopped = await change(stopRecord, '/stops', { tenant, ...(tool !== null && { tool }), reason });
      if (tool === null) note(tenant, true);
      return stopped;
    },
    async releaseStop(id, reason) {
      const tenant = ownTenant();
      const stop = await change(stopReleased, `/stops/${encodeURIComponent(id)}/release`, said(reason));
      if (stop.tool === null) note(tenant, stop.state === 'suspended');
      return stop;
    },
    budget: () => ask(tenantBudget, get(`/tenants/${encodeURIComponent(ownTenant())}/budget`)),
    setBudget: (agent, micros, reason) =>
      change(tenantBudget, `/tenants/${encodeURIComponent(ownTenant())}/budget`, {
        budget_micros: micros,
        ...(agent !== null && { agent_name: agent }),
        ...said(reason),
      }),
    decoys: async () => (await ask(decoyList, get('/decoys', { tenant: ownTenant() }))).decoys,
    decoyHits: async () => (await ask(decoyHits, get('/decoys/hits', { tenant: ownTenant() }))).hits,
    addDecoy: ({ name, value, isAdvertised, action, reason }) =>
      change(decoyRecord, '/decoys', {
        tenant: ownTenant(),
        name,
        ...(value !== null && { kind: 'value', value }),
        advertised: isAdvertised,
        ...(action !== null && { action }),
        ...said(reason),
      }),
    async removeDecoy(name) {
      ownTenant();
      const path = `/decoys/${encodeURIComponent(name)}`;
      await ask(decoyRetired, { method: 'DELETE', path, doubt: MAY_BE_DONE });
    },
    upstreams: () => ask(z.array(upstreamRecord), get('/upstreams', { tenant: ownTenant() })),
    addUpstream: ({ name, url, tlsPin, spiffe, ownerTeam, reason }) =>
      change(upstreamRecord, '/upstreams', {
        tenant: ownTenant(),
        name,
        url,
        ...(tlsPin !== null && { tls_pin: tlsPin }),
        ...(spiffe !== null && { spiffe_id: spiffe }),
        ...(ownerTeam !== null && { owner_team: ownerTeam }),
        ...said(reason),
      }),
    async retireUpstream(id) {
      ownTenant();
      await change(upstreamRecord, `/upstreams/${encodeURIComponent(id)}/retire`, {});
    },
    grants: (agent) =>
      all(
        async (after) =>
          (await ask(grantList, get('/grants', { tenant: ownTenant(), agent_name: agent, active: 'true', after })))
            .grants,
        GRANTS_LISTED,
        ({ jti }) => jti,
      ),
    grantsAfter: async (jti) =>
      (
        await ask(
          grantList,
          get('/grants', { tenant: ownTenant(), active: 'true', ...(jti !== null && { after: jti }) }),
        )
      ).grants,
    async revokeGrant(jti, reason) {
      ownTenant();
      await change(revoked, '/revoke', { kind: 'grant', jti, ...said(reason) });
    },
    measurementsAfter: (id) =>
      ask(
        z.array(measurement),
        get('/attestation/measurements', { tenant: ownTenant(), state: 'approved', ...(id !== null && { after: id }) }),
      ),
    async withdrawMeasurement(id, reason) {
      ownTenant();
      await change(measurement, `/attestation/measurements/${encodeURIComponent(id)}/retire`, { reason });
    },
    reports: () => ask(z.array(keptStopReport), get('/stops/reports')),
    async report(id) {
      ownTenant();
      return (await ask(stopReportAnswer, get(`/stops/reports/${encodeURIComponent(id)}`))).report;
    },
    tenantOperations: () =>
      ask(z.array(listedTenantOperation), get(`/tenants/${encodeURIComponent(ownTenant())}/lifecycle`)),
  };
}

const said = (reason: string | null) => (reason === null ? {} : { reason });

/** The tools of a tenant that are stopped, or ever were, and the tenant itself. */
export const stopsOver = ({ ask }: Pick<Neighbour, 'ask'>, state?: 'suspended') =>
  all(
    (after) => ask(z.array(stopRecord), get('/stops', { state, after })),
    STOPS_LISTED,
    ({ id }) => id,
  );

/** A list whole, of which each answer has so many at most, and begins behind where the one before ended. */
async function all<Row>(
  ask: (after: string | undefined) => Promise<readonly Row[]>,
  most: number,
  placeOf: (row: Row) => string,
): Promise<readonly Row[]> {
  const found: Row[] = [];
  for (;;) {
    const last = found.at(-1);
    const page = await ask(last && placeOf(last));
    found.push(...page);
    if (page.length < most) return found;
  }
}
