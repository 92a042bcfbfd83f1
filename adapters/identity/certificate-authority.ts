import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import type { JsonGeneralNames } from '@peculiar/x509';
import { isIP } from 'node:net';
import { BOOTSTRAP_UNIT } from '../../domain/identity/spiffe.js';

/** A certificate and its private key (PKCS#8), both as PEM text. */
export interface Credential {
  readonly cert: string;
  readonly key: string;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** The content of a leaf certificate: one SPIFFE id as its only URI, the names a server answers to, and the allowed uses. */
export interface LeafProfile extends Validity {
  readonly commonName: string;
  readonly spiffe: string;
  /** Host names and addresses; empty for a client leaf. */
  readonly hosts: readonly string[];
  readonly usages: readonly ('server' | 'client')[];
  /** Good for the first certificate of a service, and for nothing else. */
  readonly isBootstrap?: boolean;
}

const P256 = { name: 'ECDSA', namedCurve: 'P-256' };
const ES256 = { name: 'ECDSA', hash: 'SHA-256' };
const { subtle } = webcrypto;

/** Loaded only to issue a certificate: most starts only read certificates, and this is a tenth of the code of a start. */
const x509 = () => import('@peculiar/x509');

/** A new root: ECDSA P-256, with the trust domain as its URI (SPIFFE X.509-SVID 3.1). It may sign only leaves. */
export async function createAuthority(trustDomain: string, validity: Validity): Promise<Credential> {
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, PemConverter, ...more } = await x509();
  const { SubjectAlternativeNameExtension, SubjectKeyIdentifierExtension, X509CertificateGenerator } = more;
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [`Gate ${trustDomain}`] }],
    serialNumber: newSerial(),
    ...validity,
    keys,
    signingAlgorithm: ES256,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      new SubjectAlternativeNameExtension([{ type: 'url', value: `spiffe://${trustDomain}` }]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: `${PemConverter.encode(await subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')}\n`,
  };
}

/** A new leaf with a new key, signed by `authority`, like `certify`. */
export async function issueLeaf(authority: Credential, profile: LeafProfile): Promise<Credential> {
  const { PemConverter } = await x509();
  const keys = await newKeys();
  const publicKey = new Uint8Array(await subtle.exportKey('spki', keys.publicKey));
  return {
    cert: await certify(authority, profile, publicKey),
    key: `${PemConverter.encode(await subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')}\n`,
  };
}

/**
 * A leaf over somebody's public key (SPKI DER), signed by `authority`, whose key is ECDSA P-256. It says what `profile` says, and has a random
 * 128-bit serial (docs/architecture/identity-and-routes.md#spiffe-ids).
 */
export async function certify(authority: Credential, profile: LeafProfile, publicKey: Uint8Array): Promise<string> {
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, PemConverter, PublicKey, ...more } =
    await x509();
  const { AuthorityKeyIdentifierExtension, ExtendedKeyUsage, ExtendedKeyUsageExtension } = more;
  const { SubjectAlternativeNameExtension, SubjectKeyIdentifierExtension, X509CertificateGenerator } = more;
  const issuer = new more.X509Certificate(authority.cert);
  const signingKey = await subtle.importKey('pkcs8', PemConverter.decodeFirst(authority.key), P256, false, ['sign']);
  const subjectKey = new PublicKey(new Uint8Array(publicKey));
  const names: JsonGeneralNames = [
    { type: 'url', value: profile.spiffe },
    ...profile.hosts.map((host) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host })),
  ];
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [profile.commonName] }, ...(profile.isBootstrap ? [{ OU: [BOOTSTRAP_UNIT] }] : [])],
    issuer: issuer.subject,
    serialNumber: newSerial(),
    notBefore: profile.notBefore,
    notAfter: profile.notAfter,
    publicKey: subjectKey,
    signingKey,
    signingAlgorithm: ES256,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension(profile.usages.map((usage) => ExtendedKeyUsage[`${usage}Auth`])),
      new SubjectAlternativeNameExtension(names),
      await SubjectKeyIdentifierExtension.create(subjectKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

/** The certificate of a credential; null when either part is unreadable or the key does not match the certificate. */
export function readCredential(credential: Credential): X509Certificate | null {
  try {
    const certificate = new X509Certificate(credential.cert);
    return certificate.checkPrivateKey(createPrivateKey(credential.key)) ? certificate : null;
  } catch {
    return null;
  }
}

/** Whether `authority` signed `leaf`, and `leaf` is valid at `now` for at least another `remainingMs`. */
export const validFor = (leaf: X509Certificate, authority: X509Certificate, now: Date, remainingMs: number): boolean =>
  leaf.checkIssued(authority) &&
  leaf.verify(authority.publicKey) &&
  Date.parse(leaf.validFrom) <= now.getTime() &&
  Date.parse(leaf.validTo) - now.getTime() >= remainingMs;

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return subtle.generateKey(P256, true, ['sign', 'verify']);
}

/** 128 bits, positive and without a leading zero byte. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x3f) | 0x40;
  return bytes.toString('hex');
}
