import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type {
  ApprovalStatement,
  AssertionJson,
  PasskeyApproval,
  PasskeyRole,
  RegistrationJson,
} from '../../contracts/approval.js';
import type { JsonObject } from '../../contracts/json.js';
import type { PendingRequest } from '../../contracts/review.js';
import { sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { challengeOf } from './approval-challenge.js';
import { CEREMONY, createCeremonies, OPEN_LOGINS } from './passkey-ceremonies.js';
import { ALGORITHMS, refuseAttestation, refusedWith, spkiOf } from './passkey-keys.js';
import { isPasskeyPerson, type PasskeyHolder } from './passkey-people.js';
import { passkeyFault } from './passkey-proof.js';
import { everybodySigns, holdersSign, type PasskeyRequired } from './passkey-required.js';
import { createPasskeySessions, type PasskeySession, SESSION_LIFE_MS } from './passkey-session.js';
import type { Approver, PasskeyStore, StoredPasskey } from './passkey-store.js';

/** Loaded at the first ceremony, because a start does not need it. */
const webauthn = () => import('@simplewebauthn/server');

export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/** Passkeys belong to the address where people open the console. */
export function relyingPartyOf(consoleUrl: string): RelyingParty {
  const { hostname, origin } = new URL(consoleUrl);
  return { id: hostname, origin };
}

/** What `navigator.credentials.create` is given, as JSON. */
type CreationOptions = JsonObject & { readonly challenge: string };

export interface Passkeys {
  /**
   * Begins a registration: what the browser is to be asked, and the id that its cookie holds. Whoever has a passkey needs the session of one,
   * or a token of recovery. `rate_limited`, `passkeys_not_set_up`, `passkey_session_required`, `recovery_refused`.
   */
  startRegistration(
    who: Approver,
    by?: {
      readonly displayName?: string | undefined;
      readonly session?: string | null;
      readonly recovery?: string | undefined;
    },
  ): Promise<{ readonly ceremony: string; readonly publicKey: CreationOptions }>;
  /**
   * Stores the passkey that the browser made. Without a subject it is that of whoever began with a token. `ceremony_not_found`,
   * `passkey_refused` (it may be tried again), `passkey_known`.
   */
  finishRegistration(
    ceremony: string,
    who: { readonly tenant: string; readonly subject: string | null },
    made: RegistrationJson,
  ): Promise<{ readonly credential_id: string; readonly subject: string }>;
  /** Begins a login. For a name without passkeys the answer looks alike. `passkeys_not_set_up`. */
  startLogin(who: Approver): Promise<{ readonly ceremony: string; readonly publicKey: JsonObject }>;
  /** The session of the person who began the login. `ceremony_not_found`, `passkey_refused` (it may be tried again). */
  finishLogin(
    ceremony: string,
    tenant: string,
    assertion: AssertionJson,
  ): Promise<{
    readonly session: string;
    readonly subject: string;
    /** Of somebody who has no token. */
    readonly role: PasskeyRole | null;
    readonly expires_at: string;
  }>;
  /** The session of a cookie's value; `null` where it is over, or its person or passkey is gone. */
  session(value: string | null, tenant: string): Promise<PasskeySession | null>;
  /** The same of somebody who has nothing but a passkey, with the role. */
  holder(value: string | null, tenant: string): Promise<PasskeyHolder | null>;
  /** A token with which somebody who has no passkey registers one, and approves from then on. `person_known`, `passkeys_not_set_up`. */
  invite(subject: string, tenant: string): Promise<{ readonly token: string; readonly expires_at: string }>;
  /** Ends what somebody may do by a passkey alone. `own_request`, `not_found`. */
  remove(by: Approver, subject: string): Promise<void>;
  /** A token with which somebody else replaces lost passkeys. `passkey_session_required`, `own_request`, `not_found`. */
  allowRecovery(
    by: Approver,
    session: string | null,
    subject: string,
  ): Promise<{ readonly token: string; readonly expires_at: string }>;
  /** A person's passkeys, the oldest first. */
  of(who: Approver): Promise<readonly StoredPasskey[]>;
  /** What the browser is to be asked for a decision's signature. */
  requestFor(who: Approver, statement: ApprovalStatement): Promise<JsonObject>;
  /** The proof that one of the approver's passkeys signed the statement. `passkey_refused` with the reason. */
  prove(who: Approver, statement: ApprovalStatement, assertion: AssertionJson): Promise<PasskeyApproval>;
  /** Whether this person approves the call with a signature alone. Who has a passkey no longer is asked for one all the same. */
  required(row: Pick<PendingRequest, 'approval_tier'>, who: Approver): Promise<boolean>;
}

export interface PasskeysOptions {
  readonly store: PasskeyStore;
  /** `null` where no console is set. */
  readonly relyingParty: RelyingParty | null;
  readonly required: PasskeyRequired;
  readonly sessionKey: Uint8Array;
  /** Makes the first administrator, once; nobody without it. */
  readonly bootstrapToken?: string | undefined;
  /** Whether this operator may approve now. */
  readonly mayApprove: (subject: string, tenant: string) => boolean;
  readonly clock: () => number;
}

/** How long a token of recovery holds. It has 256 random bits, so nobody counts wrong ones: that would let others end it. */
export const RECOVERY = { lifeMs: 900_000 } as const;

/** How long an invitation holds. */
export const INVITATION = { lifeMs: 86_400_000 } as const;

/** The approvers' passkeys (docs/how-to/set-up-passkeys.md). */
export function createPasskeys(options: PasskeysOptions): Passkeys {
  const { store, relyingParty, required, sessionKey, bootstrapToken, mayApprove, clock } = options;
  const sessions = createPasskeySessions(sessionKey);
  const { refuseTooMany, begin } = createCeremonies({ store, clock });

  /** Whether somebody is still who approves: an operator by the settings, and who has no token by what is stored of him. */
  const stands = async ({ tenant, subject }: Approver): Promise<boolean> =>
    isPasskeyPerson(subject) ? (await store.roleOf(tenant, subject)) !== null : mayApprove(subject, tenant);

  const founds = (subject: string, token: string | undefined): boolean =>
    bootstrapToken !== undefined && token !== undefined && isPasskeyPerson(subject) && isSame(token, bootstrapToken);

  async function allow(who: Approver, lifeMs: number, as?: PasskeyRole) {
    const token = randomBytes(32).toString('base64url');
    const at_ms = clock();
    const expires_ms = at_ms + lifeMs;
    const { tenant, subject } = who;
    const recovery = { tenant, subject, token_sha256: sha256Hex(token), expires_ms };
    if (!(await store.allowRecovery(recovery, as && { as, at_ms }))) throw new GateError('person_known');
    return { token, expires_at: new Date(expires_ms).toISOString() };
  }

  function party(): RelyingParty {
    if (relyingParty === null) throw new GateError('passkeys_not_set_up');
    return relyingParty;
  }

  /** The session of the person himself. */
  async function sessionOf(value: string | null, { tenant, subject }: Approver): Promise<PasskeySession> {
    const found = await read(value, tenant);
    if (found?.subject !== subject) throw new GateError('passkey_session_required');
    return found;
  }

  async function read(value: string | null, tenant: string): Promise<PasskeySession | null> {
    const found = value === null ? null : sessions.read(value, clock());
    if (found === null || found.tenant !== tenant || !(await stands(found))) return null;
    const known = await store.of(tenant, found.subject);
    return known.some(({ credential_id }) => credential_id === found.credential_id) ? found : null;
  }

  /** A passkey that no name has, the same at each question about it. */
  const decoyOf = ({ tenant, subject }: Approver): string =>
    createHmac('sha256', sessionKey)
      .update(JSON.stringify(['gate.hil.passkey-decoy/v1', tenant, subject]))
      .digest('base64url');

  /** Checks an assertion against the passkey, and uses its counter up. */
  async function asserted(
    { credential_id, counter, public_key }: StoredPasskey,
    expectedChallenge: string | ((challenge: string) => boolean),
    assertion: AssertionJson,
  ): Promise<void> {
    const rp = party();
    const { verifyAuthenticationResponse } = await webauthn();
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...assertion, clientExtensionResults: {} },
      expectedChallenge,
      expectedOrigin: rp.origin,
      expectedRPID: rp.id,
      credential: { id: credential_id, publicKey: new Uint8Array(Buffer.from(public_key, 'base64url')), counter },
      requireUserVerification: true,
    }).catch(refusedWith);
    if (!verified) throw new GateError('passkey_refused', 'the signature does not hold');
    // Of two uses of one counter, at least one is by a copy of the passkey.
    if (!(await store.used(credential_id, counter, authenticationInfo.newCounter)))
      throw new GateError('passkey_refused', 'the passkey was used at the same time elsewhere');
  }

  return {
    async startRegistration(who, { displayName, session = null, recovery } = {}) {
      const rp = party();
      const { tenant, subject } = who;
      const known = await store.of(tenant, subject);
      const purpose = founds(subject, recovery)
        ? 'found'
        : recovery !== undefined
          ? 'recover'
          : // Who has no token proves himself by a passkey also for the first one, and so begins with an invitation.
            isPasskeyPerson(subject) || (await store.registered(tenant, subject))
            ? 'add'
            : 'first';
      // An operator's token registers the first passkey only: who has stolen it must not get one beside that of its owner.
      if (purpose === 'add') await sessionOf(session, who);
      await refuseTooMany(who, purpose);
      if (purpose === 'found' && (await store.founded())) throw new GateError('recovery_refused');
      const isRefused = async (): Promise<boolean> =>
        recovery !== undefined &&
        purpose === 'recover' &&
        !(await store.recoverable({ tenant, subject, token_sha256: sha256Hex(recovery), now: clock() }));
      if (await isRefused()) throw new GateError('recovery_refused');
      const { ceremony, challenge } = await begin(who, purpose);
      // Where the token was used up meanwhile, this would be a second use of it.
      if (await isRefused()) {
        await store.end(sha256Hex(ceremony));
        throw new GateError('recovery_refused');
      }
      // A recovery ends what was begun before it, so what this session begins now must not be after it.
      if (purpose === 'add')
        await sessionOf(session, who).catch(async (over: unknown) => {
          await store.end(sha256Hex(ceremony));
          throw over;
        });
      const { generateRegistrationOptions } = await webauthn();
      const publicKey = await generateRegistrationOptions({
        rpName: 'Gate',
        rpID: rp.id,
        userName: `${subject}@${tenant}`,
        ...(displayName !== undefined && { userDisplayName: displayName }),
        challenge: new Uint8Array(challenge),
        timeout: CEREMONY.lifeMs,
        attestationType: 'none',
        // What was lost is not asked for, and may be the very device.
        excludeCredentials: purpose === 'recover' ? [] : known.map(({ credential_id }) => ({ id: credential_id })),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        supportedAlgorithmIDs: ALGORITHMS,
      });
      return { ceremony, publicKey: { ...asJson(publicKey), challenge: publicKey.challenge } };
    },

    async finishRegistration(ceremony, { tenant, subject: of }, made) {
      const rp = party();
      const now = clock();
      const id = sha256Hex(ceremony);
      const begun = await store.attempt(id, { tenant, subject: of, now, most: CEREMONY.attempts });
      if (begun === null || begun.purpose === 'login') throw new GateError('ceremony_not_found');
      const { subject } = begun;
      // Without a token of his own nobody but who was invited finishes.
      if (of === null && !(isPasskeyPerson(subject) && ['found', 'recover'].includes(begun.purpose)))
        throw new GateError('ceremony_not_found');
      await refuseAttestation(made);
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
      const spki = await spkiOf(publicKey);
      const passkey = {
        credential_id,
        tenant,
        subject,
        public_key: Buffer.from(publicKey).toString('base64url'),
        counter,
        created_ms: now,
        key_sha256: sha256Hex(Buffer.from(spki, 'base64url')),
      };
      if (!(await store.complete(id, passkey, begun.purpose))) throw new GateError('ceremony_not_found');
      return { credential_id, subject };
    },

    async startLogin(who) {
      const rp = party();
      // Also forgets those whose time is over.
      await store.begun({ ...who, purpose: 'login' }, clock());
      const { ceremony, challenge } = await begin(who, 'login');
      await store.keepNewest({ ...who, purpose: 'login' }, OPEN_LOGINS);
      const known = await store.of(who.tenant, who.subject);
      const ids = known.length > 0 ? known.map(({ credential_id }) => credential_id) : [decoyOf(who)];
      return { ceremony, publicKey: requestOptions(rp, challenge.toString('base64url'), ids) };
    },

    async finishLogin(ceremony, tenant, assertion) {
      party();
      const now = clock();
      const id = sha256Hex(ceremony);
      const begun = await store.attempt(id, { tenant, subject: null, now, most: CEREMONY.attempts });
      if (begun?.purpose !== 'login') throw new GateError('ceremony_not_found');
      const { subject } = begun;
      const passkey = (await store.of(tenant, subject)).find(({ credential_id }) => credential_id === assertion.id);
      if (!passkey || !(await stands({ tenant, subject })))
        throw new GateError('passkey_refused', 'the passkey is not one of the approver');
      await asserted(passkey, (challenge) => sha256Hex(challenge) === begun.challenge_sha256, assertion);
      if (!(await store.end(id))) throw new GateError('ceremony_not_found');
      const session = sessions.open({ tenant, subject, credential_id: passkey.credential_id }, now);
      const expires_at = new Date(now + SESSION_LIFE_MS).toISOString();
      return { session, subject, role: await store.roleOf(tenant, subject), expires_at };
    },

    session: read,

    async holder(value, tenant) {
      const found = await read(value, tenant);
      if (found === null || !isPasskeyPerson(found.subject)) return null;
      const role = await store.roleOf(tenant, found.subject);
      return role === null ? null : { ...found, role };
    },

    async invite(subject, tenant) {
      party();
      return allow({ subject, tenant }, INVITATION.lifeMs, 'approver');
    },

    async remove(by, subject) {
      // Nobody would be left who could invite somebody.
      if (subject === by.subject) throw new GateError('own_request');
      if (!(await store.remove({ tenant: by.tenant, subject }))) throw new GateError('not_found');
    },

    async allowRecovery(by, session, subject) {
      party();
      await sessionOf(session, by);
      if (subject === by.subject) throw new GateError('own_request');
      if (!(await stands({ tenant: by.tenant, subject }))) throw new GateError('not_found');
      return allow({ tenant: by.tenant, subject }, RECOVERY.lifeMs);
    },

    of: async ({ tenant, subject }) =>
      (await store.of(tenant, subject)).toSorted((one, other) => one.created_ms - other.created_ms),

    async requestFor({ tenant, subject }, statement) {
      const rp = party();
      const known = await store.of(tenant, subject);
      if (known.length === 0) throw new GateError('passkey_refused', 'no passkey of this approver is registered');
      const ids = known.map(({ credential_id }) => credential_id);
      return requestOptions(rp, challengeOf(statement), ids);
    },

    async prove({ tenant, subject }, statement, assertion) {
      const rp = party();
      const passkey = (await store.of(tenant, subject)).find(({ credential_id }) => credential_id === assertion.id);
      if (!passkey) throw new GateError('passkey_refused', 'the passkey is not one of the approver');
      const approval: PasskeyApproval = {
        statement,
        passkey: {
          credential_id: passkey.credential_id,
          public_key: await spkiOf(new Uint8Array(Buffer.from(passkey.public_key, 'base64url'))),
          rp_id: rp.id,
          authenticator_data: assertion.response.authenticatorData,
          client_data_json: assertion.response.clientDataJSON,
          signature: assertion.response.signature,
        },
      };
      // What the workflow, and whoever reads the ledger, will check; known now rather than then.
      const fault = passkeyFault(approval);
      if (fault !== null) throw new GateError('passkey_refused', fault);
      await asserted(passkey, challengeOf(statement), assertion);
      return approval;
    },

    required: async ({ approval_tier }, { tenant, subject }) =>
      everybodySigns(required, approval_tier) || (holdersSign(required) && (await store.registered(tenant, subject))),
  };
}

const requestOptions = (rp: RelyingParty, challenge: string, ids: readonly string[]): JsonObject => ({
  challenge,
  rpId: rp.id,
  timeout: CEREMONY.lifeMs,
  userVerification: 'required',
  allowCredentials: ids.map((id) => ({ id, type: 'public-key' })),
});

const isSame = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(sha256Hex(one)), Buffer.from(sha256Hex(other)));

const asJson = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
