import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { Json } from '../../contracts/json.js';
import {
  type DecisionPrincipal,
  type PendingRequest,
  signedDecision,
  type SignedDecision,
} from '../../contracts/review.js';
import { canonicalJson } from '../crypto/digest.js';

/** Loaded at the first decision, because a start does not need it. */
const jose = () => import('jose');

export type UnsignedDecision = Omit<SignedDecision, 'signature'>;

const unsignedDecision = signedDecision.omit({ signature: true });

/** The only allowed algorithm: EdDSA with Ed25519 (RFC 8037). */
const ALGORITHM = 'EdDSA';
/** Keeps other things signed with the same key from passing for a decision (RFC 7515, 4.1.9). */
const TYPE = 'gate.hil-decision+jws';

/** Why a decision does not count as HIL's. */
export type SignatureFault =
  | 'malformed'
  | 'algorithm_not_allowed'
  | 'type_not_allowed'
  | 'signature_invalid'
  | 'fields_differ';

/** Reads the PEM text of `keys/hil-decision.key`. Throws when it is not an Ed25519 private key. */
export const readDecisionKey = (pem: string): KeyObject => ed25519(createPrivateKey(pem));

/** Reads the PEM text of `keys/hil-decision.pub`. Throws when it is not an Ed25519 public key. */
export const readDecisionPublicKey = (pem: string): KeyObject => ed25519(createPublicKey(pem));

function ed25519(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('a decision key is an Ed25519 key');
  return key;
}

/** The signed bytes: the canonical JSON (RFC 8785) of every field but the signature. Throws on a lone surrogate. */
function signedBytes(decision: UnsignedDecision | SignedDecision): Buffer {
  const { signature: _, ...fields } = { signature: '', ...decision };
  return Buffer.from(canonicalJson(fields as Json), 'utf8');
}

/**
 * Signs a decision for its workflow (docs/architecture/reviews.md#signed-decisions): compact JWS, EdDSA, over all fields. Ed25519 is
 * deterministic, so the same decision has the same signature. Throws on a decision that does not match the contract's shape.
 */
export async function signDecision(unsigned: UnsignedDecision, privateKey: KeyObject): Promise<SignedDecision> {
  const fields = unsignedDecision.parse(unsigned);
  const { CompactSign } = await jose();
  const signature = await new CompactSign(signedBytes(fields))
    .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
    .sign(ed25519(privateKey));
  return { ...fields, signature };
}

/** The same decision, signed for so much longer. */
export const signedAgain = (
  decision: SignedDecision,
  { key, laterMs }: { readonly key: KeyObject; readonly laterMs: number },
): Promise<SignedDecision> => {
  const { signature: _, ...unsigned } = decision;
  return signDecision(
    { ...unsigned, not_after: new Date(Date.parse(unsigned.not_after) + laterMs).toISOString() },
    key,
  );
};

/** What HIL decides about a row, apart from what follows from the row and the clock. */
export type Deciding = Omit<
  UnsignedDecision,
  'pending_id' | 'correlation_id' | 'action_digest' | 'decided_at' | 'not_after'
>;

/** The decision about a row, signed at `now` and valid for `lifeMs`. */
export const signedAbout = (
  row: Pick<PendingRequest, 'id' | 'correlation_id' | 'original_payload_digest'>,
  deciding: Deciding,
  { key, now, lifeMs }: { readonly key: KeyObject; readonly now: number; readonly lifeMs: number },
): Promise<SignedDecision> =>
  signDecision(
    {
      pending_id: row.id,
      correlation_id: row.correlation_id,
      action_digest: row.original_payload_digest,
      decided_at: new Date(now).toISOString(),
      not_after: new Date(now + lifeMs).toISOString(),
      ...deciding,
    },
    key,
  );

/** The decider where Gate itself decides, and by what. */
export const ownPrincipal = (subject: string, tenant: string, credential: string): DecisionPrincipal => ({
  subject,
  tenant,
  method: 'system',
  credential,
  credential_kind: null,
});

/**
 * Whether HIL's key signed exactly these fields; `fault` says why not. Only the signature is checked: the workflow, which has the clock and
 * the row, compares `not_after`, the row and its digest. Throws only when `publicKey` is not an Ed25519 key.
 */
export async function verifyDecision(
  signed: SignedDecision,
  publicKey: KeyObject,
): Promise<{ readonly valid: true } | { readonly valid: false; readonly fault: SignatureFault }> {
  const key = ed25519(publicKey);
  if (!signedDecision.safeParse(signed).success) return { valid: false, fault: 'malformed' };
  const { compactVerify, errors } = await jose();
  try {
    const expected = signedBytes(signed);
    const { payload, protectedHeader } = await compactVerify(signed.signature, key, { algorithms: [ALGORITHM] });
    if (protectedHeader.typ !== TYPE) return { valid: false, fault: 'type_not_allowed' };
    return expected.equals(payload) ? { valid: true } : { valid: false, fault: 'fields_differ' };
  } catch (error) {
    if (error instanceof errors.JOSEAlgNotAllowed) return { valid: false, fault: 'algorithm_not_allowed' };
    if (error instanceof errors.JWSSignatureVerificationFailed) return { valid: false, fault: 'signature_invalid' };
    // Not a compact JWS, an unknown critical header, or text without a canonical form; nobody signed any of these.
    return { valid: false, fault: 'malformed' };
  }
}

/** A verifier for workers: it resolves when the signature verifies, and throws the fault when it does not. */
export function decisionVerifierFor(publicKey: KeyObject): (decision: SignedDecision) => Promise<void> {
  return async (decision) => {
    const verdict = await verifyDecision(decision, publicKey);
    if (!verdict.valid) throw new Error(`the decision's signature does not hold: ${verdict.fault}`);
  };
}
