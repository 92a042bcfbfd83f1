import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  agentRecord,
  type AgentRecord,
  agentRegistration,
  agentRelease,
  agentsQuery,
  certificationRequest,
  certifiedAgent,
  descriptionChange,
  orphan,
  orphansQuery,
  ownerTeamChange,
  containment,
  containmentRequest,
  standingChange,
} from '../../../contracts/identity.js';
import { attestationKindsChange } from '../../../contracts/attestation.js';
import { evidenceKind, type EvidenceKind } from '../../../contracts/verified-attestation.js';
import { envelopeChange } from '../../../contracts/grants.js';
import { GateError, roleTooLow } from '../../../domain/errors.js';
import type { AttestationStore } from '../../../domain/identity/attestation.js';
import type { GrantStore } from '../../../domain/identity/grants.js';
import { certifiedWith } from '../../../domain/identity/certification.js';
import { type AgentEntry, NO_ENTRY, type RegistryStore } from '../../../domain/identity/registry.js';
import type { Signer } from '../../../domain/identity/signer.js';
import type { RevokedBy } from '../../../domain/identity/revoked-by.js';
import { type Envelope, NO_ENVELOPE, scopeSet } from '../../../domain/identity/scopes.js';
import type { RegisteredAgent, StandingStore } from '../../../domain/identity/standing.js';
import { stopReportIdOf } from '../../../domain/identity/stop-reports.js';
import { isReservedPrincipal } from '../../../domain/evidence/own-principals.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import { assertOfTeam, type People, type Person } from '../people.js';
import { changeBy, instant, instantOr, ofTenant, releaseRecord } from './changes.js';

export interface AgentParts {
  readonly store: StandingStore &
    RegistryStore &
    Pick<GrantStore, 'envelopes' | 'narrowEnvelope' | 'widenEnvelope'> &
    Pick<AttestationStore, 'attestationKinds' | 'setAttestationKinds'>;
  readonly people: People;
  /** Signs what an agent passed. */
  readonly signer: Signer;
  readonly clock: () => number;
  /** How long every call of an agent waits for a person where nobody says how long. */
  readonly forceHilMs: number;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** The registry of agents: what each may do, and who stopped it (docs/architecture/identity.md#standing). */
export function agentRoutes(app: ServiceApp, parts: AgentParts): void {
  const { store, people, signer, clock, forceHilMs, onChanged } = parts;
  const actorFirst = askerFirst(people.actorOf);
  const personFirst = askerFirst(people.administratorOf);
  const readerFirst = askerFirst(people.readerOf);
  const by = (person: Person, reason: string | undefined) => changeBy(person, reason, clock());
  const recordsOf = async (agents: readonly RegisteredAgent[]): Promise<AgentRecord[]> => {
    const ids = agents.map(({ id }) => id);
    const [envelopes, entries, kinds] = [
      await store.envelopes(ids),
      await store.entries(ids),
      await store.attestationKinds(ids),
    ];
    return agents.map((agent) =>
      recordWith(
        agent,
        envelopes.get(agent.id) ?? NO_ENVELOPE,
        entries.get(agent.id) ?? NO_ENTRY,
        kinds.get(agent.id) ?? [],
      ),
    );
  };
  const recordOf = async (agent: RegisteredAgent): Promise<AgentRecord> => (await recordsOf([agent]))[0] as AgentRecord;
  /** An administrator, or somebody of the team whose the agent is. */
  const ofItsTeam = async (id: string, tenant: string, request: FastifyRequest): Promise<Person> => {
    const person = people.actorIn(tenant, request);
    if (person.teams !== null) {
      await store.agent(id, tenant, clock());
      assertOfTeam(person, (await store.entries([id])).get(id)?.ownerTeam ?? null);
    }
    return person;
  };

  app.get(
    '/agents',
    { schema: { querystring: agentsQuery, response: { 200: z.array(agentRecord) } }, onRequest: readerFirst },
    async (request) => {
      const { tenant, state, agent_name: agent, owner_team: ownerTeam, after } = request.query;
      people.assertReads(tenant, request);
      return recordsOf(await store.agents({ tenant, state, agent, ownerTeam, after }, clock()));
    },
  );
  app.get(
    '/agents/orphans',
    { schema: { querystring: orphansQuery, response: { 200: z.array(orphan) } }, onRequest: readerFirst },
    async (request) => {
      people.assertReads(request.query.tenant, request);
      return (await store.orphans(request.query.tenant)).map(({ agent, lastSeenMs, svids }) => ({
        agent_name: agent,
        last_seen: instant(lastSeenMs),
        svid_count: svids,
      }));
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
    { schema: { body: agentRegistration, response: { 201: agentRecord } }, onRequest: actorFirst },
    async (request, reply) => {
      const { tenant, agent_name: agent, owner_team: ownerTeam = null, description = null } = request.body;
      const person = people.actorIn(tenant, request);
      assertOfTeam(person, ownerTeam);
      if (isReservedPrincipal(agent)) throw new GateError('agent_name_reserved', `Gate itself is called ${agent}`);
      const envelope = envelopeOf(request.body);
      // What may be delegated to an agent is widened by administrators alone.
      if (person.teams !== null && envelope.scope.length + envelope.yellow.length > 0)
        throw roleTooLow('admin', 'approver');
      const entry = { ...NO_ENTRY, ownerTeam, description };
      const registered = await store.register({ tenant, agent, envelope, entry }, { by: person.sub, nowMs: clock() });
      onChanged();
      return reply.code(201).send(recordWith(registered, envelope, entry, []));
    },
  );

  /** A change that somebody makes, and says why. */
  const change = (
    path: '/suspend' | '/decommission',
    personIn: (id: string, tenant: string, request: FastifyRequest) => Promise<Person> | Person,
    onRequest: typeof personFirst,
    work: (id: string, tenant: string, by: RevokedBy) => Promise<RegisteredAgent>,
  ) =>
    app.post(
      `/agents/:id${path}`,
      { schema: { ...ofTenant, body: standingChange, response: { 200: agentRecord } }, onRequest },
      async (request) => {
        const person = await personIn(request.params.id, request.query.tenant, request);
        const agent = await work(request.params.id, person.tenant, by(person, request.body.reason));
        onChanged();
        return recordOf(agent);
      },
    );
  const administrator = (_id: string, tenant: string, request: FastifyRequest) =>
    people.administratorIn(tenant, request);
  change('/suspend', ofItsTeam, actorFirst, store.suspend);
  change('/decommission', administrator, personFirst, store.decommission);

  /** What people may delegate to it, whole (docs/architecture/identity.md#envelopes). */
  const changeEnvelope = (
    path: '/envelope/narrow' | '/envelope/widen',
    personIn: (id: string, tenant: string, request: FastifyRequest) => Promise<Person> | Person,
    onRequest: typeof personFirst,
    work: (id: string, tenant: string, to: Envelope, who: RevokedBy) => Promise<void>,
  ) =>
    app.post(
      `/agents/:id${path}`,
      { schema: { ...ofTenant, body: envelopeChange, response: { 200: agentRecord } }, onRequest },
      async (request) => {
        const { id } = request.params;
        const person = await personIn(id, request.query.tenant, request);
        await work(id, person.tenant, envelopeOf(request.body), by(person, request.body.reason));
        onChanged();
        return recordOf(await store.agent(id, person.tenant, clock()));
      },
    );
  changeEnvelope('/envelope/narrow', ofItsTeam, actorFirst, store.narrowEnvelope);
  changeEnvelope('/envelope/widen', administrator, personFirst, store.widenEnvelope);

  app.post(
    '/agents/:id/owner-team',
    { schema: { ...ofTenant, body: ownerTeamChange, response: { 200: agentRecord } }, onRequest: personFirst },
    async (request) => {
      const person = people.administratorIn(request.query.tenant, request);
      const { id } = request.params;
      const { owner_team: team, reason } = request.body;
      await store.transferAgent(id, person.tenant, team, by(person, reason));
      onChanged();
      return recordOf(await store.agent(id, person.tenant, clock()));
    },
  );
  app.post(
    '/agents/:id/description',
    { schema: { ...ofTenant, body: descriptionChange, response: { 200: agentRecord } }, onRequest: actorFirst },
    async (request) => {
      const { id } = request.params;
      const person = await ofItsTeam(id, request.query.tenant, request);
      const { description, reason } = request.body;
      await store.describeAgent(id, person.tenant, description, by(person, reason));
      onChanged();
      return recordOf(await store.agent(id, person.tenant, clock()));
    },
  );
  app.post(
    '/agents/:id/certification',
    { schema: { ...ofTenant, body: certificationRequest, response: { 200: certifiedAgent } }, onRequest: personFirst },
    async (request) => {
      const person = people.administratorIn(request.query.tenant, request);
      const { id } = request.params;
      const nowMs = clock();
      const { agent } = await store.agent(id, person.tenant, nowMs);
      const certified = await certifiedWith(signer, request.body, { id, tenant: person.tenant, agent }, nowMs);
      await store.certifyAgent(id, person.tenant, certified.kept, { by: person.sub, reason: null, nowMs });
      onChanged();
      return certified.answer;
    },
  );

  // With what it may attest, whole (docs/architecture/attestation.md#kinds).
  app.post(
    '/agents/:id/attestation-kinds',
    {
      schema: { ...ofTenant, body: attestationKindsChange, response: { 200: agentRecord } },
      onRequest: personFirst,
    },
    async (request) => {
      const person = people.administratorIn(request.query.tenant, request);
      const { id } = request.params;
      const kinds = request.body.attestation_kinds.map((name) => {
        const kind = evidenceKind.safeParse(name);
        if (!kind.success) throw new GateError('attestation_kind_unknown', `no such kind of evidence: ${name}`);
        return kind.data;
      });
      await store.setAttestationKinds(id, person.tenant, kinds, by(person, request.body.reason));
      onChanged();
      return recordOf(await store.agent(id, person.tenant, clock()));
    },
  );

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

const recordWith = (
  agent: RegisteredAgent,
  { scope, yellow }: Envelope,
  entry: AgentEntry,
  kinds: readonly EvidenceKind[],
): AgentRecord => ({
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
  owner_team: entry.ownerTeam,
  description: entry.description,
  certified_at_version: entry.certified?.version ?? null,
  certified_at: instantOr(entry.certified?.atMs ?? null),
  scope_envelope: [...scope],
  yellow_envelope: [...yellow],
  attestation_kinds_accepted: [...kinds],
  release: releaseRecord(agent.release),
});
