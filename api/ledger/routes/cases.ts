import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  addToTimeline,
  attachToCase,
  caseClassification,
  caseStatus,
  caseWithEvidence,
  classifyCase,
  incidentCase,
  openCase,
  setCaseStatus,
} from '../../../contracts/cases.js';
import type { Cases } from '../../../adapters/evidence/cases/cases.js';
import type { ServiceApp } from '../../plugins/app.js';
import { scopeQuery } from '../query.js';

const ById = z.object({ id: z.string().min(1).max(64) });
/** Of whose cases the caller speaks; the console names the tenant of the person. */
const scope = z.object({ tenant: scopeQuery.tenant });
const listQuery = scope.extend({
  status: caseStatus.optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});
const nothing = z.null();

/** The actor: as named by the calling service, otherwise that service. */
const actorOf = (request: FastifyRequest, named: string | undefined): string =>
  named ?? request.caller?.callerId ?? 'unknown';

/** Incident cases (docs/architecture/ledger-reads.md#cases). */
export function caseRoutes({ app, cases }: { readonly app: ServiceApp; readonly cases: Cases }): void {
  app.get(
    '/cases',
    { schema: { querystring: listQuery, response: { 200: z.array(incidentCase) } } },
    async ({ query: { status, limit, tenant } }) =>
      cases.list({ limit, tenant, ...(status !== undefined && { status }) }),
  );

  app.get(
    '/cases/:id',
    { schema: { params: ById, querystring: scope, response: { 200: caseWithEvidence } } },
    async (request) => {
      const found = await cases.get(request.params.id, request.query);
      return { case: found, evidence: await cases.evidence(found) };
    },
  );

  app.post(
    '/cases',
    { schema: { querystring: scope, body: openCase, response: { 201: incidentCase } } },
    async (request, reply) => {
      const { actor, ...given } = request.body;
      return reply.code(201).send(await cases.open({ ...given, ...request.query }, actorOf(request, actor)));
    },
  );

  app.post(
    '/cases/:id/timeline',
    { schema: { params: ById, querystring: scope, body: addToTimeline, response: { 204: nothing } } },
    async (request, reply) => {
      const { request_id: requestId, ...event } = request.body;
      await cases.addEvent(request.params.id, event, request.query, requestId);
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/cases/:id/status',
    { schema: { params: ById, querystring: scope, body: setCaseStatus, response: { 204: nothing } } },
    async (request, reply) => {
      await cases.setStatus(
        request.params.id,
        request.body.status,
        actorOf(request, request.body.actor),
        request.query,
      );
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/cases/:id/classify',
    { schema: { params: ById, querystring: scope, body: classifyCase, response: { 200: caseClassification } } },
    (request) =>
      cases.classify(request.params.id, request.body.severity, actorOf(request, request.body.actor), request.query),
  );

  app.post(
    '/cases/:id/attach',
    { schema: { params: ById, querystring: scope, body: attachToCase, response: { 204: nothing } } },
    async (request, reply) => {
      await cases.attach(request.params.id, request.body, actorOf(request, request.body.actor), request.query);
      return reply.code(204).send(null);
    },
  );
}
