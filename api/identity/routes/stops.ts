import { z } from 'zod';
import {
  stopRecord,
  type StopRecord,
  stopRelease,
  stopRequest,
  standingChange,
  stopsQuery,
} from '../../../contracts/identity.js';
import { GateError } from '../../../domain/errors.js';
import { RELEASE_LIFE_MS } from '../../../domain/identity/standing.js';
import type { Stop, StopStore } from '../../../domain/identity/stops.js';
import type { ServiceApp } from '../../plugins/app.js';
import { assertTenant } from '../administrator.js';
import type { People } from '../people.js';

export interface StopParts {
  readonly store: StopStore;
  readonly people: People;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** Stops a tool for everybody of a tenant, or a tenant whole; two people let it go (docs/architecture/identity.md#stops). */
export function stopRoutes(app: ServiceApp, { store, people, clock, onChanged }: StopParts): void {
  app.get(
    '/stops',
    {
      schema: { querystring: stopsQuery, response: { 200: z.array(stopRecord) } },
      onRequest: (request, _reply, done) => {
        people.readerOf(request);
        done();
      },
    },
    async (request) => {
      const { tenant, state, after } = request.query;
      const own = people.readerOf(request);
      if (own !== null && own !== tenant) throw new GateError('tenant_mismatch');
      return (await store.stops({ tenant, state, after }, clock())).map(recordOf);
    },
  );

  app.post(
    '/stops',
    {
      schema: { body: stopRequest, response: { 200: stopRecord } },
      onRequest: (request, _reply, done) => {
        people.administratorOf(request);
        done();
      },
    },
    async (request) => {
      const person = people.administratorOf(request);
      const { tenant, tool = null, reason } = request.body;
      assertTenant(person, tenant);
      const stopped = await store.stop({ tenant, tool }, { by: person.sub, reason, nowMs: clock() });
      onChanged();
      return recordOf(stopped);
    },
  );

  app.post(
    '/stops/:id/release',
    {
      schema: {
        params: z.strictObject({ id: z.uuid() }),
        querystring: z.strictObject({ tenant: z.string() }),
        body: standingChange,
        // 202: asked for; somebody else confirms it.
        response: { 200: stopRecord, 202: stopRelease },
      },
      onRequest: (request, _reply, done) => {
        people.administratorOf(request);
        done();
      },
    },
    async (request, reply) => {
      const person = people.administratorOf(request);
      assertTenant(person, request.query.tenant);
      if (!person.isNamed) throw new GateError('person_required');
      const by = { by: person.sub, reason: request.body.reason ?? null, nowMs: clock() };
      const stop = await store.releaseStop(request.params.id, person.tenant, by);
      onChanged();
      if (stop.state === 'active') return recordOf(stop);
      return reply.code(202).send({ ...recordOf(stop), somebody_else: people.hasOther(person) });
    },
  );
}

const instant = (ms: number): string => new Date(ms).toISOString();
const recordOf = ({ id, tenant, tool, state, changedMs, changedBy, reason, release }: Stop): StopRecord => ({
  id,
  tenant,
  tool,
  state,
  changed_at: instant(changedMs),
  changed_by: changedBy,
  reason,
  release: release && {
    requested_by: release.by,
    requested_at: instant(release.atMs),
    reason: release.reason,
    until: instant(release.atMs + RELEASE_LIFE_MS),
  },
});
