import type { Recurrence } from '../../contracts/call-grant.js';
import type { TamperedGrant } from '../../contracts/grants.js';
import { GateError } from '../errors.js';
import type { GrantTerms } from './grant-terms.js';
import type { RevokedBy } from './revoked-by.js';
import type { Envelope } from './scopes.js';

/** Who delegates, by a verified token of a configured issuer. */
export interface Delegator {
  readonly tenant: string;
  /** At the issuer. */
  readonly sub: string;
  /** The issuer, by the name that the operator gave it. */
  readonly idp: string;
  /** How that person proved to be it (RFC 8176), as the issuer says. */
  readonly amr: readonly string[];
}

/** The certificate that an agent showed is not the one that counts. */
export class CertificateNotCurrent extends GateError {
  constructor() {
    super('invalid_token', 'the certificate is not the current one that identity issued to this agent');
  }
}

/** What RFC 8705 3.1 calls a certificate by, of its fingerprint. */
export const thumbprintOf = (fingerprint: string): string => Buffer.from(fingerprint, 'hex').toString('base64url');

/** A grant that is about to be signed. */
export interface NewGrant {
  readonly jti: string;
  readonly tenant: string;
  readonly agent: string;
  /** The agent's SPIFFE id without an instance. */
  readonly spiffe: string;
  /** The certificate by which the agent asks; `null` where somebody else names it. */
  readonly fingerprint: string | null;
  readonly by: Delegator;
  /** Whether no other certificate than that one may show it. */
  readonly isBound: boolean;
  /** Of what the token signs by which that was proved: a signature can be written in more ways than one. */
  readonly idTokenSha256: string;
  readonly scope: readonly string[];
  readonly yellowScope: readonly string[];
  readonly terms: GrantTerms;
}

/** A grant as identity keeps it. */
export interface KeptGrant {
  readonly jti: string;
  readonly spiffe: string;
  readonly humanSub: string;
  readonly idp: string;
  readonly scope: readonly string[];
  readonly yellowScope: readonly string[];
  readonly issuedMs: number;
  readonly maxUses: number | null;
  readonly uses: number;
  readonly notBeforeMs: number | null;
  readonly notAfterMs: number | null;
  readonly expiresMs: number;
  readonly recurrence: Recurrence | null;
  readonly revokedMs: number | null;
  readonly revokedBy: string | null;
}

/** A grant that was taken back, as proxies are told it. */
export interface ToldGrant {
  readonly jti: string;
  readonly expiresMs: number;
}

/** Every method throws `not_found` for what is another tenant's, as for what is not there. */
export interface GrantStore {
  /** By the ids of agents; those that are missing have none. */
  envelopes(agentIds: readonly string[]): Promise<ReadonlyMap<string, Envelope>>;
  /** Throws `envelope_not_narrower`; takes back what was granted beyond it. */
  narrowEnvelope(agentId: string, tenant: string, to: Envelope, by: RevokedBy): Promise<void>;
  /** Throws `envelope_not_wider`. */
  widenEnvelope(agentId: string, tenant: string, to: Envelope, by: RevokedBy): Promise<void>;
  /**
   * Stores the intent, before anything is signed. Throws what speaks against it: `unregistered_agent`, how the agent is stopped, `invalid_token` for a
   * certificate that is not the current one or a token that was exchanged before, `scope_outside_envelope`, and `rate_limited`.
   */
  beginGrant(grant: NewGrant, nowMs: number): Promise<void>;
  /** Stores, in one transaction, that it leaves, with its row for the ledger. Throws where anything that `beginGrant` looks at changed meanwhile. */
  releaseGrant(grant: NewGrant, nowMs: number): Promise<void>;
  /** Nothing was signed: it never leaves. */
  failGrant(jti: string): Promise<void>;
  /** `GRANTS_LISTED` at most, by their ids; those that somebody edited are named. */
  grants(
    of: {
      readonly tenant: string;
      readonly agent?: string | undefined;
      readonly active: boolean;
      readonly after?: string | undefined;
    },
    nowMs: number,
  ): Promise<readonly (KeptGrant | TamperedGrant)[]>;
  /** Repeated, it changes nothing and says when that was. */
  revokeGrant(jti: string, tenant: string, by: RevokedBy): Promise<number>;
  /** How often they were used in all: less than is known changes nothing. */
  tellUses(uses: readonly { readonly jti: string; readonly uses: number }[]): Promise<void>;
  /** Ends those that are used up, and those of which nobody told a use a while after their deadline; says how many. What is used up lets what it let in go on. */
  sweepGrants(nowMs: number): Promise<number>;
}
