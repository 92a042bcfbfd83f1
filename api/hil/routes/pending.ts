import { setImmediate as turn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { JsonObject } from '../../../contracts/json.js';
import { approvalTier } from '../../../contracts/policy.js';
import { newReview, type NewReview, type PendingRequest } from '../../../contracts/review.js';
import { CALLER_IDS } from '../../../contracts/route-authority.js';
import { stateNamespace } from '../../../contracts/ledger.js';
import { GateError } from '../../../domain/errors.js';
import type { AskForReview } from '../../../domain/review/asked-review.js';
import type { ServiceApp } from '../../plugins/app.js';
import { namedTenant, type ReviewScope, scopeFirst } from '../scope.js';
import { ByCorrelation, ById, parsedObject, PendingDetail, PendingRow } from './schemas.js';
import type { ReviewsWithNotices } from '../../../domain/notification/ports.js';

/** Looser than the contract, because some faults have their own code (422) instead of `invalid_request`. */
const CreateBody = newReview.extend({
  request_payload: parsedObject,
  tenant: newReview.shape.tenant.optional(),
  ttl_seconds: z.number().optional(),
  approval_tier: z.string().nullish(),
  state_namespace: z.string().optional(),
  callback_url: z.string().max(2048).nullish(),
});

export interface RowRoutes {
  readonly reviews: Pick<ReviewsWithNotices, 'reads' | 'notices'>;
  readonly scopeOf: (request: FastifyRequest) => ReviewScope;
}

export interface PendingRoutes extends RowRoutes {
  readonly reviews: Pick<ReviewsWithNotices, 'parking' | 'reads' | 'notices'>;
  /** For those who may ask for a review without a call. */
  readonly askForReview: AskForReview;
}

/** Routes between services: the pipeline creates rows, and the simulator asks for reviews without a call. */
export function pendingRoutes(app: ServiceApp, options: PendingRoutes): void {
  const { reviews, scopeOf, askForReview } = options;
  rowRoutes(app, options);
  app.post(
    '/pending',
    {
      schema: { body: CreateBody, response: { 200: PendingRow, 201: PendingRow } },
      // The pipeline may name the tenant in the body instead.
      onRequest: scopeFirst((request) =>
        request.caller?.callerId === CALLER_IDS.simulator ? scopeOf(request) : namedTenant(request),
      ),
    },
    async (request, reply) => {
      const { body, caller } = request;
      const { row, created } =
        caller?.callerId === CALLER_IDS.simulator
          ? await askForReview(withoutCall(reviewOf(body, scopeOf(request).tenant ?? null)), caller)
          : await reviews.parking.createOnce(reviewOf(body, namedTenant(request)), await awaited(request));
      return reply.code(created ? 201 : 200).send(row);
    },
  );
}

/**
 * Whether whoever asked still waits for the answer. No two clocks are compared: a process that hung finds in its connection both the request and
 * that the other side hung up since, and reads one after the other, the second within two turns of its loop; one more does not hurt.
 */
async function awaited({ raw: { socket } }: FastifyRequest): Promise<() => boolean> {
  for (let turns = 0; turns < 3; turns += 1) await turn();
  return () => socket.writable !== false;
}

/** Callers read single rows of their scope. Lite's console reads them by the same code. */
export function rowRoutes(app: ServiceApp, { reviews, scopeOf }: RowRoutes): void {
  const detailed = async (row: PendingRequest) => ({
    ...row,
    since_last_call: await reviews.reads.sinceLast(row),
    notifications: await reviews.notices.deliveriesOf(row.id),
  });

  app.get(
    '/pending/:id',
    { schema: { params: ById, response: { 200: PendingDetail } }, onRequest: scopeFirst(scopeOf) },
    async (request) => detailed(found(await reviews.reads.get(request.params.id, scopeOf(request).tenant))),
  );

  app.get(
    '/pending/by-correlation/:correlation_id',
    { schema: { params: ByCorrelation, response: { 200: PendingDetail } }, onRequest: scopeFirst(scopeOf) },
    async (request) =>
      detailed(found(await reviews.reads.byCorrelation(request.params.correlation_id, scopeOf(request).tenant))),
  );
}

/** An unknown row and another tenant's row get the same answer: 404 with the same body. */
function found<Row>(row: Row | null): Row {
  if (row === null) throw new GateError('not_found');
  return row;
}

function reviewOf(body: z.infer<typeof CreateBody>, named: string | null): NewReview {
  const tenant = body.tenant ?? named;
  if (tenant === null) throw new GateError('tenant_scope_required');
  if (named !== null && named !== tenant) throw new GateError('invalid_request', 'tenant: is not the one of the scope');
  const namespace = stateNamespace.safeParse(body.state_namespace);
  if (!namespace.success) throw new GateError('namespace_required');
  const tier = approvalTier.nullish().safeParse(body.approval_tier);
  if (!tier.success) throw new GateError('unknown_tier');
  const ttl = newReview.shape.ttl_seconds.safeParse(body.ttl_seconds);
  if (!ttl.success) throw new GateError('invalid_ttl');
  if (body.callback_url != null && !isWebAddress(body.callback_url)) throw new GateError('invalid_callback');
  return {
    ...body,
    request_payload: body.request_payload as JsonObject,
    tenant,
    state_namespace: namespace.data,
    approval_tier: tier.data,
    ttl_seconds: ttl.data,
  };
}

/** What the pipeline says of a call, and nobody says of a review that no call asked for. */
const OF_A_CALL = [
  'created_at',
  'attempt_ms',
  'sandbox_report',
  'policy_bundle_sha256',
  'agent_spiffe',
  'executed_by',
  'delegation',
  'callback_url',
] as const satisfies (keyof NewReview)[];

function withoutCall(review: NewReview): NewReview {
  const given = OF_A_CALL.find((field) => review[field] != null);
  if (given) throw new GateError('invalid_request', `${given}: a review without a call has none`);
  if (review.approval_tier === 'auto')
    throw new GateError('invalid_request', 'approval_tier: only policy puts a call into the tier auto');
  return { ...review, correlation_id: review.correlation_id.toLowerCase() };
}

/** The proxy has already checked the address. This only keeps text that is no web address from being shown to approvers. */
const isWebAddress = (text: string): boolean =>
  URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
