import { z } from 'zod';
import { jsonObject } from './json.js';

export const APPROVAL_CONTRACT = 'gate.approval/v1';

/**
 * What an approver's passkey signs, as SHA-256 over its canonical JSON (docs/architecture/reviews.md#what-the-approver-signs). Digests are
 * `sha256:` and 64 hex digits.
 */
export const approvalStatement = z.strictObject({
  contract: z.literal(APPROVAL_CONTRACT),
  decision: z.enum(['approve', 'deny', 'modify']),
  pending_id: z.uuid(),
  correlation_id: z.uuid(),
  tenant: z.string(),
  /** Who decides. Without it a signature could stand under another name. */
  approver: z.string(),
  /** Of the request that runs: with `modify`, as it was changed. */
  payload_digest: z.string(),
  /** Of the rules that judged the call; `null` where no rules did. */
  policy_bundle_sha256: z.string().nullable(),
  /** `null` where the sandbox gave no report. */
  sandbox_report_digest: z.string().nullable(),
  /** Of what the row shows about the call and never changes. */
  row_digest: z.string(),
  /** How many people must agree. Statements of an earlier Gate do not say. */
  required_approvers: z.int().min(1).optional(),
  /** Whose call it is, and of which tool; as the next three, in statements of an earlier Gate they are not there. */
  agent_id: z.string().optional(),
  tool: z.string().optional(),
  /** SHA-256 of the canonical `params` of the request that runs, 64 hex digits. */
  tool_params_sha256: z.string().optional(),
  /** With `modify`: of the request as it was asked for, and of the change. */
  original_payload_digest: z.string().optional(),
  modification_diff_digest: z.string().optional(),
});
export type ApprovalStatement = z.infer<typeof approvalStatement>;

/** An assertion (WebAuthn, 7.2) with the key it is checked with. Bytes are base64url. */
export const passkeyProof = z.strictObject({
  credential_id: z.base64url(),
  /** SubjectPublicKeyInfo (RFC 5280), DER. */
  public_key: z.base64url(),
  rp_id: z.string(),
  authenticator_data: z.base64url(),
  client_data_json: z.base64url(),
  signature: z.base64url(),
});

/** What was signed, and by which passkey: with the public key alone, anybody can check it. */
export const passkeyApproval = z.strictObject({ statement: approvalStatement, passkey: passkeyProof });
export type PasskeyApproval = z.infer<typeof passkeyApproval>;

const bytes = z.base64url().min(1).max(2_048);

/** What `navigator.credentials.get` returns, as its `toJSON` writes it. */
export const assertionJson = z.object({
  id: bytes,
  rawId: bytes,
  type: z.literal('public-key'),
  response: z.object({ clientDataJSON: bytes, authenticatorData: bytes, signature: bytes }),
});
export type AssertionJson = z.infer<typeof assertionJson>;

/** What `navigator.credentials.create` returns, as its `toJSON` writes it. */
export const registrationJson = z.object({
  id: bytes,
  rawId: bytes,
  type: z.literal('public-key'),
  response: z.object({ clientDataJSON: bytes, attestationObject: z.base64url().min(1).max(65_536) }),
});
export type RegistrationJson = z.infer<typeof registrationJson>;

/** The body of `POST /auth/register/start`. */
export const startRegistration = z.strictObject({
  /** What the device shows beside the approver's name. */
  display_name: z.string().min(1).max(128).optional(),
  /** In place of the passkeys that were lost. */
  recovery_token: z.string().min(1).max(128).optional(),
});

const operatorName = z.string().regex(/^[A-Za-z0-9._-]{1,63}$/);

/** The body of `POST /auth/login/start` and of `POST /auth/enrollment/recoveries`: an operator's name. */
export const namedOperator = z.strictObject({ name: operatorName });

/** How somebody is called who has a passkey and no token. Lower case: two spellings would be two people. */
export const passkeyName = z.string().regex(/^[a-z0-9._-]{1,63}$/);
export const namedPerson = z.strictObject({ name: passkeyName });
/** The body of `POST /auth/people/register/start`: with the token of an invitation, of a recovery, or of the first administrator. */
export const startWithToken = z.strictObject({
  name: passkeyName,
  token: z.string().min(1).max(512),
  display_name: z.string().min(1).max(128).optional(),
});

/** What a passkey alone gives somebody: who was invited approves, and who was first also invites. */
export const PASSKEY_ROLES = ['approver', 'admin'] as const;
export type PasskeyRole = (typeof PASSKEY_ROLES)[number];
const passkeyRole = z.enum(PASSKEY_ROLES);

/** With role and end of the session for somebody who has no token; what an operator may do is not the passkey's to say. */
export const loggedIn = z.strictObject({
  ok: z.literal(true),
  name: z.string(),
  role: passkeyRole.optional(),
  expires_at: z.iso.datetime().optional(),
});
export const personRemoved = z.strictObject({ ok: z.literal(true), name: z.string() });
/** `ended`: whether there was a session to end. */
export const loggedOut = z.strictObject({ ok: z.literal(true), ended: z.boolean() });

/** The answer of `GET /auth/me`. */
export const passkeyIdentity = z.strictObject({
  authenticated: z.literal(true),
  name: z.string(),
  tenant: z.string(),
  method: z.literal('webauthn'),
  role: passkeyRole.optional(),
  expires_at: z.string(),
});

/** The answer of `GET /auth/passkeys`: of who asks, the oldest first. */
export const ownPasskeys = z.strictObject({
  passkeys: z.array(z.strictObject({ credential_id: z.string(), created_at: z.iso.datetime() })),
});
export type OwnPasskey = z.infer<typeof ownPasskeys>['passkeys'][number];

/** The token is shown this once. */
export const allowedRecovery = z.strictObject({ token: z.string(), expires_at: z.string() });

/** The options of a ceremony, as `PublicKeyCredential.parseCreationOptionsFromJSON` and its sibling for requests read them. */
export const ceremonyOptions = z.strictObject({ publicKey: jsonObject });

export const registeredPasskey = z.strictObject({ ok: z.literal(true), name: z.string(), credential_id: z.string() });

/** The answer of `POST /pending/{id}/approval-challenge`. */
export const approvalChallenge = z.strictObject({
  statement: approvalStatement,
  challenge: z.string(),
  publicKey: jsonObject,
});
