import { type KeyObject, verify } from 'node:crypto';
import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalDigest, canonicalJson, uuidFromDigest } from '../crypto/digest.js';
import type { Signature } from '../identity/signer.js';
import { type CallRecord, type StagedRequest, takenMs } from './record.js';
import { APPROVED_CLAIM_LIMIT_MS } from './transitions.js';

/**
 * The period in which a decision may be acted upon, in epoch milliseconds: as long as Gate allows its own calls to begin after an approval.
 * A host that learns of it later must ask again.
 */
export function authorizedFor({ decision, created_ms }: CallRecord): {
  readonly iatMs: number;
  readonly expMs: number;
} {
  const iatMs = decision ? takenMs(decision) : created_ms;
  return { iatMs, expMs: iatMs + APPROVED_CLAIM_LIMIT_MS };
}

const seconds = (ms: number): number => Math.floor(ms / 1000);

/**
 * The statement that a host may execute its call: `gate.execution/v1`, stage `authorization`. A function of the record alone, so that every
 * request gets the same bytes. `iat` and `exp` are seconds since the epoch, as in RFC 7519.
 */
export function authorizationOf(record: CallRecord, { body }: StagedRequest): JsonObject {
  const { correlation_id, evidence, decision } = record;
  const { call, inspection } = evidence;
  const principal = decision?.principal;
  const { iatMs, expMs } = authorizedFor(record);
  return {
    contract: 'gate.execution/v1',
    stage: 'authorization',
    iat: seconds(iatMs),
    exp: seconds(expMs),
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
    brain_evidence_sha256: inspection ? canonicalDigest(JSON.parse(JSON.stringify(inspection.evidence)) as Json) : null,
  };
}

export type AuthorizationFault =
  | 'signature_invalid'
  | 'not_an_authorization'
  | 'not_yet_valid'
  | 'expired'
  | 'other_request';

/** How much the clocks of two machines may differ. */
const SKEW_SECS = 5;

/**
 * What a host checks right before it executes (docs/how-to/select-a-contract.md): Gate's key signed exactly this, it is valid now, and the
 * request is the one that it was issued for. `null` when all of it holds.
 */
export function authorizationFault(
  signed: { readonly authorization: JsonObject; readonly identity_signature: Signature },
  request: JsonObject,
  publicKey: KeyObject,
  nowMs: number,
): AuthorizationFault | null {
  const { authorization, identity_signature: signature } = signed;
  const bytes = Buffer.from(canonicalJson(authorization), 'utf8');
  if (signature.algorithm !== 'Ed25519' || publicKey.asymmetricKeyType !== 'ed25519') return 'signature_invalid';
  if (!verify(null, bytes, publicKey, Buffer.from(signature.value, 'base64'))) return 'signature_invalid';
  const { contract, stage, iat, exp, payload_sha256: digest } = authorization;
  if (contract !== 'gate.execution/v1' || stage !== 'authorization') return 'not_an_authorization';
  if (typeof iat !== 'number' || typeof exp !== 'number') return 'not_an_authorization';
  if (seconds(nowMs) < iat - SKEW_SECS) return 'not_yet_valid';
  if (seconds(nowMs) >= exp) return 'expired';
  return digest === canonicalDigest(request) ? null : 'other_request';
}
