import { z } from 'zod';
import {
  agentRecord,
  type AgentRecord,
  agentRegistration,
  agentRelease,
  agentsQuery,
  containment,
  containmentRequest,
  standingChange,
} from '../../../contracts/identity.js';
import { envelopeChange } from '../../../contracts/grants.js';
import { GateError } from '../../../domain/errors.js';
import type { GrantStore } from '../../../domain/identity/grants.js';
import type { RevokedBy } from '../../../domain/identity/revoked-by.js';
import { type Envelope, NO_ENVELOPE, scopeSet } from '../../../domain/identity/scopes.js';
import type { RegisteredAgent, StandingStore } from '../../../domain/identity/standing.js';
import { stopReportIdOf } from '../../../domain/identity/stop-reports.js';
import { isReservedPrincipal } from '../../../domain/evidence/own-principals.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import type { People, Person } from '../people.js';
import { changeBy, instant, instantOr, ofTenant, releaseRecord } from './changes.js';

export interface AgentParts {
  readonly store: StandingStore & Pick<GrantStore, 'envelopes' | 'narrowEnvelope' | 'widenEnvelope'>;
  readonly people: People;
  readonly clock: () => number;
  /** How long every call of an agent waits for a person where nobody says how long. */
  readonly forceHilMs: number;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** The registry of agents: what each may do, and who stopped it (docs/architecture/identity.md#standing). */
export function agentRoutes(app: ServiceApp, { store, people, clock, forceHilMs, onChanged }: AgentParts): void {
  const personFirst = askerFirst(people.administratorOf);
  const readerFirst = askerFirst(people.readerOf);
  const by = (person: Person, reason: string | undefined) => changeBy(person, reason, clock());
  const recordsOf = async (agents: readonly RegisteredAgent[]): Promise<AgentRecord[]> => {
    const envelopes = await store.envelopes(agents.map(({ id }) => id));
    return agents.map((agent) => recordWith(agent, envelopes.get(agent.id) ?? NO_ENVELOPE));
  };
  const recordOf = async (agent: RegisteredAgent): Promise<AgentRecord> =>
    recordWith(agent, (await store.envelopes([agent.id])).get(agent.id) ?? NO_ENVELOPE);

  app.get(
    '/agents',
    { schema: { querystring: agentsQuery, response: { 200: z.array(agentRecord) } }, onRequest: readerFirst },
    async (request) => {
      const { tenant, state, agent_name: agent, after } = request.query;
      people.assertReads(tenant, request);
      return recordsOf(await store.agents({ tenant, state, agent, after }, clock()));
    },
  );
  app.get(
    '/agents/:id',
    { schema: { ...ofTenant, response: { 200: agentRecord } }, onRequest: readerFirst },
    async (request) => {
      people.assertReads(request.query.tenant, request);
      return recordOf(await store.agent(request.params.id, request.query.tenant, clock()));
    },
  );
  app.get(
    '/agents/:id/containment',
    { schema: { ...ofTenant, response: { 200: containment } }, onRequest: readerFirst },
    async (request) => {
      people.assertReads(request.query.tenant, request);
      return { force_hil: forceHilOf(await store.agent(request.params.id, request.query.tenant, clock())) };
    },
  );

  app.post(
    '/agents',
    { schema: { body: agentRegistration, response: { 201: agentRecord } }, onRequest: personFirst },
    async (request, reply) => {
      const { tenant, agent_name: agent } = request.body;
      const person = people.administratorIn(tenant, request);
      if (isReservedPrincipal(agent)) throw new GateError('agent_name_reserved', `Gate itself is called ${agent}`);
      const envelope = envelopeOf(request.body);
      const registered = await store.register({ tenant, agent, envelope }, { by: person.sub, nowMs: clock() });
      onChanged();
      return reply.code(201).send(recordWith(registered, envelope));
    },
  );

  /** A change that somebody makes, and says why. */
  const change = (
    path: '/suspend' | '/decommission',
    work: (id: string, tenant: string, by: RevokedBy) => Promise<RegisteredAgent>,
  ) =>
    app.post(
      `/agents/:id${path}`,
      { schema: { ...ofTenant, body: standingChange, response: { 200: agentRecord } }, onRequest: personFirst },
      async (request) => {
        const person = people.administratorIn(request.query.tenant, request);
        const agent = await work(request.params.id, person.tenant, by(person, request.body.reason));
        onChanged();
        return recordOf(agent);
      },
    );
  change('/suspend', store.suspend);
  change('/decommission', store.decommission);

  /** What people may delegate to it, whole (docs/architecture/identity.md#envelopes). */
  const changeEnvelope = (
    path: '/envelope/narrow' | '/envelope/widen',
    work: (id: string, tenant: string, to: Envelope, who: RevokedBy) => Promise<void>,
  ) =>
    app.post(
      `/agents/:id${path}`,
      { schema: { ...ofTenant, body: envelopeChange, response: { 200: agentRecord } }, onRequest: personFirst },
      async (request) => {
        const person = people.administratorIn(request.query.tenant, request);
        const { id } = request.params;
        await work(id, person.tenant, envelopeOf(request.body), by(person, request.body.reason));
        onChanged();
        return recordOf(await store.agent(id, person.tenant, clock()));
      },
    );
  changeEnvelope('/envelope/narrow', store.narrowEnvelope);
  changeEnvelope('/envelope/widen', store.widenEnvelope);

  app.post(
    '/agents/:id/unsuspend',
    {
      schema: {
        ...ofTenant,
        body: standingChange,
        // 202: asked for; somebody else confirms it.
        response: { 200: agentRecord, 202: agentRelease },
      },
      onRequest: personFirst,
    },
    async (request, reply) => {
      const person = people.administratorIn(request.query.tenant, request);
      if (!person.isNamed) throw new GateError('person_required');
      const agent = await store.unsuspend(request.params.id, person.tenant, by(person, request.body.reason));
      onChanged();
      if (agent.state === 'active') return recordOf(agent);
      return reply.code(202).send({ ...(await recordOf(agent)), somebody_else: people.hasOther(person) });
    },
  );

  app.post(
    '/agents/:id/containment',
    {
      schema: { ...ofTenant, body: containmentRequest, response: { 200: containment } },
      onRequest: personFirst,
    },
    async (request) => {
      const person = people.administratorIn(request.query.tenant, request);
      const { reason, ttl_seconds: seconds } = request.body;
      const nowMs = clock();
      const untilMs = nowMs + (seconds === undefined ? forceHilMs : seconds * 1_000);
      const who = { by: person.sub, reason, nowMs };
      const agent = await store.forceHil(request.params.id, person.tenant, who, untilMs);
      onChanged();
      return { force_hil: forceHilOf(agent) };
    },
  );
  app.post(
    '/agents/:id/containment/clear',
    { schema: { ...ofTenant, body: standingChange, response: { 200: containment } }, onRequest: personFirst },
    async (request) => {
      const person = people.administratorIn(request.query.tenant, request);
      const who = by(person, request.body.reason);
      const agent = await store.clearForceHil(request.params.id, person.tenant, who);
      onChanged();
      return { force_hil: forceHilOf(agent) };
    },
  );
}

const envelopeOf = (asked: {
  readonly scope_envelope: readonly string[];
  readonly yellow_envelope: readonly string[];
}): Envelope => ({
  scope: scopeSet('scope_envelope', asked.scope_envelope),
  yellow: scopeSet('yellow_envelope', asked.yellow_envelope),
});

const forceHilOf = ({ forceHil }: RegisteredAgent): AgentRecord['force_hil'] =>
  forceHil && {
    expires_at: instant(forceHil.untilMs),
    reason: forceHil.reason,
    applied_at: instant(forceHil.appliedMs),
    actor: forceHil.by,
  };

const recordWith = (agent: RegisteredAgent, { scope, yellow }: Envelope): AgentRecord => ({
  id: agent.id,
  tenant: agent.tenant,
  agent_name: agent.agent,
  state: agent.state,
  created_by_sub: agent.createdBy,
  created_at: instant(agent.createdMs),
  state_changed_at: instantOr(agent.stateChangedMs),
  state_changed_by: agent.stateChangedBy,
  reason: agent.reason,
  svid_bootstrap_state: agent.bootstrap,
  report_id:
    agent.state === 'suspended' && agent.stateChangedMs !== null
      ? stopReportIdOf(agent.id, agent.stateChangedMs)
      : null,
  force_hil: forceHilOf(agent),
  scope_envelope: [...scope],
  yellow_envelope: [...yellow],
  release: releaseRecord(agent.release),
});
