import { z } from 'zod';
import {
  appliedPolicies,
  applyPolicies,
  changedCategory,
  changePolicyState,
  createPolicy,
  deletePolicy,
  MAX_POLICY_BYTES,
  mutatedPolicy,
  policyReason,
  rollbackPolicy,
  updatePolicy,
} from '../../../contracts/policy-library.js';
import { storableString } from '../../../contracts/storable.js';
import { EVERYBODY } from '../../../domain/policy/library-ports.js';
import type { PolicyLibrary } from '../../../domain/policy/library.js';
import type { ServiceApp } from '../../plugins/app.js';
import { managedBy, type PolicyManagement } from '../management.js';
import { byName, nameInPath, ofTenant, versionNumber } from './policies.js';

/** A text of the largest size, with every character escaped. */
export const POLICY_BODY_LIMIT = 6 * MAX_POLICY_BYTES + 16_384;
/** A folder of policies. */
const FOLDER_BODY_LIMIT = 64 * 1_048_576;

/** What changes policies. Each change is a new version, and is in force here when it is answered. */
export function policyChangeRoutes(app: ServiceApp, management: PolicyManagement | null): void {
  const library = (): PolicyLibrary => managedBy(management).library;
  const answers = { 200: mutatedPolicy };
  app.post(
    '/policies',
    {
      bodyLimit: POLICY_BODY_LIMIT,
      schema: { querystring: ofTenant, body: createPolicy, response: { 201: mutatedPolicy } },
    },
    async ({ query: { tenant = EVERYBODY }, body }, reply) =>
      reply.code(201).send(await library().create(tenant, body)),
  );
  app.put(
    '/policies/:name',
    {
      bodyLimit: POLICY_BODY_LIMIT,
      schema: { params: byName, querystring: ofTenant, body: updatePolicy, response: answers },
    },
    ({ params: { name }, query: { tenant = EVERYBODY }, body }) => library().update(tenant, name, body),
  );
  const change = { params: byName, querystring: ofTenant, body: changePolicyState, response: answers };
  app.post('/policies/:name/activate', { schema: change }, ({ params, query: { tenant = EVERYBODY }, body }) =>
    library().activate(tenant, params.name, body),
  );
  app.post('/policies/:name/deactivate', { schema: change }, ({ params, query: { tenant = EVERYBODY }, body }) =>
    library().deactivate(tenant, params.name, body),
  );
  app.delete(
    '/policies/:name',
    { schema: { ...change, body: deletePolicy } },
    ({ params, query: { tenant = EVERYBODY }, body }) => library().remove(tenant, params.name, body),
  );
  app.post(
    '/policies/:name/rollback/:version',
    {
      schema: {
        params: z.strictObject({ name: nameInPath, version: versionNumber }),
        querystring: ofTenant,
        body: rollbackPolicy,
        response: answers,
      },
    },
    ({ params: { name, version }, query: { tenant = EVERYBODY }, body }) =>
      library().rollback(tenant, name, version, body),
  );
  app.post(
    '/policies/apply',
    {
      bodyLimit: FOLDER_BODY_LIMIT,
      schema: { querystring: ofTenant, body: applyPolicies, response: { 200: appliedPolicies } },
    },
    ({ query: { tenant = EVERYBODY }, body }) => library().apply(tenant, body),
  );
  const ofCategory = {
    params: z.strictObject({ domain: storableString(1, 128) }),
    querystring: ofTenant,
    body: policyReason,
    response: { 200: changedCategory },
  };
  app.post(
    '/policies/categories/:domain/activate',
    { schema: ofCategory },
    ({ params, query: { tenant = EVERYBODY }, body }) => library().setCategory(tenant, params.domain, true, body),
  );
  app.post(
    '/policies/categories/:domain/deactivate',
    { schema: ofCategory },
    ({ params, query: { tenant = EVERYBODY }, body }) => library().setCategory(tenant, params.domain, false, body),
  );
}
