import { z } from 'zod';
import { RENEWALS_ATTESTED } from '../domain/identity/attestation.js';
import { CERTIFICATION_MODES } from '../domain/identity/registry.js';
import type { Config } from './env.js';
import { onOff, seconds, setting } from './env.js';
import { listenerSettings } from './listener.js';
import { SIGN_IN_SETTINGS } from './console-sign-in.js';
import { decideTokenText, parseOperators } from './hil.js';
import { keyReferenceIn } from '../domain/identity/key-reference.js';
import { PROXY_SETTINGS } from './proxy.js';
import { keyRingText, parsedBy } from './shared.js';

export const IDENTITY_SETTINGS = {
  ...listenerSettings('GATE_IDENTITY', 'the identity service', { port: 8086, healthPort: 9086 }),
  keys: setting(
    'GATE_IDENTITY_KEYS',
    keyRingText,
    'Keys that encrypt the private keys of the CA and of tokens, and mark rows of the store: id:64hex[,id:64hex…]; the first seals, all open.',
    { secret: true },
  ),
  caKeyFile: setting(
    'GATE_IDENTITY_CA_KEY_FILE',
    z.string().min(1),
    'The private key of a CA of `GATE_TLS_CA_FILE`, sealed with `GATE_IDENTITY_KEYS`, or where it lies (`pkcs11:` or `awskms:`); it signs every certificate of an agent.',
  ),
  signingKeyFile: setting(
    'GATE_IDENTITY_SIGNING_KEY_PATH',
    z.string().min(1),
    'The Ed25519 private key of tokens, sealed with `GATE_IDENTITY_KEYS`, or where it lies.',
  ),
  newKeys: setting(
    'GATE_IDENTITY_NEW_KEYS',
    z.string().refine(isPlaceOfKeys, 'must say where keys are made, with {key} for the name of one').optional(),
    'Where the keys that a rotation brings are made, and stay: a token (PKCS #11) or AWS KMS (docs/how-to/keep-keys-elsewhere.md). Without it they are made by identity and kept in its store, sealed.',
  ),
  workloadsFile: setting(
    'GATE_IDENTITY_WORKLOADS_FILE',
    z.string().min(1).optional(),
    "The processes of Gate that may ask for certificates, each with the digest of its bootstrap certificate (JSON, read whenever one asks). Without it, Gate's services have certificates from elsewhere.",
  ),
  oidcIssuersFile: setting(
    'GATE_IDENTITY_OIDC_ISSUERS_FILE',
    z.string().min(1).optional(),
    'The issuers whose people may delegate to agents, each for the agents of one tenant (JSON, read at the start). Without it nothing is granted.',
  ),
  peersFile: setting(
    'GATE_IDENTITY_PEERS_FILE',
    z.string().min(1).optional(),
    'Other Gates: whose agents may come here, as whom, and what proves who they are (JSON, read at the start). Without it no agent takes a token anywhere, and none comes with one.',
  ),
  tpm2AnchorsFile: setting(
    'GATE_IDENTITY_TPM2_ANCHORS_FILE',
    z.string().min(1).optional(),
    'The keys of TPMs whose quotes are evidence, each with its issuer, its name and its registers (JSON, read at the start). Without it no evidence is verified.',
  ),
  k8sClustersFile: setting(
    'GATE_IDENTITY_K8S_CLUSTERS_FILE',
    z.string().min(1).optional(),
    'The clusters of Kubernetes whose tokens of pods are evidence, each with its issuer and the keys that sign them (JSON, read at the start). Without it no token of a pod is evidence.',
  ),
  renewalsAttested: setting(
    'GATE_IDENTITY_RENEWALS_ATTESTED',
    z.enum(RENEWALS_ATTESTED).default('none'),
    'Which certificates of agents are renewed with evidence of the platform alone: `none`; `named`, those of agents whose kinds of evidence an administrator named; `all`. Evidence that comes with a request is verified either way.',
  ),
  /** Proxies that judge by attestation ask here. */
  proxyAttestation: PROXY_SETTINGS.attestation,
  revocationSecs: setting(
    'GATE_IDENTITY_REVOCATION_SECS',
    seconds(300, 10, 900),
    'How long a proxy goes on with the revocations that it knows where identity does not answer; then no certificate of an agent counts.',
  ),
  supersededSecs: setting(
    'GATE_IDENTITY_SUPERSEDED_SECS',
    seconds(60, 0, 3_600),
    'How long a certificate counts beside the one that took its place, for calls only: nothing is renewed with it.',
  ),
  renewalsPerHour: setting(
    'GATE_IDENTITY_RENEWALS_PER_HOUR',
    z.coerce.number().int().min(1).max(3_600).default(60),
    'Certificates that an agent may ask for in an hour with the one before.',
  ),
  mostRenewals: setting(
    'GATE_IDENTITY_MOST_RENEWALS',
    z.coerce.number().int().min(1).max(1_000_000).default(10_000),
    'Certificates that an agent gets with the one before since a person let it in: more than a year of one an hour. Then a person opens a recovery.',
  ),
  upstreamsArePrivate: setting(
    'GATE_UPSTREAM_ALLOW_PRIVATE',
    onOff,
    'Whether an upstream that is registered may be in a private network, on this machine, or have a host of one label.',
  ),
  certification: setting(
    'GATE_IDENTITY_CERTIFICATION_MODE',
    z.enum(CERTIFICATION_MODES).default('off'),
    'Whether an agent needs to be certified for a certificate: `off`; `flag` says so in the row of each certificate that is issued to one that is not (`uncertified_agent`); `enforce` issues none.',
  ),
  forceHilSecs: setting(
    'GATE_IDENTITY_FORCE_HIL_TTL_SECS',
    seconds(1_800, 60, 604_800),
    'How long every call of an agent waits for a person where who says so does not say how long.',
  ),
  announceSecs: setting(
    'GATE_IDENTITY_KEY_ANNOUNCE_SECS',
    seconds(3_900, 1, 2_592_000),
    'How long another key of identity is published before it signs. Agents hear of another CA with their next certificate: below 3,900 one that renews once an hour loses its connection to the proxy.',
  ),
  adminToken: setting(
    'GATE_IDENTITY_ADMIN_TOKEN',
    z.string().min(32, 'must have at least 32 characters').optional(),
    'With this bearer token the console may do everything at identity, for the tenant of `GATE_DEPLOYMENT_TENANT`. Without it nobody enrols or revokes.',
    { secret: true },
  ),
  deploymentTenant: setting(
    'GATE_DEPLOYMENT_TENANT',
    z
      .string()
      .regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,63}$/, 'must be a label of a SPIFFE id')
      .optional(),
    'The tenant of `GATE_IDENTITY_ADMIN_TOKEN`.',
  ),
} as const;

function isPlaceOfKeys(text: string): boolean {
  try {
    keyReferenceIn(text, 'name');
    return true;
  } catch {
    return false;
  }
}

/** Who stops agents, besides the token of the administrator: those who decide about calls. */
export const IDENTITY_PEOPLE_SETTINGS = {
  operators: setting(
    'GATE_HIL_OPERATORS',
    parsedBy(parseOperators).default([]),
    'Who may stop agents (`gate contain`), as for decisions: name@tenant:token[,…]. Two of them lift a suspension.',
    { secret: true },
  ),
  decideToken: setting(
    'GATE_HIL_DECIDE_TOKEN',
    decideTokenText,
    'What proves that the console vouches for people who signed in there, as for decisions. Without it only operators by token stop agents, and the token of the administrator.',
    { secret: true },
  ),
  /** Whether the console vouches for whoever signs in: somebody else could confirm then. */
  signIn: SIGN_IN_SETTINGS.mode,
  adminTenant: SIGN_IN_SETTINGS.adminTenant,
} as const;

/** A token of no tenant could be used for nothing. */
export const adminFault = ({ adminToken, deploymentTenant }: Config<typeof IDENTITY_SETTINGS>): string | null =>
  adminToken !== undefined && deploymentTenant === undefined
    ? 'GATE_DEPLOYMENT_TENANT: must name the tenant of GATE_IDENTITY_ADMIN_TOKEN'
    : null;

/** What asks for evidence would have it refused, each time, where nobody verifies it. */
export function verifierFault({
  tpm2AnchorsFile,
  k8sClustersFile,
  renewalsAttested,
  proxyAttestation,
}: Config<typeof IDENTITY_SETTINGS>): string | null {
  if (tpm2AnchorsFile !== undefined || k8sClustersFile !== undefined) return null;
  const asking =
    renewalsAttested !== 'none'
      ? `GATE_IDENTITY_RENEWALS_ATTESTED is ${renewalsAttested}`
      : proxyAttestation === 'required' && 'GATE_PROXY_ATTESTATION is required';
  return asking
    ? `GATE_IDENTITY_TPM2_ANCHORS_FILE: must name the keys that evidence is verified by, or GATE_IDENTITY_K8S_CLUSTERS_FILE the clusters, since ${asking}`
    : null;
}
