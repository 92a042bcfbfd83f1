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
import { stopReportIdOf } from '../../../domain/identity/stop-reports.js';
import type { Stop, StopStore } from '../../../domain/identity/stops.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import type { People } from '../people.js';
import { changeBy, instant, ofTenant, releaseRecord } from './changes.js';

export interface StopParts {
  readonly store: StopStore;
  readonly people: People;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** Stops a tool for everybody of a tenant, or a tenant whole; two people let it go (docs/architecture/identity.md#stops). */
export function stopRoutes(app: ServiceApp, { store, people, clock, onChanged }: StopParts): void {
  const personFirst = askerFirst(people.administratorOf);

  app.get(
    '/stops',
    {
      schema: { querystring: stopsQuery, response: { 200: z.array(stopRecord) } },
      onRequest: askerFirst(people.readerOf),
    },
    async (request) => {
      const { tenant, state, after } = request.query;
      people.assertReads(tenant, request);
      return (await store.stops({ tenant, state, after }, clock())).map(recordOf);
    },
  );

  app.post(
    '/stops',
    {
      schema: { body: stopRequest, response: { 200: stopRecord } },
      onRequest: personFirst,
    },
    async (request) => {
      const { tenant, tool = null, reason } = request.body;
      const person = people.administratorIn(tenant, request);
      const stopped = await store.stop({ tenant, tool }, changeBy(person, reason, clock()));
      onChanged();
      return recordOf(stopped);
    },
  );

  app.post(
    '/stops/:id/release',
    {
      schema: {
        ...ofTenant,
        body: standingChange,
        // 202: asked for; somebody else confirms it.
        response: { 200: stopRecord, 202: stopRelease },
      },
      onRequest: personFirst,
    },
    async (request, reply) => {
      const person = people.administratorIn(request.query.tenant, request);
      if (!person.isNamed) throw new GateError('person_required');
      const by = changeBy(person, request.body.reason, clock());
      const stop = await store.releaseStop(request.params.id, person.tenant, by);
      onChanged();
      if (stop.state === 'active') return recordOf(stop);
      return reply.code(202).send({ ...recordOf(stop), somebody_else: people.hasOther(person) });
    },
  );
}

const recordOf = ({ id, tenant, tool, state, changedMs, changedBy, reason, release }: Stop): StopRecord => ({
  id,
  tenant,
  tool,
  state,
  changed_at: instant(changedMs),
  changed_by: changedBy,
  reason,
  report_id: state === 'suspended' ? stopReportIdOf(id, changedMs) : null,
  release: releaseRecord(release),
});
