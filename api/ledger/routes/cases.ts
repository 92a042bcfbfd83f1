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

const ById = z.object({ id: z.string().min(1).max(64) });
const listQuery = z.object({
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
    async ({ query: { status, limit } }) => cases.list({ limit, ...(status !== undefined && { status }) }),
  );

  app.get('/cases/:id', { schema: { params: ById, response: { 200: caseWithEvidence } } }, async (request) => {
    const found = await cases.get(request.params.id);
    return { case: found, evidence: await cases.evidence(found) };
  });

  app.post('/cases', { schema: { body: openCase, response: { 201: incidentCase } } }, async (request, reply) => {
    const { actor, ...given } = request.body;
    return reply.code(201).send(await cases.open(given, actorOf(request, actor)));
  });

  app.post(
    '/cases/:id/timeline',
    { schema: { params: ById, body: addToTimeline, response: { 204: nothing } } },
    async (request, reply) => {
      await cases.addEvent(request.params.id, request.body);
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/cases/:id/status',
    { schema: { params: ById, body: setCaseStatus, response: { 204: nothing } } },
    async (request, reply) => {
      await cases.setStatus(request.params.id, request.body.status, actorOf(request, request.body.actor));
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/cases/:id/classify',
    { schema: { params: ById, body: classifyCase, response: { 200: caseClassification } } },
    (request) => cases.classify(request.params.id, request.body.severity, actorOf(request, request.body.actor)),
  );

  app.post(
    '/cases/:id/attach',
    { schema: { params: ById, body: attachToCase, response: { 204: nothing } } },
    async (request, reply) => {
      await cases.attach(request.params.id, request.body, actorOf(request, request.body.actor));
      return reply.code(204).send(null);
    },
  );
}
