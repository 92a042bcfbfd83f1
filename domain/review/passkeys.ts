import { createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import type { ApprovalStatement, AssertionJson, PasskeyApproval, RegistrationJson } from '../../contracts/approval.js';
import type { JsonObject } from '../../contracts/json.js';
import type { DecisionPrincipal, PendingRequest } from '../../contracts/review.js';
import { sha256Hex } from '../crypto/digest.js';
import { errorText, GateError } from '../errors.js';
import { foreignText } from '../text.js';
import { challengeOf } from './approval-challenge.js';
import { passkeyFault } from './passkey-proof.js';

/** Loaded at the first ceremony, because a start does not need them. */
const webauthn = () => import('@simplewebauthn/server');
const helpers = () => import('@simplewebauthn/server/helpers');

/** Which calls are approved only with a passkey. */
export const PASSKEY_REQUIRED = ['none', 'strict', 'all'] as const;
export type PasskeyRequired = (typeof PASSKEY_REQUIRED)[number];

export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/** Passkeys belong to the address where people open the console. */
export function relyingPartyOf(consoleUrl: string): RelyingParty {
  const { hostname, origin } = new URL(consoleUrl);
  return { id: hostname, origin };
}

export interface StoredPasskey {
  readonly credential_id: string;
  readonly tenant: string;
  readonly subject: string;
  /** COSE_Key (RFC 9052), base64url. */
  readonly public_key: string;
  readonly counter: number;
  readonly created_ms: number;
}

/** A registration under way. Of what the browser holds only digests are stored. */
export interface Ceremony {
  readonly id_sha256: string;
  readonly challenge_sha256: string;
  readonly tenant: string;
  readonly subject: string;
  readonly created_ms: number;
  readonly expires_ms: number;
}

export interface PasskeyStore {
  begin(ceremony: Ceremony): Promise<void>;
  /** When this person's registrations began that are still under way. Forgets those whose time is over. */
  begun(tenant: string, subject: string, now: number): Promise<readonly number[]>;
  /** Counts an attempt to finish; `null` where no registration of this person can be finished. */
  attempt(
    idSha256: string,
    of: { readonly tenant: string; readonly subject: string; readonly now: number; readonly most: number },
  ): Promise<Pick<Ceremony, 'challenge_sha256'> | null>;
  /** Ends the registration and stores its passkey, both or neither. False when it was over already; `passkey_known`. */
  complete(idSha256: string, passkey: StoredPasskey): Promise<boolean>;
  /** A person's passkeys. A row that Gate did not write is none. */
  of(tenant: string, subject: string): Promise<readonly StoredPasskey[]>;
  /** Compare-and-set of the counter. */
  used(credentialId: string, from: number, to: number): Promise<boolean>;
}

/** An approver whose other credential was checked. */
export type Approver = Pick<DecisionPrincipal, 'subject' | 'tenant'>;

/** What `navigator.credentials.create` is given, as JSON. */
type CreationOptions = JsonObject & { readonly challenge: string };

export interface Passkeys {
  /** Begins a registration: what the browser is to be asked, and the id that its cookie holds. `rate_limited`, `passkeys_not_set_up`. */
  startRegistration(
    who: Approver,
    displayName?: string,
  ): Promise<{ readonly ceremony: string; readonly publicKey: CreationOptions }>;
  /** Stores the passkey that the browser made. `ceremony_not_found`, `passkey_refused` (it may be tried again), `passkey_known`. */
  finishRegistration(ceremony: string, who: Approver, made: RegistrationJson): Promise<string>;
  /** What the browser is to be asked for a decision's signature. */
  requestFor(who: Approver, statement: ApprovalStatement): Promise<JsonObject>;
  /** The proof that one of the approver's passkeys signed the statement. `passkey_refused` with the reason. */
  prove(who: Approver, statement: ApprovalStatement, assertion: AssertionJson): Promise<PasskeyApproval>;
  required(row: Pick<PendingRequest, 'approval_tier'>): boolean;
}

export interface PasskeysOptions {
  readonly store: PasskeyStore;
  /** `null` where no console is set. */
  readonly relyingParty: RelyingParty | null;
  readonly required: PasskeyRequired;
  readonly clock: () => number;
}

/** How long a registration may take, how often it may be tried, and how many one person may begin. */
export const CEREMONY = { lifeMs: 300_000, attempts: 10, windowMs: 60_000, starts: 5, open: 8 } as const;

/** ES256, EdDSA, RS256. */
const ALGORITHMS = [-7, -8, -257];

/** The approvers' passkeys (docs/how-to/set-up-passkeys.md). */
export function createPasskeys({ store, relyingParty, required, clock }: PasskeysOptions): Passkeys {
  function party(): RelyingParty {
    if (relyingParty === null) throw new GateError('passkeys_not_set_up');
    return relyingParty;
  }

  /** An operator's token registers the first passkey only: who has stolen it must not get one beside that of its owner. */
  async function refuseSecond({ tenant, subject }: Approver): Promise<void> {
    if ((await store.of(tenant, subject)).length > 0) throw new GateError('passkey_session_required');
  }

  return {
    async startRegistration({ tenant, subject }, displayName) {
      const rp = party();
      const now = clock();
      const begun = await store.begun(tenant, subject, now);
      const recent = begun.filter((ms) => ms > now - CEREMONY.windowMs);
      if (recent.length >= CEREMONY.starts || begun.length >= CEREMONY.open) {
        const [held, life] = begun.length >= CEREMONY.open ? [begun, CEREMONY.lifeMs] : [recent, CEREMONY.windowMs];
        const retry_after_secs = Math.max(1, Math.ceil((Math.min(...held) + life - now) / 1000));
        throw new GateError('rate_limited', undefined, { fields: { retry_after_secs } });
      }
      await refuseSecond({ tenant, subject });
      const { generateRegistrationOptions } = await webauthn();
      const challenge = randomBytes(32);
      const publicKey = await generateRegistrationOptions({
        rpName: 'Gate',
        rpID: rp.id,
        userName: `${subject}@${tenant}`,
        ...(displayName !== undefined && { userDisplayName: displayName }),
        challenge: new Uint8Array(challenge),
        timeout: CEREMONY.lifeMs,
        attestationType: 'none',
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        supportedAlgorithmIDs: ALGORITHMS,
      });
      const ceremony = randomUUID();
      await store.begin({
        id_sha256: sha256Hex(ceremony),
        challenge_sha256: sha256Hex(challenge.toString('base64url')),
        tenant,
        subject,
        created_ms: now,
        expires_ms: now + CEREMONY.lifeMs,
      });
      return { ceremony, publicKey: { ...asJson(publicKey), challenge: publicKey.challenge } };
    },

    async finishRegistration(ceremony, { tenant, subject }, made) {
      const rp = party();
      const now = clock();
      const id = sha256Hex(ceremony);
      const begun = await store.attempt(id, { tenant, subject, now, most: CEREMONY.attempts });
      if (begun === null) throw new GateError('ceremony_not_found');
      await refuseSecond({ tenant, subject });
      const { verifyRegistrationResponse } = await webauthn();
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response: { ...made, clientExtensionResults: {} },
        expectedChallenge: (challenge) => sha256Hex(challenge) === begun.challenge_sha256,
        expectedOrigin: rp.origin,
        expectedRPID: rp.id,
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      }).catch(refusedWith);
      if (!verified) throw new GateError('passkey_refused', 'the attestation does not hold');
      const { id: credential_id, publicKey, counter } = registrationInfo.credential;
      await spkiOf(publicKey);
      const passkey = {
        credential_id,
        tenant,
        subject,
        public_key: Buffer.from(publicKey).toString('base64url'),
        counter,
        created_ms: now,
      };
      if (!(await store.complete(id, passkey))) throw new GateError('ceremony_not_found');
      return credential_id;
    },

    async requestFor({ tenant, subject }, statement) {
      const rp = party();
      const known = await store.of(tenant, subject);
      if (known.length === 0) throw new GateError('passkey_refused', 'no passkey of this approver is registered');
      return {
        challenge: challengeOf(statement),
        rpId: rp.id,
        timeout: CEREMONY.lifeMs,
        userVerification: 'required',
        allowCredentials: known.map(({ credential_id }) => ({ id: credential_id, type: 'public-key' })),
      };
    },

    async prove({ tenant, subject }, statement, assertion) {
      const rp = party();
      const passkey = (await store.of(tenant, subject)).find(({ credential_id }) => credential_id === assertion.id);
      if (!passkey) throw new GateError('passkey_refused', 'the passkey is not one of the approver');
      const { credential_id, counter } = passkey;
      const cose = new Uint8Array(Buffer.from(passkey.public_key, 'base64url'));
      const { verifyAuthenticationResponse } = await webauthn();
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: { ...assertion, clientExtensionResults: {} },
        expectedChallenge: challengeOf(statement),
        expectedOrigin: rp.origin,
        expectedRPID: rp.id,
        credential: { id: credential_id, publicKey: cose, counter },
        requireUserVerification: true,
      }).catch(refusedWith);
      if (!verified) throw new GateError('passkey_refused', 'the signature does not hold');
      const approval: PasskeyApproval = {
        statement,
        passkey: {
          credential_id,
          public_key: await spkiOf(cose),
          rp_id: rp.id,
          authenticator_data: assertion.response.authenticatorData,
          client_data_json: assertion.response.clientDataJSON,
          signature: assertion.response.signature,
        },
      };
      // What the workflow, and whoever reads the ledger, will check; known now rather than then.
      const fault = passkeyFault(approval);
      if (fault !== null) throw new GateError('passkey_refused', fault);
      // Of two uses of one counter, at least one is by a copy of the passkey.
      if (!(await store.used(credential_id, counter, authenticationInfo.newCounter)))
        throw new GateError('passkey_refused', 'the passkey was used at the same time elsewhere');
      return approval;
    },

    required: ({ approval_tier }) => required === 'all' || (required === 'strict' && approval_tier === 'strict'),
  };
}

const refusedWith = (cause: unknown): never => {
  throw new GateError('passkey_refused', foreignText(errorText(cause), 300), { cause });
};

const asJson = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;

/** The same key as SubjectPublicKeyInfo, which every tool reads. */
async function spkiOf(coseKey: Uint8Array<ArrayBuffer>): Promise<string> {
  const { decodeCredentialPublicKey, cose } = await helpers();
  const key = decodeCredentialPublicKey(coseKey);
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('base64url');
  const jwk = cose.isCOSEPublicKeyEC2(key)
    ? { kty: 'EC', crv: 'P-256', x: text(key.get(cose.COSEKEYS.x)), y: text(key.get(cose.COSEKEYS.y)) }
    : cose.isCOSEPublicKeyRSA(key)
      ? { kty: 'RSA', n: text(key.get(cose.COSEKEYS.n)), e: text(key.get(cose.COSEKEYS.e)) }
      : cose.isCOSEPublicKeyOKP(key)
        ? { kty: 'OKP', crv: 'Ed25519', x: text(key.get(cose.COSEKEYS.x)) }
        : null;
  if (jwk === null) throw new GateError('passkey_refused', 'the passkey has a key of another kind');
  try {
    return createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'der', type: 'spki' }).toString('base64url');
  } catch (error) {
    return refusedWith(error);
  }
}
