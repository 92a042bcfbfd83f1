import { LONGEST_UPSTREAM_URL } from '../../contracts/upstreams.js';
import { sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { isPublicAddress, literalAddress } from '../outbound/addresses.js';
import { isLoopback } from '../outbound/loopback.js';
import type { RevokedBy } from './revoked-by.js';

/** A server of tools that somebody vouched for (docs/architecture/upstreams.md). */
export interface RegisteredUpstream {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly url: string;
  readonly tlsPin: string | null;
  readonly spiffe: string | null;
  readonly ownerTeam: string | null;
}
export interface KeptUpstream extends RegisteredUpstream {
  readonly createdBy: string;
  readonly createdMs: number;
  readonly retiredMs: number | null;
  readonly retiredBy: string | null;
}
/** As proxies and workers are told it. */
export interface ToldUpstream extends Omit<RegisteredUpstream, 'ownerTeam'> {
  readonly isRetired: boolean;
  readonly changedMs: number;
}

export interface UpstreamStore {
  /** Those of a tenant, by their names; retired ones too. */
  upstreams(tenant: string): Promise<readonly KeptUpstream[]>;
  /** Throws `not_found`. */
  upstream(id: string, tenant: string): Promise<KeptUpstream>;
  /** Throws `upstream_url_taken`, also for one that was retired or is another tenant's, `upstream_name_taken` or `upstreams_exhausted`. */
  addUpstream(upstream: Omit<RegisteredUpstream, 'id'>, by: RevokedBy): Promise<KeptUpstream>;
  /** Repeated, it changes nothing. Throws `not_found`. */
  retireUpstream(id: string, tenant: string, by: RevokedBy): Promise<KeptUpstream>;
}

/** By which an upstream is found. */
export const upstreamUrlKey = (url: string): string => sha256Hex(url);

/**
 * The address of an upstream in the one form in which it is compared. Throws `invalid_upstream_url`: https, or http on this machine; no user, no fragment,
 * no dot at the end of the host; and hosts of a private network, or of one label, only where they are allowed.
 */
export function upstreamUrl(text: string, { allowsPrivate }: { readonly allowsPrivate: boolean }): string {
  const invalid = (why: string) => new GateError('invalid_upstream_url', why);
  if (!URL.canParse(text)) throw invalid('it is no address');
  const url = new URL(text);
  const { protocol, hostname, username, password, href } = url;
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname)))
    throw invalid('it is https, or http on this machine');
  if (username !== '' || password !== '') throw invalid('it has no user');
  if (text.includes('#')) throw invalid('it has no fragment');
  if (hostname.endsWith('.')) throw invalid('its host has no dot at the end');
  if (href.length > LONGEST_UPSTREAM_URL) throw invalid(`it has ${LONGEST_UPSTREAM_URL} characters at most`);
  const address = literalAddress(hostname);
  const isPublic = address === null ? hostname.includes('.') && !isLoopback(hostname) : isPublicAddress(address);
  if (!isPublic && !allowsPrivate)
    throw invalid('its host is of a private network or has one label: GATE_UPSTREAM_ALLOW_PRIVATE=true allows these');
  return href;
}
