import { z } from 'zod';
import { DECISION_CONTRACT } from '../../../contracts/call.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import type { CallStore } from '../../../domain/call-record/call-store.js';
import type { CallRecord, StagedRequest } from '../../../domain/call-record/record.js';
import { canonicalDigest, canonicalJson, sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import type { Signer } from '../../../domain/identity/signer.js';
import type { ServiceApp } from '../../plugins/service.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import { agentOf, idOf } from './mcp.js';

const UNKNOWN = 'no authorization under this id';

/** The signed word that a host may execute its call: `gate.execution/v1`, stage `authorization` (proxy sheet 8, DESIGN section 7). */
export function registerAuthorizations(
  app: ServiceApp,
  { calls, signer, limits }: { calls: CallStore; signer: Signer; limits: AgentLimitsCheck },
): void {
  app.get(
    '/authorizations/:correlation_id',
    { schema: { params: z.object({ correlation_id: z.string() }) } },
    async (request): Promise<JsonObject> => {
      const caller = agentOf(request);
      const asked = { caller, correlationId: request.correlationId, name: 'GET /authorizations' };
      await limits.replay(asked);
      const record = await calls.find(idOf(request.params.correlation_id, UNKNOWN));
      const call = record?.evidence.call;
      const mine = call !== undefined && call.tenant === caller.tenant && call.agent === caller.agent;
      if (
        !mine ||
        call.contract !== DECISION_CONTRACT ||
        (record?.state !== 'allowed' && record?.state !== 'approved')
      ) {
        throw new GateError('not_found', UNKNOWN);
      }
      const staged = await calls.request(record.correlation_id, record.digest);
      if (!staged) throw new GateError('not_found', 'the request of this authorization is past its retention');
      request.correlationId = record.correlation_id;
      const authorization = authorizationOf(record, staged);
      const text = await limits.retained(asked, () => Promise.resolve(Buffer.from(canonicalJson(authorization))));
      return { authorization, identity_signature: { ...signer.sign(text.toString('utf8')) } };
    },
  );
}

/** A function of the record alone: the same authorization, byte for byte, at every request. */
function authorizationOf({ correlation_id, evidence, decision }: CallRecord, { body }: StagedRequest): JsonObject {
  const { call, inspection } = evidence;
  const principal = decision?.principal;
  return {
    contract: 'gate.execution/v1',
    stage: 'authorization',
    authorization_id: uuidFromDigest('gate.authorization', correlation_id),
    idempotency_id: call.idempotency_id,
    correlation_id,
    agent_id: call.agent,
    agent_spiffe: call.agent_spiffe,
    tenant: call.tenant,
    credential_fingerprint: `sha256:${call.credential_fingerprint}`,
    method: call.method,
    tool_name: call.tool,
    execution_payload: body,
    payload_sha256: canonicalDigest(body),
    decision_principal: principal
      ? {
          subject: principal.subject,
          tenant: principal.tenant,
          method: principal.method,
          credential: principal.credential,
        }
      : { subject: 'system:policy-brain', tenant: call.tenant, method: 'policy-brain', credential: null },
    policy_bundle: (evidence.decision?.policy_bundle ?? null) as Json,
    brain_version: inspection?.evidence.brain_version ?? null,
    brain_evidence_sha256: inspection
      ? `sha256:${sha256Hex(canonicalJson(JSON.parse(JSON.stringify(inspection.evidence)) as Json))}`
      : null,
  };
}
