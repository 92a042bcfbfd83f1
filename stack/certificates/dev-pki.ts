import { isKeyList, type ListedUse, publicKeyOf, readKeyList, signingKeyOf } from '../../domain/identity/key-list.js';
import 'reflect-metadata';
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  X509Certificate,
} from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join, parse, resolve } from 'node:path';
import { type KeyRing, parseKeyRing } from '../../domain/crypto/key-ring.js';
import {
  type Credential,
  createAuthority,
  issueLeaf,
  type LeafProfile,
  readCredential,
  validFor,
} from '../../adapters/identity/certificate-authority.js';
import { type KeyUse, type PinnedWorkload, pinnedWorkloads } from '../../contracts/identity.js';
import { openKey, sealKey } from '../../adapters/identity/sealed-key.js';
import {
  agentSpiffe,
  fingerprintOf,
  parseSpiffe,
  serviceSpiffe,
  spiffeOfCertificate,
} from '../../domain/identity/spiffe.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import { PRIVATE_FILE, PUBLIC_FILE, readIfPresent, replaceFile } from '../../adapters/store/durable-file.js';
import { withFileLock } from '../file-lock.js';

/** As whom the operator's own commands ask: services have their certificates of identity. */
const OPERATORS_WORKLOAD = 'console';
/** Calls services and is none of Gate's own: whoever runs it brings this certificate. */
const SIMULATOR = 'simulator';

/** The tenant and the agents that exist after the first start. `dev-agent` has no persona: it is for the operator's own tools. */
export const DEVELOPMENT_TENANT = 'acme';
export const DEVELOPMENT_AGENTS = ['support-bot', 'build-bot', 'dev-agent'] as const;
/** The agents for the demonstration tools. */
export const DEMO_AGENTS = [`${DEVELOPMENT_TENANT}/support-bot`, `${DEVELOPMENT_TENANT}/build-bot`] as const;

/** A leaf with everything one end of a TLS connection needs, as text and as absolute paths. */
export interface DevLeaf extends Credential {
  readonly spiffe: string;
  /** PEM of the CA that signs both ends. */
  readonly ca: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface SealedKeyFile {
  readonly text: string;
  readonly file: string;
}

export interface DevPki {
  readonly stateDir: string;
  readonly trustDomain: string;
  readonly ca: string;
  /** The CAs that count, as others are given them. */
  readonly trusted: string;
  readonly caFile: string;
  /** The private key of the CA, sealed with the key ring of `secrets/identity-keys`. */
  readonly sealedCaKey: SealedKeyFile;
  /** Of the operator's own commands, which ask as the console. */
  readonly console: DevLeaf;
  /** By agent name, all of tenant `acme`. */
  readonly agents: Readonly<Record<(typeof DEVELOPMENT_AGENTS)[number], DevLeaf>>;
  /** By the names given in `also`. */
  readonly also: Readonly<Record<string, DevLeaf>>;
  /** The file of `GATE_IDENTITY_WORKLOADS_FILE`. */
  readonly workloadsFile: string;
}

export interface DevPkiOptions {
  readonly stateDir: string;
  readonly trustDomain: string;
  /** Names by which a service is reached besides localhost, 127.0.0.1 and ::1, such as service names of a container network. */
  readonly hosts?: readonly string[];
  /** Further workloads that get a leaf, such as the workflow engine's. */
  readonly also?: readonly string[];
}

const DAY_MS = 86_400_000;
const LEAF_DAYS = 365;
const CA_DAYS = 3_650;
const RENEW_DAYS = 30;
const LOCAL_HOSTS = ['localhost', '127.0.0.1', '::1'];
/**
 * Certificates begin in the past. If a clock was set back by hours, or differs between machines that share a state folder, certificates
 * from the future would break every handshake, and the next start would make another CA, which nobody trusts.
 */
const BACKDATE_MS = DAY_MS;

/**
 * The development certificate authority with a leaf per agent and one for the operator's commands, under `<stateDir>/pki`
 * (docs/architecture/identity-and-routes.md#development). Made on the first call; later calls return what is there and renew only what
 * has less than 30 days left, was signed by another CA, misses a host or is damaged. Safe to repeat, to interrupt at any point, and to
 * run in several processes at once. Keys are readable by the owner only.
 */
export async function ensureDevelopmentPki(options: DevPkiOptions): Promise<DevPki> {
  const { trustDomain } = options;
  const stateDir = resolve(options.stateDir);
  const folder = join(stateDir, 'pki');
  return withFileLock(join(folder, '.lock'), { timeoutMs: 30_000 }, async () => {
    const authority = await ensureAuthority(stateDir, trustDomain);
    const hosts = [...new Set([...LOCAL_HOSTS, ...(options.hosts ?? [])])];
    const leafOf = (name: string): Promise<DevLeaf> => {
      const spiffe = serviceSpiffe(trustDomain, name);
      return ensureLeaf(join(folder, 'services', name), authority, {
        accepts: (found, certificate) => found === spiffe && hosts.every((host) => names(certificate, host)),
        profile: () => ({ commonName: name, spiffe, hosts, usages: ['server', 'client'], ...lifetime(LEAF_DAYS) }),
      });
    };
    const console_ = await leafOf(OPERATORS_WORKLOAD);
    await leafOf(SIMULATOR);
    const also: Record<string, DevLeaf> = {};
    for (const name of options.also ?? []) also[name] = await leafOf(name);
    removeOthers(join(folder, 'services'), [OPERATORS_WORKLOAD, SIMULATOR, ...Object.keys(also)]);
    const agents = {} as Record<(typeof DEVELOPMENT_AGENTS)[number], DevLeaf>;
    for (const name of DEVELOPMENT_AGENTS) {
      agents[name] = await ensureAgent(folder, authority, trustDomain, DEVELOPMENT_TENANT, name);
    }
    const { cert: ca, certFile: caFile, sealedCaKey } = authority;
    const workloadsFile = pinsOf(stateDir);
    if (readIfPresent(workloadsFile, PRIVATE_FILE) === null) writePins(workloadsFile, []);
    const trusted = readIfPresent(caFile, PUBLIC_FILE) ?? ca;
    return { stateDir, trustDomain, ca, trusted, caFile, sealedCaKey, console: console_, agents, also, workloadsFile };
  });
}

/** An earlier Gate left a key here for each service, with a certificate of a year. */
function removeOthers(folder: string, kept: readonly string[]): void {
  for (const file of readdirSync(folder))
    if (!kept.includes(parse(file).name)) rmSync(join(folder, file), { force: true });
}

/**
 * A leaf for one more agent, stored beside the others in `pki/agents/<tenant>/<agent>` and reused while it is valid. `profile` replaces
 * parts of it, to make a leaf that must be refused; such a leaf is always made anew.
 */
export async function issueAgent(
  pki: Pick<DevPki, 'stateDir' | 'trustDomain'>,
  tenant: string,
  agent: string,
  profile?: Partial<LeafProfile>,
): Promise<DevLeaf> {
  const folder = resolve(pki.stateDir, 'pki');
  return withFileLock(join(folder, '.lock'), { timeoutMs: 30_000 }, async () =>
    ensureAgent(folder, await ensureAuthority(pki.stateDir, pki.trustDomain), pki.trustDomain, tenant, agent, profile),
  );
}

/**
 * Gives whoever reads `pki/ca/ca.crt` the CAs that identity publishes. The certificate of the CA that signs here stays beside it, also where it counts no
 * more.
 */
export async function publishTrust(pki: Pick<DevPki, 'stateDir' | 'ca' | 'caFile'>, pem: string): Promise<void> {
  await withFileLock(join(resolve(pki.stateDir), 'pki', '.lock'), { timeoutMs: 30_000 }, async () => {
    const own = ownCaFile(pki.caFile);
    if (readIfPresent(own, PUBLIC_FILE) !== pki.ca) replaceFile(own, pki.ca, PUBLIC_FILE);
    if (readIfPresent(pki.caFile, PUBLIC_FILE) !== pem) replaceFile(pki.caFile, pem, PUBLIC_FILE);
  });
}
const ownCaFile = (caFile: string): string => join(dirname(caFile), 'own-ca.crt');

/** Which processes may ask identity for a certificate, and with which of their own. */
const pinsOf = (stateDir: string): string => join(resolve(stateDir), 'pki', 'workloads.json');
const writePins = (file: string, workloads: readonly PinnedWorkload[]): void =>
  replaceFile(file, `${JSON.stringify({ workloads }, null, 2)}\n`, PRIVATE_FILE);

/**
 * A new bootstrap certificate for each of these processes, with which it gets its first certificate of identity, once
 * (docs/architecture/identity.md#services). Each is pinned in the place of the one before, which then counts no more.
 * A process uses its own as it starts, so it is good for a day: one that nobody used lies on a disk and opens nothing later.
 */
export async function issueBootstraps<Name extends string>(
  pki: Pick<DevPki, 'stateDir' | 'trustDomain'>,
  workloads: readonly { readonly name: Name; readonly service: string }[],
  { hosts = [], forMs = DAY_MS }: { readonly hosts?: readonly string[]; readonly forMs?: number } = {},
): Promise<Readonly<Record<Name, Credential>>> {
  const folder = resolve(pki.stateDir, 'pki');
  return withFileLock(join(folder, '.lock'), { timeoutMs: 30_000 }, async () => {
    const authority = await ensureAuthority(pki.stateDir, pki.trustDomain);
    const file = pinsOf(pki.stateDir);
    const stored = readIfPresent(file, PRIVATE_FILE);
    const pins = new Map(
      (stored === null ? [] : pinnedWorkloads.parse(JSON.parse(stored)).workloads).map((pin) => [pin.name, pin]),
    );
    const made = {} as Record<Name, Credential>;
    for (const { name, service } of workloads) {
      made[name] = await issueLeaf(authority, {
        commonName: name,
        spiffe: serviceSpiffe(pki.trustDomain, service),
        hosts: [...new Set([...LOCAL_HOSTS, ...hosts])],
        usages: ['client'],
        isBootstrap: true,
        notBefore: new Date(Date.now() - BACKDATE_MS),
        notAfter: new Date(Date.now() + forMs),
      });
      const digest = fingerprintOf(new X509Certificate(made[name].cert));
      pins.set(name, { name, service, bootstrap_sha256: digest });
    }
    writePins(file, [...pins.values()]);
    return made;
  });
}

interface StoredCredential extends Credential {
  readonly certificate: X509Certificate;
}
interface Authority extends StoredCredential {
  readonly certFile: string;
  readonly sealedCaKey: SealedKeyFile;
}

const lifetime = (days: number): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(Date.now() - BACKDATE_MS),
  notAfter: new Date(Date.now() + days * DAY_MS),
});

/**
 * The CA, whose key lies sealed on disk; one that an earlier Gate left in clear text is sealed and removed. The identity service signs with the
 * same key.
 */
async function ensureAuthority(stateDir: string, trustDomain: string): Promise<Authority> {
  const folder = resolve(stateDir, 'pki', 'ca');
  const [certFile, clearFile, file] = ['ca.crt', 'ca.key', 'ca.key.sealed'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const ringFile = resolve(stateDir, 'secrets', 'identity-keys');
  // A new ring opens nothing that an earlier one sealed.
  if (existsSync(file) && !existsSync(ringFile))
    throw new Error(`${ringFile} is gone, and ${file} is sealed with it: restore it, or remove the whole state folder`);
  const keys = parseKeyRing(ensureKeyRing(ringFile));
  const kept = (key: string, cert: string, certificate: X509Certificate, text: string): Authority => ({
    cert,
    key,
    certificate,
    certFile,
    sealedCaKey: { text, file },
  });
  const stored = loadAuthority({ certFile, clearFile, file, keys });
  // A leaf never outlives its CA, so a CA is replaced when it could no longer sign a leaf of full length.
  const remainingMs = (LEAF_DAYS + RENEW_DAYS) * DAY_MS;
  if (
    stored &&
    validFor(stored.certificate, stored.certificate, new Date(), remainingMs) &&
    spiffeOfCertificate(stored.certificate) === `spiffe://${trustDomain}`
  ) {
    if (stored.sealed !== null) {
      // A start that ended between sealing it and this left it.
      rmSync(clearFile, { force: true });
      return kept(stored.key, stored.cert, stored.certificate, stored.sealed);
    }
    const text = sealKey(keys, 'certificates', stored.key);
    replaceFile(file, text, PRIVATE_FILE);
    rmSync(clearFile, { force: true });
    return kept(stored.key, stored.cert, stored.certificate, text);
  }
  const made = await createAuthority(trustDomain, lifetime(CA_DAYS));
  const text = sealKey(keys, 'certificates', made.key);
  replaceFile(file, text, PRIVATE_FILE);
  rmSync(ownCaFile(certFile), { force: true });
  replaceFile(certFile, made.cert, PUBLIC_FILE);
  rmSync(clearFile, { force: true });
  return kept(made.key, made.cert, new X509Certificate(made.cert), text);
}

/** `sealed` is null for a key in clear text. Null for what is missing or does not fit. */
function loadAuthority(from: {
  readonly certFile: string;
  readonly clearFile: string;
  readonly file: string;
  readonly keys: KeyRing;
}): (StoredCredential & { readonly sealed: string | null }) | null {
  const sealed = readIfPresent(from.file, PRIVATE_FILE);
  if (sealed === null) {
    const clear = load({ certFile: from.certFile, keyFile: from.clearFile });
    return clear && { ...clear, sealed: null };
  }
  const cert = readIfPresent(ownCaFile(from.certFile), PUBLIC_FILE) ?? readIfPresent(from.certFile, PUBLIC_FILE);
  const key = openedKey(from.keys, sealed, from.file);
  const certificate = cert !== null ? readCredential({ cert, key }) : null;
  return certificate && { cert: cert as string, key, certificate, sealed };
}

/** Throws where it does not open: a new CA in its place would be past mending. */
function openedKey(keys: KeyRing, sealed: string, file: string): string {
  try {
    return openKey(keys, 'certificates', sealed);
  } catch (error) {
    throw new Error(
      `${file} does not open with secrets/identity-keys: restore both from one backup, or remove the whole state folder`,
      { cause: error },
    );
  }
}

async function ensureAgent(
  folder: string,
  authority: Authority,
  trustDomain: string,
  tenant: string,
  agent: string,
  override?: Partial<LeafProfile>,
): Promise<DevLeaf> {
  // The name becomes a path, so it is checked before anything is written.
  if (!parseSpiffe(agentSpiffe(trustDomain, tenant, agent, uuidV7()), trustDomain))
    throw new Error(`${tenant}/${agent} is not an agent name: two labels of 1 to 63 letters, digits, dot, _ or -`);
  return ensureLeaf(join(folder, 'agents', tenant, agent), authority, {
    accepts: (found) => {
      const identity = parseSpiffe(found, trustDomain);
      return !override && identity?.kind === 'agent' && identity.tenant === tenant && identity.agent === agent;
    },
    // The registered name is stable, the instance changes at every issue (docs/architecture/identity-and-routes.md#spiffe-ids).
    profile: () => ({
      commonName: agent,
      spiffe: agentSpiffe(trustDomain, tenant, agent, uuidV7()),
      hosts: [],
      usages: ['client'],
      ...lifetime(LEAF_DAYS),
      ...override,
    }),
  });
}

async function ensureLeaf(
  path: string,
  authority: Authority,
  want: { accepts: (spiffe: string, certificate: X509Certificate) => boolean; profile: () => LeafProfile },
): Promise<DevLeaf> {
  const files = { certFile: `${path}.crt`, keyFile: `${path}.key` };
  const stored = load(files);
  const spiffe = stored && spiffeOfCertificate(stored.certificate);
  if (
    stored &&
    spiffe &&
    validFor(stored.certificate, authority.certificate, new Date(), RENEW_DAYS * DAY_MS) &&
    want.accepts(spiffe, stored.certificate)
  )
    return { cert: stored.cert, key: stored.key, spiffe, ca: authority.cert, ...files };
  const profile = want.profile();
  const { cert, key } = save(files, await issueLeaf(authority, profile));
  return { cert, key, spiffe: profile.spiffe, ca: authority.cert, ...files };
}

interface CredentialFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

function load({ certFile, keyFile }: CredentialFiles): StoredCredential | null {
  const cert = readIfPresent(certFile, PUBLIC_FILE);
  const key = readIfPresent(keyFile, PRIVATE_FILE);
  const certificate = cert !== null && key !== null ? readCredential({ cert, key }) : null;
  return certificate && { cert: cert as string, key: key as string, certificate };
}

/** A crash between the two writes leaves a key that does not match its certificate; the next start notices and issues both again. */
function save({ certFile, keyFile }: CredentialFiles, credential: Credential): StoredCredential {
  replaceFile(keyFile, credential.key, PRIVATE_FILE);
  replaceFile(certFile, credential.cert, PUBLIC_FILE);
  const certificate = readCredential(credential);
  if (!certificate) throw new Error(`${certFile}: the new certificate does not fit its key`);
  return { ...credential, certificate };
}

const names = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host, { wildcards: false })) !== undefined;

/** A signing key pair, PEM text and absolute paths. */
export interface SigningKey {
  readonly key: string;
  readonly pub: string;
  readonly keyFile: string;
  readonly pubFile: string;
  /** First 16 hex digits of SHA-256 over the public key's DER: names the key in what it signed. */
  readonly keyId: string;
}

export interface DevelopmentSecrets {
  readonly operatorToken: string;
  /** A strict call needs two people. */
  readonly secondOperatorToken: string;
  /** Key rings (`dev1:<64 hex>`), one per store, so that none opens another's values. */
  readonly payloadKeys: string;
  readonly recordKeys: string;
  readonly hilPayloadKeys: string;
  readonly ledgerSidecarKeys: string;
  readonly policyStoreKeys: string;
  readonly callbackSecret: string;
  /** 64 hex digits: HIL derives links to decisions from it. */
  readonly hilSessionKey: string;
  /** The console vouches for people with it. */
  readonly hilDecideToken: string;
  /** 64 hex digits: the console derives what it hands to browsers from it. */
  readonly consoleSessionKey: string;
  /** HIL signs decisions with it; the workflow's side only holds the public half. */
  readonly hilDecisionKey: SigningKey;
  readonly ledgerKey: SigningKey;
  /** The ledger signs checkpoints with it. */
  readonly checkpointKey: SigningKey;
  /** The ledger signs regulatory bundles with it. */
  readonly exportKey: SigningKey;
  /** Seals the private keys of identity. */
  readonly identityKeys: string;
  readonly identityAdminToken: string;
  /** The key of tokens, sealed. */
  readonly identityTokenKey: SealedKeyFile;
}

/**
 * The secrets and signing keys of a development stack, under `<stateDir>/secrets` and `<stateDir>/keys`, readable only by the owner. Made
 * once and never replaced, because stored data can be opened only with them: a damaged one stops the start with its path.
 */
export async function ensureDevelopmentSecrets(options: { readonly stateDir: string }): Promise<DevelopmentSecrets> {
  const stateDir = resolve(options.stateDir);
  return withFileLock(join(stateDir, 'secrets', '.lock'), { timeoutMs: 30_000 }, async () => ({
    operatorToken: ensureToken(join(stateDir, 'secrets', 'operator-token')),
    secondOperatorToken: ensureToken(join(stateDir, 'secrets', 'second-operator-token')),
    payloadKeys: ensureKeyRing(join(stateDir, 'secrets', 'payload-keys')),
    recordKeys: ensureKeyRing(join(stateDir, 'secrets', 'record-keys')),
    hilPayloadKeys: ensureKeyRing(join(stateDir, 'secrets', 'hil-payload-keys')),
    ledgerSidecarKeys: ensureKeyRing(join(stateDir, 'secrets', 'ledger-sidecar-keys')),
    policyStoreKeys: ensureKeyRing(join(stateDir, 'secrets', 'policy-store-keys')),
    callbackSecret: ensureToken(join(stateDir, 'secrets', 'callback-secret')),
    hilSessionKey: ensureSessionKey(join(stateDir, 'secrets', 'hil-session-key')),
    hilDecideToken: ensureToken(join(stateDir, 'secrets', 'hil-decide-token')),
    consoleSessionKey: ensureSessionKey(join(stateDir, 'secrets', 'console-session-key')),
    hilDecisionKey: ensureSigningKey(join(stateDir, 'keys', 'hil-decision')),
    ledgerKey: ensureSigningKey(join(stateDir, 'keys', 'ledger'), 'authorizations'),
    checkpointKey: ensureSigningKey(join(stateDir, 'keys', 'ledger-checkpoint'), 'checkpoints'),
    exportKey: ensureSigningKey(join(stateDir, 'keys', 'ledger-export'), 'exports'),
    identityKeys: ensureKeyRing(join(stateDir, 'secrets', 'identity-keys')),
    identityAdminToken: ensureToken(join(stateDir, 'secrets', 'identity-admin-token')),
    identityTokenKey: ensureSealedKey(stateDir, 'tokens', 'identity-tokens'),
  }));
}

function ensureSecret(file: string, make: () => string, check: (text: string) => boolean): string {
  const stored = readIfPresent(file, PRIVATE_FILE)?.trim();
  if (stored === undefined) {
    const text = make();
    replaceFile(file, `${text}\n`, PRIVATE_FILE);
    return text;
  }
  if (!check(stored)) throw new Error(`${file} is damaged; restore it, or remove the whole state folder with its data`);
  return stored;
}

/** A random token of 43 characters in a file of its own, made once. */
export const ensureToken = (file: string): string =>
  ensureSecret(
    file,
    () => randomBytes(32).toString('base64url'),
    (text) => /^[A-Za-z0-9_-]{32,}$/.test(text),
  );

const ensureSessionKey = (file: string): string =>
  ensureSecret(
    file,
    () => randomBytes(32).toString('hex'),
    (text) => /^[0-9a-f]{64}$/.test(text),
  );

const ensureKeyRing = (file: string): string =>
  ensureSecret(
    file,
    () => `dev1:${randomBytes(32).toString('hex')}`,
    (text) => {
      try {
        return parseKeyRing(text).activeKeyId !== '';
      } catch {
        return false;
      }
    },
  );

/** An Ed25519 key that lies on disk only under the keys of identity. */
function ensureSealedKey(stateDir: string, use: KeyUse, name: string): SealedKeyFile {
  const keys = parseKeyRing(ensureKeyRing(join(stateDir, 'secrets', 'identity-keys')));
  const file = join(stateDir, 'keys', `${name}.key.sealed`);
  const make = () =>
    sealKey(keys, use, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const text = ensureSecret(
    file,
    () => make().trim(),
    (sealed) => {
      try {
        return isEd25519(openKey(keys, use, sealed));
      } catch {
        return false;
      }
    },
  );
  return { text: `${text}\n`, file };
}

/** With a `use` also a list of such keys, which a rotation made of the file: then the key that signs. */
export function ensureSigningKey(path: string, use?: ListedUse): SigningKey {
  const [keyFile, pubFile] = [`${path}.key`, `${path}.pub`];
  if (readIfPresent(keyFile, PRIVATE_FILE) === null && readIfPresent(pubFile, PUBLIC_FILE) !== null)
    throw new Error(
      `${keyFile} is missing while ${pubFile} is there; restore it: what it signed could not be told apart`,
    );
  const key = `${ensureSecret(
    keyFile,
    () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim(),
    (text) => isEd25519(text) || (use !== undefined && isKeyList(text)),
  )}\n`;
  const publicKey =
    use !== undefined && isKeyList(key)
      ? publicKeyOf(signingKeyOf(readKeyList(key, use), Date.now()))
      : createPublicKey(createPrivateKey(key));
  const pub = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  if (readIfPresent(pubFile, PUBLIC_FILE) !== pub) replaceFile(pubFile, pub, PUBLIC_FILE);
  const keyId = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 16);
  return { key, pub, keyFile, pubFile, keyId };
}

function isEd25519(text: string): boolean {
  try {
    return createPrivateKey(text).asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
}
