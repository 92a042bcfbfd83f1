import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import type { PendingRequest } from '../../domain/identity/workload-renewal.js';

const P256 = { name: 'ECDSA', namedCurve: 'P-256' };
const ES256 = { name: 'ECDSA', hash: 'SHA-256' };
const { subtle } = webcrypto;

/** A request for a certificate, with a new key. Only the key counts: its subject is empty. */
export async function newCertificateRequest(): Promise<PendingRequest> {
  const { PemConverter, Pkcs10CertificateRequestGenerator } = await import('@peculiar/x509');
  const keys = await subtle.generateKey(P256, true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({ name: [], keys, signingAlgorithm: ES256 });
  return {
    requestId: uuidV7(),
    csr: request.toString('pem'),
    key: `${PemConverter.encode(await subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')}\n`,
  };
}
