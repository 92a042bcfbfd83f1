import { createHash, type KeyObject, verify } from 'node:crypto';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { canonicalJson } from '../../crypto/digest.js';
import { GENESIS_HASH } from '../entry-hash.js';

/**
 * The fields that a row's signature covers (docs/architecture/ledger-rows.md#signatures). The position in the chain is not among them,
 * because only the ledger knows it.
 */
export const SIGNED_FIELDS = [
  'id',
  'timestamp',
  'agent_id',
  'agent_spiffe',
  'method',
  'intent_category',
  'authorized',
  'reasoning',
  'policy_decision',
  'correlation_id',
  'event_kind',
  'tenant',
  'agent_name',
  'actor_sub',
  'actor_idp',
  'payload_sha256',
  'brain_evidence_sha256',
  'tool_params_sha256',
  'tool_name',
  'state_namespace',
] as const;
export type SignedFields = { readonly [Field in (typeof SIGNED_FIELDS)[number]]: Json };

/** The signed fields of a row, from columns as the chain stores them. Throws when `policy_decision` is not JSON. */
export function signedFields(column: (field: keyof SignedFields) => string | number | null): SignedFields {
  const fields: Record<string, Json> = {};
  for (const field of SIGNED_FIELDS) fields[field] = column(field);
  fields['authorized'] = Number(fields['authorized']) === 1;
  const decision = column('policy_decision');
  fields['policy_decision'] = decision === null ? null : (JSON.parse(String(decision)) as Json);
  return fields as SignedFields;
}

/**
 * The 32 bytes that are signed: SHA-256 over the genesis hash, one `|` and the RFC 8785 JSON of the signed fields. Absent fields are null,
 * and `policy_decision.forensic_identity` is left out because the ledger adds it. The same row gives the same bytes in every release.
 */
export function signedDigest(row: SignedFields): Buffer {
  const fields: JsonObject = {};
  for (const field of SIGNED_FIELDS) fields[field] = row[field];
  const decision = row.policy_decision;
  if (decision !== null && typeof decision === 'object' && !Array.isArray(decision)) {
    const { forensic_identity: _, ...said } = decision;
    fields['policy_decision'] = said;
  }
  return createHash('sha256')
    .update(`${GENESIS_HASH}|${canonicalJson(fields)}`)
    .digest();
}

/** `null` when the Ed25519 signature (base64) verifies. */
export function signatureFault(
  row: SignedFields,
  signature: string,
  key: KeyObject,
): 'signature_malformed' | 'signature_forged' | null {
  const bytes = Buffer.from(signature, 'base64');
  if (bytes.length !== 64 || bytes.toString('base64') !== signature) return 'signature_malformed';
  return verify(null, signedDigest(row), key, bytes) ? null : 'signature_forged';
}
