import { z } from 'zod';
import { standingChange } from '../../../contracts/identity.js';
import { newUpstream, upstreamRecord, type UpstreamRecord, upstreamsQuery } from '../../../contracts/upstreams.js';
import { type KeptUpstream, type UpstreamStore, upstreamUrl } from '../../../domain/identity/upstreams.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import { assertOfTeam, type People } from '../people.js';
import { changeBy, instant, instantOr, ofTenant } from './changes.js';

export interface UpstreamRouteParts {
  readonly store: UpstreamStore;
  readonly people: People;
  /** Whether upstreams may be in a private network. */
  readonly allowsPrivate: boolean;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** The servers of tools that somebody vouched for (docs/architecture/upstreams.md). */
export function upstreamRoutes(app: ServiceApp, parts: UpstreamRouteParts): void {
  const { store, people, allowsPrivate, clock, onChanged } = parts;
  const readerFirst = askerFirst(people.readerOf);

  app.get(
    '/upstreams',
    { schema: { querystring: upstreamsQuery, response: { 200: z.array(upstreamRecord) } }, onRequest: readerFirst },
    async (request) => {
      people.assertReads(request.query.tenant, request);
      return (await store.upstreams(request.query.tenant)).map(recordOf);
    },
  );
  app.get(
    '/upstreams/:id',
    { schema: { ...ofTenant, response: { 200: upstreamRecord } }, onRequest: readerFirst },
    async (request) => {
      people.assertReads(request.query.tenant, request);
      return recordOf(await store.upstream(request.params.id, request.query.tenant));
    },
  );
  app.post(
    '/upstreams',
    { schema: { body: newUpstream, response: { 201: upstreamRecord } }, onRequest: askerFirst(people.actorOf) },
    async (request, reply) => {
      const { tenant, name, owner_team: ownerTeam = null, reason } = request.body;
      const { tls_pin: tlsPin = null, spiffe_id: spiffe = null } = request.body;
      const person = people.actorIn(tenant, request);
      assertOfTeam(person, ownerTeam);
      const url = upstreamUrl(request.body.url, { allowsPrivate });
      const by = changeBy(person, reason, clock());
      const added = await store.addUpstream({ tenant, name, url, tlsPin, spiffe, ownerTeam }, by);
      onChanged();
      return reply.code(201).send(recordOf(added));
    },
  );
  app.post(
    '/upstreams/:id/retire',
    {
      schema: { ...ofTenant, body: standingChange, response: { 200: upstreamRecord } },
      onRequest: askerFirst(people.administratorOf),
    },
    async (request) => {
      const person = people.administratorIn(request.query.tenant, request);
      const by = changeBy(person, request.body.reason, clock());
      const retired = await store.retireUpstream(request.params.id, person.tenant, by);
      onChanged();
      return recordOf(retired);
    },
  );
}

const recordOf = (upstream: KeptUpstream): UpstreamRecord => ({
  id: upstream.id,
  tenant: upstream.tenant,
  name: upstream.name,
  url: upstream.url,
  tls_pin: upstream.tlsPin,
  spiffe_id: upstream.spiffe,
  owner_team: upstream.ownerTeam,
  state: upstream.retiredMs === null ? 'active' : 'retired',
  created_by_sub: upstream.createdBy,
  created_at: instant(upstream.createdMs),
  retired_at: instantOr(upstream.retiredMs),
  retired_by: upstream.retiredBy,
});
