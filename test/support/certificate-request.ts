import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { type Extension, Pkcs10CertificateRequestGenerator } from '@peculiar/x509';

export const KEY_KINDS = {
  p256: [
    { name: 'ECDSA', namedCurve: 'P-256' },
    { name: 'ECDSA', hash: 'SHA-256' },
  ],
  ed25519: [{ name: 'Ed25519' }, { name: 'Ed25519' }],
  p384: [
    { name: 'ECDSA', namedCurve: 'P-384' },
    { name: 'ECDSA', hash: 'SHA-384' },
  ],
  rsa: [
    { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
    { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ],
} as const;
export type KeyKind = keyof typeof KEY_KINDS;

export const newKeyPair = (kind: KeyKind = 'p256'): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(KEY_KINDS[kind][0] as webcrypto.EcKeyGenParams, true, [
    'sign',
    'verify',
  ]) as Promise<webcrypto.CryptoKeyPair>;

export interface RequestOptions {
  readonly kind?: KeyKind;
  readonly keys?: webcrypto.CryptoKeyPair;
  readonly name?: string;
  readonly extensions?: Extension[];
}

/** A PKCS#10 request with a new key, unless one is given. */
export async function certificateRequest({
  kind = 'p256',
  keys,
  name = 'CN=somebody else',
  extensions = [],
}: RequestOptions = {}): Promise<{
  readonly pem: string;
  readonly keyPem: string;
}> {
  const pair = keys ?? (await newKeyPair(kind));
  const request = await Pkcs10CertificateRequestGenerator.create({
    name,
    keys: pair,
    signingAlgorithm: KEY_KINDS[kind][1] as webcrypto.EcdsaParams,
    extensions,
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey));
  const keyPem = `-----BEGIN PRIVATE KEY-----\n${der
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')}\n-----END PRIVATE KEY-----\n`;
  return { pem: request.toString('pem'), keyPem };
}
