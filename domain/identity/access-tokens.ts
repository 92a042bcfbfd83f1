import { textsIn } from '../texts-in.js';
import { isLabel } from './spiffe.js';

/** A name of Gate in a token: the value of a claim, or what a map makes of it. */
export interface ClaimRule {
  readonly claim: string;
  readonly map?: ReadonlyMap<string, string> | undefined;
}

/** What is asked of an access token (RFC 9068), and whose it then is. */
export interface AccessTokenRules {
  readonly issuer: string;
  /** The address that clients ask tokens for (RFC 8707), as protected resource metadata names it. */
  readonly resource: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  readonly scopes: readonly string[];
  readonly clockSkewSecs: number;
  readonly tenant: ClaimRule | { readonly always: string };
  readonly agent: ClaimRule;
  /** The issuer's keys: a file, an address, or where the issuer's metadata says. */
  readonly keys: { readonly file: string } | { readonly url?: string | undefined };
}

export type Claims = Readonly<Record<string, unknown>>;

/**
 * Tenant and agent of a token whose signature holds. Nothing is trimmed, changed in case or guessed: `null` for a claim that is missing, that is no
 * text, or that names nobody.
 */
export function agentOfClaims(
  claims: Claims,
  { tenant: ofTenant, agent: ofAgent }: Pick<AccessTokenRules, 'tenant' | 'agent'>,
): { readonly tenant: string; readonly agent: string } | null {
  const tenant = 'always' in ofTenant ? ofTenant.always : nameIn(claims, ofTenant);
  const agent = nameIn(claims, ofAgent);
  return tenant === null || agent === null ? null : { tenant, agent };
}

function nameIn(claims: Claims, { claim, map }: ClaimRule): string | null {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (typeof value !== 'string') return null;
  const name = map ? (map.get(value) ?? null) : value;
  return name !== null && isLabel(name) ? name : null;
}

/** The scopes of a token: one text with spaces (RFC 9068 2.2.3), or the list that some issuers write into `scp`. */
export function scopesOf({ scope, scp }: Claims): readonly string[] {
  const said = scope ?? scp;
  if (typeof said === 'string') return said.split(' ');
  return textsIn(said);
}

/** Whether a token of these rules can be of this agent; a call outlives the token that it came with. */
export const mayBeOf = (
  { tenant: ofTenant, agent: ofAgent }: Pick<AccessTokenRules, 'tenant' | 'agent'>,
  { tenant, agent }: { readonly tenant: string; readonly agent: string },
): boolean => {
  const among = (map: ClaimRule['map'], name: string) => map === undefined || [...map.values()].includes(name);
  return ('always' in ofTenant ? ofTenant.always === tenant : among(ofTenant.map, tenant)) && among(ofAgent.map, agent);
};

/** Every tenant that the rules name. */
export const tenantsOf = ({ tenant }: Pick<AccessTokenRules, 'tenant'>): readonly string[] =>
  'always' in tenant ? [tenant.always] : [...new Set(tenant.map?.values() ?? [])];
