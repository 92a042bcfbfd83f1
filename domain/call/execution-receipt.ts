import { createPublicKey, type KeyObject, verify, type X509Certificate } from 'node:crypto';
import type { ExecutionReceipt } from '../../contracts/execution-receipt.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { canonicalJson, digestOf } from '../crypto/digest.js';
import type { PublicJwk, Signature } from '../identity/signer.js';
import { fittingRow } from '../ledger/fitting-row.js';
import type { CallRecord } from './record.js';
import { ledgerRowId } from './rows.js';

/** What a receipt repeats of its authorization. */
const REPEATED = [
  'authorization_id',
  'idempotency_id',
  'correlation_id',
  'agent_id',
  'agent_spiffe',
  'tenant',
  'credential_fingerprint',
  'method',
  'tool_name',
  'payload_sha256',
] as const;

export type ReceiptFault = 'authorization_forged' | 'other_authorization' | 'other_credential' | 'signature_invalid';

/** Who delivers a receipt: the certificate of its connection. */
export interface ReceiptBearer {
  readonly fingerprint: string;
  readonly certificate: Pick<X509Certificate, 'publicKey'>;
}

const canonical = (value: unknown): string => canonicalJson(value as Json);

/**
 * Why a receipt is not to be recorded; `null` where it is. Gate's own signature, by one of `keys`, must hold over the authorization in it, which must
 * be of this call; the host must be the one it was given to, with the same certificate, whose key signed the whole.
 */
export function receiptFault(
  receipt: ExecutionReceipt,
  { evidence: { call } }: CallRecord,
  { bearer, keys }: { readonly bearer: ReceiptBearer; readonly keys: readonly PublicJwk[] },
): ReceiptFault | null {
  const { authorization, identity_signature: signature } = receipt.authorization;
  const key = keys.find(({ kid }) => kid === signature.key_id);
  if (!key) return 'authorization_forged';
  const gate = createPublicKey({ key: { ...key }, format: 'jwk' });
  if (!verify(null, Buffer.from(canonical(authorization)), gate, bytesOf(signature))) return 'authorization_forged';
  if (authorization['stage'] !== 'authorization' || authorization['correlation_id'] !== call.correlation_id)
    return 'other_authorization';
  if (REPEATED.some((name) => authorization[name] !== receipt[name])) return 'other_authorization';
  const fingerprint = `sha256:${bearer.fingerprint}`;
  if (
    fingerprint !== receipt.credential_fingerprint ||
    fingerprint !== receipt.workload_signature.credential_fingerprint
  )
    return 'other_credential';
  return isSignedBy(receipt, bearer.certificate.publicKey) ? null : 'signature_invalid';
}

const bytesOf = ({ value }: Pick<Signature, 'value'>): Buffer => Buffer.from(value, 'base64');

/** ES256 (RFC 7518 3.4) over the RFC 8785 form of the receipt without its signature. */
function isSignedBy({ workload_signature: { value }, ...rest }: ExecutionReceipt, key: KeyObject): boolean {
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return false;
  const signature = Buffer.from(value, 'base64url');
  return verify('sha256', Buffer.from(canonical(rest)), { key, dsaEncoding: 'ieee-p1363' }, signature);
}

export const receiptText = (receipt: ExecutionReceipt): string => canonical(receipt);

/** The row of a receipt: one per call, so the same receipt is recorded once, however often it is delivered. */
export function receiptRow(receipt: ExecutionReceipt, { evidence }: CallRecord, counter: Signature): NewLedgerRow {
  const { call, verdict, params_sha256 } = evidence;
  const said: JsonObject = {
    contract: receipt.contract,
    stage: receipt.stage,
    authorization_id: receipt.authorization_id,
    idempotency_id: receipt.idempotency_id,
    payload_sha256: receipt.payload_sha256,
    result_sha256: receipt.result_sha256,
    effect_id: receipt.effect_id,
    receipt_sha256: digestOf(receiptText(receipt)),
    workload_signature: receipt.workload_signature,
    identity_signature: { ...counter },
  };
  return fittingRow({
    id: ledgerRowId(call.correlation_id, 'execution.completed'),
    agent_id: call.agent,
    method: 'execution.completed',
    event_kind: 'execution.completed',
    intent_category: verdict?.intent_category ?? 'Direct Execution',
    authorized: true,
    reasoning: 'the host says, signed, that it executed the call',
    policy_decision: said,
    state_namespace: call.state_namespace ?? 'operator',
    correlation_id: call.correlation_id,
    agent_spiffe: call.agent_spiffe,
    tenant: call.tenant,
    agent_kind: 'mcp',
    tool_params_sha256: params_sha256,
    credential_fingerprint: call.credential_fingerprint,
    tool_name: call.tool,
  });
}
