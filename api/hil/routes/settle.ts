import { z } from 'zod';
import { tenantName } from '../../../contracts/erasure.js';
import {
  MAX_ESCALATIONS,
  MAX_UNDECIDED,
  openedChange,
  ruledDecision,
  settledReview,
  undecidedReviews,
} from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import type { ServiceApp } from '../../plugins/app.js';
import { ByCorrelation, ById, PendingRow } from './schemas.js';
import type { OpenedReviews, WithdrawCall } from '../../../domain/review/ports.js';
import type { RuleDecision } from '../../../domain/review/rule-decision.js';

const Escalated = z.strictObject({
  escalated_at: z.iso.datetime(),
  escalated_again_at: z
    .array(z.iso.datetime())
    .max(MAX_ESCALATIONS - 1)
    .optional(),
});
/** The largest change that the contract allows, with every character escaped, sealed and in base64, is about 600,000. */
const MAX_SEALED_CHANGE = 1_000_000;
const SealedChange = z.strictObject({ sealed_diff: z.base64().max(MAX_SEALED_CHANGE) });
const UndecidedQuery = z.object({
  after_ms: z.coerce.number().int(),
  after_id: z.union([z.literal(''), z.uuid()]),
  limit: z.coerce.number().int().min(1).max(MAX_UNDECIDED),
});
const Withdrawal = z.strictObject({ tenant: tenantName, agent_id: z.string().min(1).max(256) });
const WithdrawQuery = z.object({ attempt_ms: z.coerce.number().int().optional() });

/**
 * Gate's own routes for the pipeline (GATE_OWN_ROUTES): the port `Reviews` reaches a HIL in another process through them. They have no
 * tenant scope, because the workflow that owns a correlation id owns its row.
 */
export function settleRoutes(
  app: ServiceApp,
  {
    reviews,
    decideByRule,
    withdrawCall,
  }: {
    readonly reviews: Pick<OpenedReviews, 'parking' | 'settling' | 'walk' | 'changeSeal'>;
    readonly decideByRule: RuleDecision;
    readonly withdrawCall: WithdrawCall;
  },
): void {
  app.post(
    '/pending/:id/rule-decision',
    { schema: { params: ById, response: { 200: ruledDecision } } },
    async (request) => ({ decision: await decideByRule(request.params.id) }),
  );

  app.post(
    '/pending/:id/opened-change',
    { schema: { params: ById, body: SealedChange, response: { 200: openedChange } } },
    async (request) => ({ diff: await reviews.changeSeal.opened(request.params.id, request.body.sealed_diff) }),
  );

  app.get(
    '/undecided',
    { schema: { querystring: UndecidedQuery, response: { 200: undecidedReviews } } },
    async ({ query: { after_ms: ms, after_id: id, limit } }) => ({
      rows: await reviews.walk.undecided({ ms, id }, limit),
    }),
  );

  app.post(
    '/pending/:id/escalated',
    { schema: { params: ById, body: Escalated, response: { 204: z.undefined() } } },
    async (request, reply) => {
      const { escalated_at, escalated_again_at: again = [] } = request.body;
      await reviews.settling.escalated(request.params.id, [escalated_at, ...again]);
      return reply.code(204).send();
    },
  );

  app.get(
    '/tenants/:tenant/standing',
    { schema: { params: z.object({ tenant: tenantName }), response: { 204: z.undefined() } } },
    async (request, reply) => {
      await reviews.parking.assertOpen(request.params.tenant);
      return reply.code(204).send();
    },
  );

  app.post(
    '/pending/:id/settle',
    { schema: { params: ById, body: settledReview, response: { 200: PendingRow } } },
    (request) => {
      if (request.body.pending_id !== request.params.id)
        throw new GateError('invalid_request', 'pending_id: is not the row of this address');
      return reviews.settling.settle(request.body);
    },
  );

  app.post(
    '/pending/by-correlation/:correlation_id/withdrawal',
    { schema: { params: ByCorrelation, body: Withdrawal, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await withdrawCall({ ...request.body, correlation_id: request.params.correlation_id });
      return reply.code(204).send();
    },
  );

  app.delete(
    '/pending/by-correlation/:correlation_id',
    { schema: { params: ByCorrelation, querystring: WithdrawQuery, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await reviews.parking.withdraw(request.params.correlation_id, request.query.attempt_ms);
      return reply.code(204).send();
    },
  );
}
