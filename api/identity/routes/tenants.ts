import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { tenantName } from '../../../contracts/erasure.js';
import {
  drivenTenantCompletion,
  drivenTenantOperation,
  drivenTenantStep,
  dueTenantOperation,
  idempotencyKey,
  listedTenantOperation,
  tenantFence,
  tenantFenceRequest,
  tenantOperation,
  tenantOperationRequest,
  tenantStepClaimed,
  tenantStepClaimRequest,
  tenantStepCompletion,
} from '../../../contracts/tenant-lifecycle.js';
import { GateError } from '../../../domain/errors.js';
import type { TenantLifecycle } from '../../../domain/identity/tenant-lifecycle.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import type { People, Person } from '../people.js';

export interface TenantParts {
  readonly tenants: TenantLifecycle;
  readonly people: People;
  /** Called when a row waits for the ledger, or a tenant was stopped. */
  readonly onChanged: () => void;
}

const ofTenant = z.strictObject({ tenant: tenantName });
const ofOperation = ofTenant.extend({ operation_id: z.uuid() });
const ofStep = ofOperation.extend({ step_id: z.string().max(63) });
const driven = z.strictObject({ operation_id: z.uuid() });

/** A tenant comes, or goes for good: asked for by its administrator, done step by step (docs/architecture/tenants.md). */
export function tenantRoutes(app: ServiceApp, { tenants, people, onChanged }: TenantParts): void {
  const personFirst = askerFirst(people.administratorOf);
  /** Whoever acts for the tenant of the path. */
  const personIn = (request: FastifyRequest<{ Params: { tenant: string } }>): Person =>
    people.administratorIn(request.params.tenant, request);

  app.post(
    '/tenants/:tenant/lifecycle',
    {
      schema: {
        params: ofTenant,
        body: tenantOperationRequest,
        // 201: begun; 200: begun before, under the same key.
        response: { 200: tenantOperation, 201: tenantOperation },
      },
      onRequest: personFirst,
    },
    async (request, reply) => {
      const { sub: by } = personIn(request);
      const { operation, isNew } = await tenants.begin({
        ...request.body,
        tenant: request.params.tenant,
        idempotencyKey: keyOf(request),
        by,
      });
      onChanged();
      return reply.code(isNew ? 201 : 200).send(operation);
    },
  );
  app.get(
    '/tenants/:tenant/lifecycle',
    {
      schema: { params: ofTenant, response: { 200: z.array(listedTenantOperation) } },
      onRequest: askerFirst(people.readerOf),
    },
    async (request) => {
      const { tenant } = request.params;
      people.assertReads(tenant, request);
      return [...(await tenants.operations(tenant))];
    },
  );
  app.get(
    '/tenants/:tenant/lifecycle/:operation_id',
    { schema: { params: ofOperation, response: { 200: tenantOperation } }, onRequest: askerFirst(people.readerOf) },
    async (request) => {
      const { tenant, operation_id: id } = request.params;
      people.assertReads(tenant, request);
      return tenants.operation(id, tenant);
    },
  );
  app.post(
    '/tenants/:tenant/lifecycle/:operation_id/steps/:step_id/claim',
    {
      schema: { params: ofStep, body: tenantStepClaimRequest, response: { 200: tenantStepClaimed } },
      onRequest: personFirst,
    },
    async (request, reply) => {
      const { sub: by } = personIn(request);
      const { tenant, operation_id: id, step_id: stepId } = request.params;
      const claimed = await tenants.claim(id, { tenant, stepId, owner: request.body.owner, by });
      return reply.header('cache-control', 'no-store').send(claimed);
    },
  );
  app.post(
    '/tenants/:tenant/lifecycle/:operation_id/steps/:step_id/complete',
    {
      schema: { params: ofStep, body: tenantStepCompletion, response: { 200: tenantOperation } },
      onRequest: personFirst,
    },
    async (request) => {
      const { sub: by } = personIn(request);
      const { tenant, operation_id: id, step_id: stepId } = request.params;
      const operation = await tenants.complete(id, { tenant, stepId, by }, request.body);
      onChanged();
      return operation;
    },
  );
  app.post(
    '/tenants/:tenant/lifecycle/:operation_id/steps/:step_id/retry',
    {
      schema: { params: ofStep, body: z.strictObject({}), response: { 200: tenantOperation } },
      onRequest: personFirst,
    },
    async (request) => {
      const { sub: by } = personIn(request);
      const { tenant, operation_id: id, step_id: stepId } = request.params;
      const operation = await tenants.retry(id, { tenant, stepId, by });
      onChanged();
      return operation;
    },
  );
  app.post(
    '/tenants/:tenant/offboard',
    { schema: { params: ofTenant, body: tenantFenceRequest, response: { 200: tenantFence } }, onRequest: personFirst },
    async (request) => {
      const { sub: by } = personIn(request);
      const { tenant } = request.params;
      if (request.body.confirm !== tenant) throw new GateError('confirm_mismatch');
      const id = z.uuid().safeParse(request.headers['x-gate-lifecycle-operation']);
      const leaseToken = request.headers['x-gate-lifecycle-lease'];
      if (!id.success) throw new GateError('not_found');
      if (typeof leaseToken !== 'string') throw new GateError('lease_invalid');
      const { generation, agentsDecommissioned, isBudgetCleared } = await tenants.fence(id.data, {
        tenant,
        leaseToken,
        by,
        reason: request.body.reason,
      });
      onChanged();
      return {
        tenant,
        state: 'offboarded' as const,
        generation,
        agents_decommissioned: agentsDecommissioned,
        budget_cleared: isBudgetCleared,
      };
    },
  );

  // The worker has the steps done that people asked for; it decides nothing.
  app.get('/tenant-operations/due', { schema: { response: { 200: z.array(dueTenantOperation) } } }, async () => [
    ...(await tenants.due()),
  ]);
  app.get(
    '/tenant-operations/:operation_id',
    { schema: { params: driven, response: { 200: drivenTenantOperation } } },
    (request) => tenants.driven(request.params.operation_id),
  );
  app.post(
    '/tenant-operations/:operation_id/claim',
    { schema: { params: driven, body: z.strictObject({}), response: { 200: drivenTenantStep } } },
    async (request, reply) =>
      reply.header('cache-control', 'no-store').send(await tenants.drive(request.params.operation_id)),
  );
  app.post(
    '/tenant-operations/:operation_id/complete',
    { schema: { params: driven, body: drivenTenantCompletion, response: { 200: drivenTenantOperation } } },
    async (request) => {
      const { step_id: stepId, ...said } = request.body;
      const operation = await tenants.drivenComplete(request.params.operation_id, stepId, said);
      onChanged();
      return operation;
    },
  );
}

function keyOf(request: FastifyRequest): string {
  const key = idempotencyKey.safeParse(request.headers['idempotency-key']);
  if (!key.success) throw new GateError('idempotency_key_required');
  return key.data;
}
