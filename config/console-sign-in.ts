import { z } from 'zod';
import { ownerTeam } from '../contracts/identity.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import type { ConsoleConfig } from './console.js';
import { type Config, csv, onOff, setting } from './env.js';
import { decideTokenText } from './hil.js';
import { parsedBy } from './shared.js';

export const SIGN_IN_MODES = ['operator-token', 'basic-admin', 'oidc', 'saml', 'operator-mtls', 'webauthn'] as const;

const tenantName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,63}$/, 'must be a tenant: 1 to 63 letters, digits, ".", "_", "-"');
const claimName = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be the name of a claim');
const attributeName = z.string().regex(/^[\x21-\x7e]{1,512}$/, 'must be the name of an attribute');
const groups = csv;

/** The tenants of a provider's values. One value is one tenant, and one tenant one value. */
function tenantMap(text: string): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const entry of text.split(',')) {
    const at = entry.lastIndexOf('=');
    const [external, internal] = [entry.slice(0, at), entry.slice(at + 1)];
    if (at <= 0 || external !== external.trim() || !tenantName.safeParse(internal).success)
      throw new Error(`${entry}: an entry is written external=internal, without spaces around either`);
    if (map.has(external)) throw new Error(`${external} stands there twice`);
    if ([...map.values()].includes(internal)) throw new Error(`${internal} is the tenant of two values`);
    map.set(external, internal);
  }
  return map;
}

export const SIGN_IN_SETTINGS = {
  mode: setting(
    'GATE_CONSOLE_AUTH',
    z.enum(SIGN_IN_MODES).optional(),
    'How people sign in at the console: operator-token (GATE_HIL_OPERATORS), basic-admin (one name and password), oidc (an OpenID provider), saml (a SAML 2.0 identity provider), operator-mtls (a certificate), webauthn (a passkey). Without it operator-token, for a console of this machine alone; one that others open does not start without it.',
  ),
  decideToken: setting(
    'GATE_HIL_DECIDE_TOKEN',
    decideTokenText,
    'What proves to the review service that the console vouches for somebody: the same there. Needed for basic-admin, oidc, saml and operator-mtls; the other ways prove people by what they hold.',
    { secret: true },
  ),
  passkeyTenant: setting(
    'GATE_CONSOLE_PASSKEY_TENANT',
    tenantName.optional(),
    'For webauthn: the tenant of everybody who signs in.',
  ),
  adminUser: setting(
    'GATE_CONSOLE_ADMIN_USER',
    z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,63}$/, 'must be 1 to 63 letters, digits, ".", "_", "-"')
      .optional(),
    'For basic-admin: the name of the one administrator, recorded as basic:<name>.',
  ),
  adminPassword: setting(
    'GATE_CONSOLE_ADMIN_PASS_BCRYPT',
    z
      .string()
      .regex(/^\$2[aby]\$1[0-4]\$[./A-Za-z0-9]{53}$/, 'must be a bcrypt hash of cost 10 to 14')
      .optional(),
    'For basic-admin: the bcrypt hash of the password, of cost 10 to 14. Another one signs the administrator out.',
    { secret: true },
  ),
  adminTenant: setting(
    'GATE_CONSOLE_ADMIN_TENANT',
    tenantName.optional(),
    'For basic-admin: the tenant of the administrator.',
  ),
  allowBasicNetwork: setting(
    'GATE_CONSOLE_ALLOW_BASIC_ADMIN_NETWORK',
    onOff,
    'Whether basic-admin may be reached from other machines. Off: the console then has to listen on loopback.',
  ),
  operatorsFile: setting(
    'GATE_CONSOLE_OPERATORS_FILE',
    z.string().min(1).optional(),
    'For operator-mtls: the JSON file of who signs in with which certificate. It is read again when it changes.',
  ),
  operatorCaFile: setting(
    'GATE_CONSOLE_OPERATOR_CA_FILE',
    z.string().min(1).optional(),
    "For operator-mtls: PEM of the CA that signed the operators' certificates. Not that of agents and services.",
  ),
  issuer: setting(
    'GATE_CONSOLE_OIDC_ISSUER',
    z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional(),
    "For oidc: the provider's issuer, exactly as it writes it in its tokens. HTTPS, except on this machine. Its own address may be private; what its configuration leads to elsewhere must be public.",
  ),
  clientId: setting(
    'GATE_CONSOLE_OIDC_CLIENT_ID',
    z.string().min(1).max(256).optional(),
    'For oidc: the client that the provider knows the console as. Its redirect address is GATE_CONSOLE_URL with /auth/oidc/callback, its address after signing out GATE_CONSOLE_URL with /login.',
  ),
  clientSecret: setting(
    'GATE_CONSOLE_OIDC_CLIENT_SECRET',
    z.string().min(16, 'must have 16 characters or more').optional(),
    'For oidc: the secret of that client.',
    { secret: true },
  ),
  tenantClaim: setting(
    'GATE_CONSOLE_OIDC_TENANT_CLAIM',
    claimName.default('org_id'),
    "For oidc: the ID token's claim that says whose tenant the person belongs to.",
  ),
  groupsClaim: setting(
    'GATE_CONSOLE_OIDC_GROUPS_CLAIM',
    claimName.default('groups'),
    "For oidc: the ID token's claim that lists the person's groups.",
  ),
  mfaClaim: setting(
    'GATE_CONSOLE_OIDC_MFA_CLAIM',
    claimName.default('amr'),
    "For oidc: the ID token's claim that lists how the person proved himself.",
  ),
  samlEntityId: setting(
    'GATE_CONSOLE_SAML_ENTITY_ID',
    z
      .string()
      .regex(/^[\x21-\x7e]{1,1024}$/)
      .refine((text) => URL.canParse(text), 'must be a URI')
      .optional(),
    'For saml: the URI by which the identity provider knows the console; its assertions have to be for exactly that audience.',
  ),
  samlAcsUrl: setting(
    'GATE_CONSOLE_SAML_ACS_URL',
    z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional(),
    'For saml: where the identity provider sends its answers: GATE_CONSOLE_URL with /auth/saml/acs, as it is written there.',
  ),
  samlMetadataUrl: setting(
    'GATE_CONSOLE_SAML_IDP_METADATA_URL',
    z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional(),
    "For saml: the identity provider's metadata, read at the start and kept until the end. HTTPS, except on this machine; its address may be private.",
  ),
  samlGroupAttributes: setting(
    'GATE_CONSOLE_SAML_GROUP_ATTRIBUTES',
    csv.pipe(z.array(attributeName)),
    "For saml: the names of the assertion's attributes that list the person's groups, for example `groups`, `memberOf` or `http://schemas.xmlsoap.org/claims/Group`.",
  ),
  samlTenantAttribute: setting(
    'GATE_CONSOLE_SAML_TENANT_ATTRIBUTE',
    attributeName.optional(),
    'For saml: the name of the attribute that says whose tenant the person belongs to.',
  ),
  samlMfaAttribute: setting(
    'GATE_CONSOLE_SAML_MFA_ATTRIBUTE',
    attributeName.optional(),
    'For saml: the name of the attribute that lists how the person proved himself.',
  ),
  mfaValues: setting(
    'GATE_CONSOLE_FEDERATED_MFA_VALUES',
    csv.transform((values) => (values.length > 0 ? values : ['mfa', 'otp', 'webauthn'])),
    'Values of that claim or attribute of which one must be there; nobody signs in without. `mfa,otp,webauthn` where it is not set.',
  ),
  tenantMap: setting(
    'GATE_CONSOLE_FEDERATED_TENANT_MAP',
    parsedBy(tenantMap).optional(),
    "Tenants of the provider's values: external=internal[,…], one to one. Without it a value that is a tenant's name is that tenant; with it every other value is refused.",
  ),
  adminGroups: setting(
    'GATE_CONSOLE_FEDERATED_ADMIN_GROUPS',
    groups,
    'Groups whose members are administrators; of several roles the highest holds.',
  ),
  approverGroups: setting('GATE_CONSOLE_FEDERATED_APPROVER_GROUPS', groups, 'Groups whose members decide.'),
  viewerGroups: setting(
    'GATE_CONSOLE_FEDERATED_VIEWER_GROUPS',
    groups,
    'Groups whose members look. Whoever is in none of all these groups does not sign in.',
  ),
  teamGroups: setting(
    'GATE_CONSOLE_FEDERATED_TEAM_GROUPS',
    csv.pipe(z.array(ownerTeam)),
    'Groups that are teams to which agents and upstreams belong: who decides, and is of a team, may narrow and suspend its agents. Of somebody in more than 16 of them the first 16 count.',
  ),
} as const;
/** For which ways to sign in a setting is read, where not for all of them. */
export const READ_FOR: { readonly [Name in keyof typeof SIGN_IN_SETTINGS]?: readonly SignInWay[] } = {
  passkeyTenant: ['webauthn'],
  adminUser: ['basic-admin'],
  adminPassword: ['basic-admin'],
  adminTenant: ['basic-admin'],
  allowBasicNetwork: ['basic-admin'],
  operatorsFile: ['operator-mtls'],
  operatorCaFile: ['operator-mtls'],
  issuer: ['oidc'],
  clientId: ['oidc'],
  clientSecret: ['oidc'],
  tenantClaim: ['oidc'],
  groupsClaim: ['oidc'],
  mfaClaim: ['oidc'],
  samlEntityId: ['saml'],
  samlAcsUrl: ['saml'],
  samlMetadataUrl: ['saml'],
  samlGroupAttributes: ['saml'],
  samlTenantAttribute: ['saml'],
  samlMfaAttribute: ['saml'],
  mfaValues: ['oidc', 'saml'],
  tenantMap: ['oidc', 'saml'],
  adminGroups: ['oidc', 'saml'],
  approverGroups: ['oidc', 'saml'],
  viewerGroups: ['oidc', 'saml'],
  teamGroups: ['oidc', 'saml'],
};
type SignInWay = (typeof SIGN_IN_MODES)[number];
export type SignInConfig = Config<typeof SIGN_IN_SETTINGS>;

/** How people sign in. */
export const signInMode = ({ mode }: Pick<SignInConfig, 'mode'>): SignInWay => mode ?? 'operator-token';

type Own = Pick<ConsoleConfig, 'host' | 'url' | 'operators'>;

/** Whether people open the console from other machines. */
export const isForOthers = ({ host, url }: Pick<ConsoleConfig, 'host' | 'url'>): boolean =>
  !isLoopback(host) || (url !== undefined && !isLoopback(new URL(url).hostname));

/** A token of the settings, without a second factor, is what development has: a console that others open does not start without a word of how they sign in (docker-compose.yml says one). */
const modeFault = (config: SignInConfig, own: Own): string | null =>
  config.mode === undefined && isForOthers(own)
    ? `GATE_CONSOLE_AUTH: is not set, and others open this console (${isLoopback(own.host) ? `GATE_CONSOLE_URL=${own.url}` : `GATE_CONSOLE_HOST=${own.host}`}): say how people sign in, ${SIGN_IN_MODES.slice(1).join(', ')}, or operator-token where a token of GATE_HIL_OPERATORS is enough to decide everything`
    : null;

/** Why somebody could not sign in, or somebody could who should not. Only of the way that is chosen. */
export function signInFaults(config: SignInConfig, own: Own): readonly (string | null)[] {
  const mode = signInMode(config);
  const needs = (variable: string, value: unknown): string | null =>
    value === undefined || (Array.isArray(value) && value.length === 0)
      ? `${variable}: is not set, and GATE_CONSOLE_AUTH=${mode} needs it`
      : null;
  if (mode === 'operator-token') return [modeFault(config, own), needs('GATE_HIL_OPERATORS', own.operators)];
  if (mode === 'webauthn')
    return [
      needs('GATE_CONSOLE_PASSKEY_TENANT', config.passkeyTenant),
      needs('GATE_CONSOLE_URL', own.url),
      unsafeAddress('GATE_CONSOLE_URL', own.url),
    ];
  const vouches = needs('GATE_HIL_DECIDE_TOKEN', config.decideToken);
  if (mode === 'basic-admin')
    return [
      vouches,
      needs('GATE_CONSOLE_ADMIN_USER', config.adminUser),
      needs('GATE_CONSOLE_ADMIN_PASS_BCRYPT', config.adminPassword),
      needs('GATE_CONSOLE_ADMIN_TENANT', config.adminTenant),
      isLoopback(own.host) || config.allowBasicNetwork
        ? null
        : `GATE_CONSOLE_HOST=${own.host} lets other machines try the password: GATE_CONSOLE_ALLOW_BASIC_ADMIN_NETWORK=true allows it`,
    ];
  if (mode === 'operator-mtls')
    return [
      vouches,
      needs('GATE_CONSOLE_OPERATORS_FILE', config.operatorsFile),
      needs('GATE_CONSOLE_OPERATOR_CA_FILE', config.operatorCaFile),
    ];
  const url = needs('GATE_CONSOLE_URL', own.url);
  if (mode === 'saml')
    return [
      vouches,
      url,
      needs('GATE_CONSOLE_SAML_ENTITY_ID', config.samlEntityId),
      needs('GATE_CONSOLE_SAML_ACS_URL', config.samlAcsUrl),
      needs('GATE_CONSOLE_SAML_IDP_METADATA_URL', config.samlMetadataUrl),
      needs('GATE_CONSOLE_SAML_GROUP_ATTRIBUTES', config.samlGroupAttributes),
      needs('GATE_CONSOLE_SAML_TENANT_ATTRIBUTE', config.samlTenantAttribute),
      needs('GATE_CONSOLE_SAML_MFA_ATTRIBUTE', config.samlMfaAttribute),
      acsFault(config, own),
      unsafeAddress('GATE_CONSOLE_URL', own.url),
      unsafeAddress('GATE_CONSOLE_SAML_IDP_METADATA_URL', config.samlMetadataUrl),
      ...groupFaults(config),
    ];
  return [
    vouches,
    url,
    needs('GATE_CONSOLE_OIDC_ISSUER', config.issuer),
    needs('GATE_CONSOLE_OIDC_CLIENT_ID', config.clientId),
    needs('GATE_CONSOLE_OIDC_CLIENT_SECRET', config.clientSecret),
    issuerFault(config),
    ...groupFaults(config),
  ];
}

function issuerFault({ issuer }: SignInConfig): string | null {
  const unsafe = unsafeAddress('GATE_CONSOLE_OIDC_ISSUER', issuer);
  if (issuer === undefined || unsafe !== null) return unsafe;
  const { search, hash, username, password } = new URL(issuer);
  return search + hash + username + password === ''
    ? null
    : 'GATE_CONSOLE_OIDC_ISSUER: an issuer has neither query, nor fragment, nor user';
}

/** Over HTTP anybody on the way could sign in as anybody; and a browser keeps no cookie for a sign-in by SAML. */
function unsafeAddress(variable: string, address: string | undefined): string | null {
  if (address === undefined) return null;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || isLoopback(hostname) ? null : `${variable}: must be https`;
}

/** An answer that is sent elsewhere reaches nobody, and one for another address is refused. */
function acsFault({ samlAcsUrl }: SignInConfig, { url }: Own): string | null {
  if (samlAcsUrl === undefined || url === undefined) return null;
  const right = new URL('/auth/saml/acs', url).href;
  return samlAcsUrl === right ? null : `GATE_CONSOLE_SAML_ACS_URL: must be ${right}, by GATE_CONSOLE_URL`;
}

function groupFaults({ adminGroups, approverGroups, viewerGroups }: SignInConfig): readonly (string | null)[] {
  const all = [...adminGroups, ...approverGroups, ...viewerGroups];
  const twice = all.find((group, index) => all.indexOf(group) !== index);
  const names = 'GATE_CONSOLE_FEDERATED_ADMIN_GROUPS, _APPROVER_GROUPS, _VIEWER_GROUPS';
  return [
    all.length === 0 ? `${names}: set one at least, or nobody signs in` : null,
    twice === undefined ? null : `${names}: ${twice} stands there twice, so its role is not known`,
  ];
}
