import { z } from 'zod';
import { recurrence } from './call-grant.js';
import { label, standingReason } from './identity.js';
import { envelopeShape, scopeList } from './scopes.js';

/** The longest life of a grant. */
export const MOST_GRANT_SECONDS = 86_400;
/** Of a grant as it is sent in `X-Gate-Grant`: all headers of a request together have 16 KiB. */
export const LONGEST_GRANT = 8_192;
/** Grants of one agent that count at once. */
export const MOST_GRANTS_AT_ONCE = 100;
/** Most grants of one answer. */
export const GRANTS_LISTED = 1_000;
/** `iss` of every grant. */
export const GRANT_ISSUER = 'gate-identity';

const epochSeconds = z.number().int().min(0);

/** What somebody asks of a grant, whoever brings the request. */
const asked = {
  /** OpenID Connect Core 2: who delegates, by a configured issuer. */
  id_token: z.string().min(1).max(16_384),
  /** The `nonce` with which the token was asked for, where it has one that is to be compared. */
  nonce: z.string().min(1).max(512).optional(),
  scope: scopeList,
  yellow_scope: scopeList.default([]),
  max_uses: z.number().int().optional(),
  not_before: epochSeconds.optional(),
  not_after: epochSeconds.optional(),
  recurrence: recurrence.optional(),
} as const;

/** Body of the proxy's `POST /grant`, from an agent: which one it is says its certificate. */
export const ownGrantRequest = z.strictObject(asked);

/** Body of identity's `POST /grant`. */
export const grantRequest = z.strictObject({
  tenant: label,
  /** The agent's SPIFFE id, with or without its instance. */
  agent_spiffe: z.string().min(1).max(512),
  /** The certificate that the proxy saw; nobody else has one to show. */
  credential_fingerprint: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  ...asked,
});
export type GrantRequest = z.infer<typeof grantRequest>;

/** RFC 8693 4.1: who acts. */
const actor = z.strictObject({ sub: z.string(), idp: z.string(), amr: z.array(z.string()) });

/** RFC 8705 3.1: the certificate of the agent that may show it, by the SHA-256 of its DER. */
const confirmation = z.strictObject({ 'x5t#S256': z.string().length(43) });

/** The claims of a grant. `sub` is the agent, without an instance; `act` is the person on whose behalf it asks. */
export const grantClaims = z.strictObject({
  iss: z.literal(GRANT_ISSUER),
  sub: z.string(),
  act: actor,
  scope: z.array(z.string()),
  yellow_scope: z.array(z.string()),
  iat: epochSeconds,
  exp: epochSeconds,
  jti: z.uuid(),
  nbf: epochSeconds.optional(),
  max_uses: z.number().int().min(1).optional(),
  recurrence: recurrence.optional(),
  cnf: confirmation.optional(),
});
export type GrantClaims = z.infer<typeof grantClaims>;

/** Answer of `POST /grant`: the grant, and what it says. */
export const issuedGrant = z.strictObject({
  grant: z.string(),
  jti: z.uuid(),
  sub: z.string(),
  act: actor,
  scope: z.array(z.string()),
  yellow_scope: z.array(z.string()),
  nbf: epochSeconds.nullable(),
  exp: epochSeconds,
  max_uses: z.number().int().nullable(),
  recurrence: recurrence.nullable(),
});
export type IssuedGrant = z.infer<typeof issuedGrant>;

const instant = z.iso.datetime();

/** A grant as `GET /grants` tells of it. */
export const grantRecord = z.strictObject({
  jti: z.uuid(),
  /** Without an instance. */
  agent_spiffe: z.string(),
  human_sub: z.string(),
  idp: z.string(),
  scope: z.array(z.string()),
  yellow_scope: z.array(z.string()),
  issued_at: instant,
  max_uses: z.number().int().nullable(),
  /** As proxies told it. */
  uses: z.number().int(),
  not_before: instant.nullable(),
  not_after: instant.nullable(),
  exp: instant,
  recurrence_summary: z.string().nullable(),
  revoked_at: instant.nullable(),
  revoked_by: z.string().nullable(),
});
export type GrantRecord = z.infer<typeof grantRecord>;

/** One whose row somebody edited in the store: what it says counts for nothing. */
export const tamperedGrant = z.strictObject({ jti: z.string(), tampered: z.string() });
export type TamperedGrant = z.infer<typeof tamperedGrant>;
export type ListedGrant = GrantRecord | TamperedGrant;

export const grantList = z.strictObject({ grants: z.array(z.union([grantRecord, tamperedGrant])) });

/** Query of `GET /grants`. */
export const grantsQuery = z.strictObject({
  tenant: label,
  agent_name: label.optional(),
  /** Only those that are neither revoked nor over: one whose uses are used up is among them, because what it let in goes on. */
  active: z.enum(['true', 'false']).optional(),
  /** The id behind which the answer begins: it has 1,000 at most, by their ids, which sort by time. */
  after: z.string().min(1).max(128).optional(),
});

/** Body of `POST /grants/uses`, from a proxy: how often these were used in all. */
export const grantUses = z.strictObject({
  uses: z.array(z.strictObject({ jti: z.uuid(), uses: z.number().int().min(1) })).max(1_000),
});
export type GrantUses = z.infer<typeof grantUses>;

/** Body of `POST /agents/{id}/envelope/narrow` and `/widen`: the whole new envelope. */
export const envelopeChange = z.strictObject({ ...envelopeShape, reason: standingReason.optional() });
