import { isEd25519, isP256 } from '../crypto/spki.js';
import { type AsymmetricKeyDetails, createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import type { PasskeyApproval } from '../../contracts/approval.js';
import type { SignedDecision } from '../../contracts/review.js';
import { challengeOf } from './approval-challenge.js';

const clientData = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.url(),
  crossOrigin: z.boolean().optional(),
});

/** Bytes before the extensions: the hash of the relying party's id, flags, counter (WebAuthn, 6.1). */
const AUTHENTICATOR_DATA = { flags: 32, counter: 33, length: 37 } as const;
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url');

/**
 * Why the passkey's signature does not prove the statement; `null` when it does. Needs nothing but its argument, so that whoever has a ledger
 * row can check it. Whether the key is the approver's, and the counter grew, is not known here.
 */
export function passkeyFault({ statement, passkey }: PasskeyApproval): string | null {
  const raw = bytesOf(passkey.client_data_json);
  const said = readClientData(raw);
  if (said === null) return 'the client data cannot be read';
  if (said.type !== 'webauthn.get') return 'the client data is not of an assertion';
  if (said.challenge !== challengeOf(statement))
    return 'the passkey signed another challenge than that of the statement';
  if (said.crossOrigin === true) return 'the assertion was made inside a page of another origin';
  if (!belongsTo(new URL(said.origin).hostname, passkey.rp_id))
    return `the origin ${said.origin} is not of the relying party`;
  const data = bytesOf(passkey.authenticator_data);
  if (data.length < AUTHENTICATOR_DATA.length) return 'the authenticator data is too short';
  if (!data.subarray(0, AUTHENTICATOR_DATA.flags).equals(hash('sha256', passkey.rp_id, 'buffer')))
    return 'the assertion is for another relying party';
  const flags = data.readUInt8(AUTHENTICATOR_DATA.flags);
  if ((flags & USER_PRESENT) === 0) return 'nobody was present';
  if ((flags & USER_VERIFIED) === 0) return 'the person was not verified';
  const key = readKey(passkey.public_key);
  if (key === null) return 'the public key is not one that Gate accepts';
  const signed = Buffer.concat([data, hash('sha256', raw, 'buffer')]);
  const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  return verify(digest, signed, key, bytesOf(passkey.signature)) ? null : 'the signature does not hold';
}

/** Why a decision and the approval in it do not say the same; `null` when they do, and when there is none. */
export function approvalMismatch({ approval, ...decision }: SignedDecision): string | null {
  if (approval === undefined) return null;
  const { statement } = approval;
  const same =
    statement.decision === decision.decision &&
    statement.pending_id === decision.pending_id &&
    statement.correlation_id === decision.correlation_id &&
    statement.tenant === decision.principal.tenant &&
    statement.approver === decision.principal.subject &&
    statement.payload_digest === (decision.modification?.reviewed_digest ?? decision.action_digest);
  return same ? passkeyFault(approval) : "the approver's passkey signed another decision than this one";
}

/** What the client and the authenticator said beside the challenge. Of an approval that holds. */
export function circumstancesOf({ passkey }: PasskeyApproval): { origin: string; counter: number } {
  return {
    origin: readClientData(bytesOf(passkey.client_data_json))?.origin ?? '',
    counter: bytesOf(passkey.authenticator_data).readUInt32BE(AUTHENTICATOR_DATA.counter),
  };
}

function readClientData(raw: Buffer): z.infer<typeof clientData> | null {
  try {
    return clientData.parse(JSON.parse(raw.toString('utf8')));
  } catch {
    return null;
  }
}

const belongsTo = (host: string, rpId: string): boolean => host === rpId || host.endsWith(`.${rpId}`);

/**
 * The key in the one encoding that every spelling of it has (SubjectPublicKeyInfo, DER): Node keeps a compressed point compressed, so it goes
 * through its numbers. `null` for bytes that are no key Gate accepts.
 */
export function usualKey(spki: Uint8Array): Buffer | null {
  const key = readKey(Buffer.from(spki).toString('base64url'));
  if (key === null) return null;
  return createPublicKey({ key: key.export({ format: 'jwk' }), format: 'jwk' }).export({ format: 'der', type: 'spki' });
}

const MODULUS_BITS = { least: 2_048, most: 4_096 } as const;
/** An exponent of 1 would let anybody sign. */
const isRsa = ({ modulusLength: bits = 0, publicExponent: e = 0n }: AsymmetricKeyDetails): boolean =>
  bits >= MODULUS_BITS.least && bits <= MODULUS_BITS.most && e >= 3n && e < 1n << 64n && e % 2n === 1n;

/** ES256, EdDSA (Ed25519) or RS256. */
function readKey(spki: string): KeyObject | null {
  try {
    const bytes = bytesOf(spki);
    const key = createPublicKey({ key: bytes, format: 'der', type: 'spki' });
    if (key.asymmetricKeyType === 'ec') return isP256(bytes) ? key : null;
    const isKnown = isEd25519(bytes) || (key.asymmetricKeyType === 'rsa' && isRsa(key.asymmetricKeyDetails ?? {}));
    return isKnown ? key : null;
  } catch {
    return null;
  }
}
