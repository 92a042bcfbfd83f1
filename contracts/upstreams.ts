import { z } from 'zod';
import { label, ownerTeam, standingReason } from './identity.js';

const instant = z.iso.datetime();
/** Most upstreams of a tenant that are not retired: each is on the list that every proxy keeps in memory. */
export const UPSTREAMS_MOST = 200;
/** Of an address. */
export const LONGEST_UPSTREAM_URL = 2_048;

/** SHA-256 of the public key (SPKI DER) of the certificate that the upstream shows. */
export const tlsPin = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const spiffeId = z.string().regex(/^spiffe:\/\/[\x21-\x7e]{1,2000}$/);

/** A server of tools that somebody vouched for. */
export const upstreamRecord = z.strictObject({
  id: z.uuid(),
  tenant: label,
  name: label,
  url: z.string(),
  /** What its connection has to show; null where nobody said so. */
  tls_pin: tlsPin.nullable(),
  spiffe_id: spiffeId.nullable(),
  /** The team whose it is. */
  owner_team: ownerTeam.nullable(),
  state: z.enum(['active', 'retired']),
  created_by_sub: z.string(),
  created_at: instant,
  retired_at: instant.nullable(),
  retired_by: z.string().nullable(),
});
export type UpstreamRecord = z.infer<typeof upstreamRecord>;

/** Body of `POST /upstreams`. */
export const newUpstream = z.strictObject({
  tenant: label,
  name: label,
  /** What is no such address is `invalid_upstream_url`. */
  url: z.string().min(1).max(8_192),
  tls_pin: tlsPin.optional(),
  spiffe_id: spiffeId.optional(),
  /** Who is no administrator says a team of theirs. */
  owner_team: ownerTeam.optional(),
  reason: standingReason.optional(),
});
export const upstreamsQuery = z.strictObject({ tenant: label });
