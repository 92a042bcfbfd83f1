import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import type { JsonGeneralNames } from '@peculiar/x509';
import { isIP } from 'node:net';
import { type HeldKey, keyInMemory } from '../../domain/identity/held-key.js';
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
  const { PemConverter } = await x509();
  const { privateKey } = await newKeys();
  const key = `${PemConverter.encode(await subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY')}\n`;
  return { cert: await authorityBy(keyInMemory(createPrivateKey(key)), trustDomain, validity), key };
}

/** The certificate of such a root over a key that may lie elsewhere. Throws what that one throws. */
export async function authorityBy(key: HeldKey, trustDomain: string, validity: Validity): Promise<string> {
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, PublicKey, ...more } = await x509();
  const { SubjectAlternativeNameExtension, SubjectKeyIdentifierExtension, X509CertificateGenerator } = more;
  const publicKey = new PublicKey(new Uint8Array(key.publicKey.export({ type: 'spki', format: 'der' })));
  const name = [{ CN: [`Gate ${trustDomain}`] }];
  const certificate = await X509CertificateGenerator.create(
    {
      subject: name,
      issuer: name,
      serialNumber: newSerial(),
      ...validity,
      publicKey,
      signingKey: SIGNED_ELSEWHERE,
      signingAlgorithm: ES256,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        new SubjectAlternativeNameExtension([{ type: 'url', value: `spiffe://${trustDomain}` }]),
        await SubjectKeyIdentifierExtension.create(publicKey),
      ],
    },
    signingBy(key),
  );
  return `${certificate.toString('pem')}\n`;
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
export const certify = (authority: Credential, profile: LeafProfile, publicKey: Uint8Array): Promise<string> =>
  certifyBy({ cert: authority.cert, key: keyInMemory(createPrivateKey(authority.key)) }, profile, publicKey);

/** The same by a key that may lie elsewhere. Throws what that one throws. */
export async function certifyBy(
  authority: { readonly cert: string; readonly key: HeldKey },
  profile: LeafProfile,
  publicKey: Uint8Array,
): Promise<string> {
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, PublicKey, ...more } = await x509();
  const { AuthorityKeyIdentifierExtension, ExtendedKeyUsage, ExtendedKeyUsageExtension } = more;
  const { SubjectAlternativeNameExtension, SubjectKeyIdentifierExtension, X509CertificateGenerator } = more;
  const issuer = new more.X509Certificate(authority.cert);
  const subjectKey = new PublicKey(new Uint8Array(publicKey));
  const names: JsonGeneralNames = [
    { type: 'url', value: profile.spiffe },
    ...profile.hosts.map((host) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host })),
  ];
  const certificate = await X509CertificateGenerator.create(
    {
      subject: [{ CN: [profile.commonName] }, ...(profile.isBootstrap ? [{ OU: [BOOTSTRAP_UNIT] }] : [])],
      issuer: issuer.subject,
      serialNumber: newSerial(),
      notBefore: profile.notBefore,
      notAfter: profile.notAfter,
      publicKey: subjectKey,
      signingKey: SIGNED_ELSEWHERE,
      signingAlgorithm: ES256,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension(profile.usages.map((usage) => ExtendedKeyUsage[`${usage}Auth`])),
        new SubjectAlternativeNameExtension(names),
        await SubjectKeyIdentifierExtension.create(subjectKey),
        await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ],
    },
    signingBy(authority.key),
  );
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

/** Only its algorithm is read of a key where another one signs. */
const SIGNED_ELSEWHERE = { algorithm: P256 } as unknown as webcrypto.CryptoKey;
/** The one thing that is asked of WebCrypto where a certificate is made. */
const signingBy = (key: HeldKey): Crypto =>
  ({
    subtle: {
      sign: async (_algorithm: unknown, _key: unknown, bytes: Uint8Array) => await key.sign(new Uint8Array(bytes)),
    },
  }) as unknown as Crypto;

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return subtle.generateKey(P256, true, ['sign', 'verify']);
}

/** 128 bits, positive and without a leading zero byte. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x3f) | 0x40;
  return bytes.toString('hex');
}
