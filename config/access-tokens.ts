import { z } from 'zod';
import type { AccessTokenRules } from '../domain/identity/access-tokens.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import { type Config, csv, seconds, setting } from './env.js';
import { ASYMMETRIC_ALGORITHMS } from '../domain/identity/asymmetric-algorithms.js';
import { isLabel } from '../domain/identity/spiffe.js';
import { parsedBy } from './shared.js';

const DEFAULT_ALGORITHMS = 'RS256,PS256,ES256,EdDSA';

const label = z.string().refine(isLabel, 'must be 1 to 63 letters, digits, ".", "_", "-"');
const claimName = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be the name of a claim');
const address = z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' });

/** `external=internal` of each entry. Several values may be one name here, but no value two. */
function nameMap(text: string): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const entry of text.split(',')) {
    const at = entry.lastIndexOf('=');
    const [external, internal] = [entry.slice(0, at), entry.slice(at + 1)];
    if (at <= 0 || external !== external.trim() || !isLabel(internal))
      throw new Error(`${entry}: an entry is written external=internal, without spaces around either`);
    if (map.has(external)) throw new Error(`${external} stands there twice`);
    map.set(external, internal);
  }
  return map;
}

/** Agents that come with an OAuth 2.1 access token instead of a certificate, in the edition whose settings start with this prefix. */
export const accessTokenSettings = <Prefix extends string>(prefix: Prefix) => ({
  oauthIssuer: setting(
    `${prefix}_OAUTH_ISSUER`,
    address.optional(),
    'Issuer of access tokens, exactly as it writes itself in `iss`: agents may then come with a bearer token. HTTPS, except on this machine. Without it no access token is taken.',
  ),
  oauthResource: setting(
    `${prefix}_OAUTH_RESOURCE`,
    address.optional(),
    'The address of /mcp as clients write it, such as `https://gate.example:8443/mcp`: the resource that clients ask tokens for. Needed with an issuer.',
  ),
  oauthAudience: setting(
    `${prefix}_OAUTH_AUDIENCE`,
    z.string().min(1).max(1_024).optional(),
    'What must be among the audiences (`aud`) of a token, where the issuer does not write the resource there.',
  ),
  oauthJwksUrl: setting(
    `${prefix}_OAUTH_JWKS_URL`,
    address.optional(),
    "Where the issuer's keys are. Without it the issuer's metadata says where (RFC 8414, OpenID Connect Discovery).",
  ),
  oauthJwksFile: setting(
    `${prefix}_OAUTH_JWKS_FILE`,
    z.string().min(1).optional(),
    "File that holds the issuer's keys (a JSON Web Key Set), read at the start: then nothing is fetched.",
  ),
  oauthAlgorithms: setting(
    `${prefix}_OAUTH_ALGORITHMS`,
    csv.transform((names, context) => {
      const given = names.length > 0 ? names : DEFAULT_ALGORITHMS.split(',');
      const unknown = given.find((name) => !ASYMMETRIC_ALGORITHMS.includes(name));
      if (unknown !== undefined)
        context.addIssue({ code: 'custom', message: `${unknown} is none of ${ASYMMETRIC_ALGORITHMS.join(', ')}` });
      return given;
    }),
    `Algorithms that tokens may be signed with; \`${DEFAULT_ALGORITHMS}\` where it is not set.`,
  ),
  oauthScopes: setting(`${prefix}_OAUTH_SCOPES`, csv, 'Scopes that a token needs, all of them. Empty: none.'),
  oauthTenant: setting(`${prefix}_OAUTH_TENANT`, label.optional(), 'Tenant of every agent that comes with a token.'),
  oauthTenantClaim: setting(
    `${prefix}_OAUTH_TENANT_CLAIM`,
    claimName.optional(),
    "Instead of that: the token's claim that says the tenant.",
  ),
  oauthTenantMap: setting(
    `${prefix}_OAUTH_TENANT_MAP`,
    parsedBy(nameMap).optional(),
    "Tenants of that claim's values: external=internal[,…]; every other value is refused. Without it a value that is a tenant's name is that tenant.",
  ),
  oauthAgentClaim: setting(
    `${prefix}_OAUTH_AGENT_CLAIM`,
    claimName.default('client_id'),
    "The token's claim that says the agent: `client_id` for the program that calls, `sub` for whom it calls; some issuers write the program into `azp`.",
  ),
  oauthAgentMap: setting(
    `${prefix}_OAUTH_AGENT_MAP`,
    parsedBy(nameMap).optional(),
    "Agents of that claim's values: external=internal[,…]; every other value is refused. Without it a value that is an agent's name is that agent.",
  ),
  oauthClockSkewSecs: setting(
    `${prefix}_OAUTH_CLOCK_SKEW_SECS`,
    seconds(30, 0, 120),
    "Seconds by which the issuer's clock and Gate's may differ.",
  ),
});
export type AccessTokenConfig = Config<ReturnType<typeof accessTokenSettings>>;

/**
 * Why tokens could not be taken, or could be that should not. `tenantsKnown`: this edition has to know every tenant before an agent comes.
 */
export function accessTokenFaults(
  prefix: string,
  config: AccessTokenConfig,
  { tenantsKnown = false }: { readonly tenantsKnown?: boolean } = {},
): readonly (string | null)[] {
  const named = (name: string) => `${prefix}_OAUTH_${name}`;
  const { oauthIssuer: issuer, oauthTenant: tenant, oauthTenantClaim: claim } = config;
  if (issuer === undefined) {
    const set = Object.entries({
      RESOURCE: config.oauthResource,
      AUDIENCE: config.oauthAudience,
      JWKS_URL: config.oauthJwksUrl,
      JWKS_FILE: config.oauthJwksFile,
      SCOPES: config.oauthScopes[0],
      TENANT: tenant,
      TENANT_CLAIM: claim,
      TENANT_MAP: config.oauthTenantMap,
      AGENT_MAP: config.oauthAgentMap,
    }).find(([, value]) => value !== undefined);
    return [set ? `${named(set[0])}: is set, and ${named('ISSUER')} is not: no token would be taken` : null];
  }
  return [
    unsafeAddress(named('ISSUER'), issuer),
    bareFault(named('ISSUER'), issuer, 'an issuer'),
    config.oauthResource === undefined ? `${named('RESOURCE')}: is not set, and ${named('ISSUER')} needs it` : null,
    unsafeAddress(named('RESOURCE'), config.oauthResource),
    bareFault(named('RESOURCE'), config.oauthResource, 'a resource'),
    unsafeAddress(named('JWKS_URL'), config.oauthJwksUrl),
    config.oauthJwksUrl !== undefined && config.oauthJwksFile !== undefined
      ? `${named('JWKS_URL')}, ${named('JWKS_FILE')}: set one or none`
      : null,
    (tenant === undefined) === (claim === undefined)
      ? `${named('TENANT')}, ${named('TENANT_CLAIM')}: set one of them, or nobody knows whose agents come`
      : null,
    config.oauthTenantMap !== undefined && claim === undefined
      ? `${named('TENANT_MAP')}: is set, and ${named('TENANT_CLAIM')} is not`
      : null,
    tenantsKnown && claim !== undefined && config.oauthTenantMap === undefined
      ? `${named('TENANT_MAP')}: is not set, and ${named('TENANT_CLAIM')} needs it here: it names the tenants`
      : null,
  ];
}

/** Over HTTP anybody on the way could write keys, or read tokens. */
function unsafeAddress(variable: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || isLoopback(hostname) ? null : `${variable}: must be https`;
}

function bareFault(variable: string, text: string | undefined, what: string): string | null {
  if (text === undefined) return null;
  const { search, hash, username, password } = new URL(text);
  return search + hash + username + password === ''
    ? null
    : `${variable}: ${what} has neither query, nor fragment, nor user`;
}

/** What is asked of a token; `null` where none is taken. Only of settings without a fault. */
export function accessTokenRules(config: AccessTokenConfig): AccessTokenRules | null {
  const { oauthIssuer: issuer, oauthResource: resource } = config;
  if (issuer === undefined || resource === undefined) return null;
  return {
    issuer,
    resource,
    audience: config.oauthAudience ?? resource,
    algorithms: config.oauthAlgorithms,
    scopes: config.oauthScopes,
    clockSkewSecs: config.oauthClockSkewSecs,
    tenant:
      config.oauthTenant === undefined
        ? { claim: config.oauthTenantClaim ?? '', map: config.oauthTenantMap }
        : { always: config.oauthTenant },
    agent: { claim: config.oauthAgentClaim, map: config.oauthAgentMap },
    keys: config.oauthJwksFile === undefined ? { url: config.oauthJwksUrl } : { file: config.oauthJwksFile },
  };
}
