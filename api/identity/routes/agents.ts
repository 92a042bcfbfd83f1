import type { FastifyRequest } from 'fastify';
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
import { GateError } from '../../../domain/errors.js';
import type { RevokedBy } from '../../../domain/identity/revoked-by.js';
import { type RegisteredAgent, RELEASE_LIFE_MS, type StandingStore } from '../../../domain/identity/standing.js';
import { isReservedPrincipal } from '../../../domain/evidence/own-principals.js';
import type { ServiceApp } from '../../plugins/app.js';
import { assertTenant } from '../administrator.js';
import type { People, Person } from '../people.js';

export interface AgentParts {
  readonly store: StandingStore;
  readonly people: People;
  readonly clock: () => number;
  /** How long every call of an agent waits for a person where nobody says how long. */
  readonly forceHilMs: number;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

const params = z.strictObject({ id: z.uuid() });
const querystring = z.strictObject({ tenant: z.string() });
const instant = (ms: number): string => new Date(ms).toISOString();
const instantOr = (ms: number | null): string | null => (ms === null ? null : instant(ms));

/** The registry of agents: what each may do, and who stopped it (docs/architecture/identity.md#standing). */
export function agentRoutes(app: ServiceApp, { store, people, clock, forceHilMs, onChanged }: AgentParts): void {
  const personFirst = (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    people.administratorOf(request);
    done();
  };
  const readerFirst = (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    people.readerOf(request);
    done();
  };
  const assertReads = (request: FastifyRequest, tenant: string): void => {
    const own = people.readerOf(request);
    if (own !== null && own !== tenant) throw new GateError('tenant_mismatch');
  };

  app.get(
    '/agents',
    { schema: { querystring: agentsQuery, response: { 200: z.array(agentRecord) } }, onRequest: readerFirst },
    async (request) => {
      const { tenant, state, agent_name: agent, after } = request.query;
      assertReads(request, tenant);
      return (await store.agents({ tenant, state, agent, after }, clock())).map(recordOf);
    },
  );
  app.get(
    '/agents/:id',
    { schema: { params, querystring, response: { 200: agentRecord } }, onRequest: readerFirst },
    async (request) => {
      assertReads(request, request.query.tenant);
      return recordOf(await store.agent(request.params.id, request.query.tenant, clock()));
    },
  );
  app.get(
    '/agents/:id/containment',
    { schema: { params, querystring, response: { 200: containment } }, onRequest: readerFirst },
    async (request) => {
      assertReads(request, request.query.tenant);
      return { force_hil: recordOf(await store.agent(request.params.id, request.query.tenant, clock())).force_hil };
    },
  );

  app.post(
    '/agents',
    { schema: { body: agentRegistration, response: { 201: agentRecord } }, onRequest: personFirst },
    async (request, reply) => {
      const person = people.administratorOf(request);
      const { tenant, agent_name: agent } = request.body;
      assertTenant(person, tenant);
      if (isReservedPrincipal(agent)) throw new GateError('agent_name_reserved', `Gate itself is called ${agent}`);
      const registered = await store.register({ tenant, agent }, { by: person.sub, nowMs: clock() });
      onChanged();
      return reply.code(201).send(recordOf(registered));
    },
  );

  /** A change that somebody makes, and says why. */
  const change = (
    path: '/suspend' | '/decommission',
    work: (id: string, tenant: string, by: RevokedBy) => Promise<RegisteredAgent>,
  ) =>
    app.post(
      `/agents/:id${path}`,
      { schema: { params, querystring, body: standingChange, response: { 200: agentRecord } }, onRequest: personFirst },
      async (request) => {
        const person = assertOwn(request, request.query.tenant);
        const agent = await work(request.params.id, person.tenant, by(person, request.body.reason));
        onChanged();
        return recordOf(agent);
      },
    );
  change('/suspend', store.suspend);
  change('/decommission', store.decommission);

  app.post(
    '/agents/:id/unsuspend',
    {
      schema: {
        params,
        querystring,
        body: standingChange,
        // 202: asked for; somebody else confirms it.
        response: { 200: agentRecord, 202: agentRelease },
      },
      onRequest: personFirst,
    },
    async (request, reply) => {
      const person = assertOwn(request, request.query.tenant);
      if (!person.isNamed) throw new GateError('person_required');
      const agent = await store.unsuspend(request.params.id, person.tenant, by(person, request.body.reason));
      onChanged();
      if (agent.state === 'active') return recordOf(agent);
      return reply.code(202).send({ ...recordOf(agent), somebody_else: people.hasOther(person) });
    },
  );

  app.post(
    '/agents/:id/containment',
    {
      schema: { params, querystring, body: containmentRequest, response: { 200: containment } },
      onRequest: personFirst,
    },
    async (request) => {
      const person = assertOwn(request, request.query.tenant);
      const { reason, ttl_seconds: seconds } = request.body;
      const nowMs = clock();
      const untilMs = nowMs + (seconds === undefined ? forceHilMs : seconds * 1_000);
      const who = { by: person.sub, reason, nowMs };
      const agent = await store.forceHil(request.params.id, person.tenant, who, untilMs);
      onChanged();
      return { force_hil: recordOf(agent).force_hil };
    },
  );
  app.post(
    '/agents/:id/containment/clear',
    { schema: { params, querystring, body: standingChange, response: { 200: containment } }, onRequest: personFirst },
    async (request) => {
      const person = assertOwn(request, request.query.tenant);
      const who = by(person, request.body.reason);
      const agent = await store.clearForceHil(request.params.id, person.tenant, who);
      onChanged();
      return { force_hil: recordOf(agent).force_hil };
    },
  );

  function assertOwn(request: FastifyRequest, tenant: string): Person {
    const person = people.administratorOf(request);
    assertTenant(person, tenant);
    return person;
  }
  const by = ({ sub }: Person, reason: string | undefined): RevokedBy => ({
    by: sub,
    reason: reason ?? null,
    nowMs: clock(),
  });
}

const recordOf = (agent: RegisteredAgent): AgentRecord => ({
  id: agent.id,
  tenant: agent.tenant,
  agent_name: agent.agent,
  state: agent.state,
  created_by_sub: agent.createdBy,
  created_at: instant(agent.createdMs),
  state_changed_at: instantOr(agent.stateChangedMs),
  state_changed_by: agent.stateChangedBy,
  reason: agent.reason,
  force_hil: agent.forceHil && {
    expires_at: instant(agent.forceHil.untilMs),
    reason: agent.forceHil.reason,
    applied_at: instant(agent.forceHil.appliedMs),
    actor: agent.forceHil.by,
  },
  release: agent.release && {
    requested_by: agent.release.by,
    requested_at: instant(agent.release.atMs),
    reason: agent.release.reason,
    until: instant(agent.release.atMs + RELEASE_LIFE_MS),
  },
});
