import 'reflect-metadata';
import { createPublicKey, hash } from 'node:crypto';
import { GateError } from '../../domain/errors.js';
import type { CertificateRequest } from '../../domain/identity/issuing.js';

/** A certification request of 16 KiB is larger than any that holds a key and a name. */
export const MOST_CSR_BYTES = 16_384;

/**
 * Reads a PKCS#10 request (RFC 2986) and proves that whoever made it has the private key. Of what it says only the key is taken: its subject
 * counts for nothing, and one that asks for extensions is refused. ECDSA P-256 with SHA-256, or Ed25519.
 */
export async function readCertificateRequest(pem: string): Promise<CertificateRequest> {
  if (Buffer.byteLength(pem) > MOST_CSR_BYTES) throw new GateError('csr_too_large');
  const { Pkcs10CertificateRequest } = await import('@peculiar/x509');
  const request = parsed(() => new Pkcs10CertificateRequest(pemBody(pem)));
  const publicKey = Buffer.from(request.publicKey.rawData);
  if (!isSupported(publicKey, request.signatureAlgorithm)) throw new GateError('unsupported_csr_algorithm');
  if (!(await request.verify().catch(() => false))) throw new GateError('invalid_csr_signature');
  if (request.attributes.length > 0 || request.extensions.length > 0) throw new GateError('csr_extensions_forbidden');
  return {
    csrSha256: hash('sha256', Buffer.from(request.rawData)),
    publicKey,
    publicKeySha256: hash('sha256', publicKey),
  };
}

const PEM =
  /^\s*-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----\s([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----\s*$/;

/** The DER of exactly one request. */
function pemBody(pem: string): Uint8Array<ArrayBuffer> {
  const [, body] = PEM.exec(pem) ?? [];
  if (body === undefined) throw new GateError('invalid_csr');
  return new Uint8Array(Buffer.from(body, 'base64'));
}

function parsed<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new GateError('invalid_csr', undefined, { cause: error });
  }
}

function isSupported(publicKey: Buffer, signature: { readonly name: string; readonly hash?: unknown }): boolean {
  const key = parsed(() => createPublicKey({ key: publicKey, format: 'der', type: 'spki' }));
  if (key.asymmetricKeyType === 'ed25519') return signature.name === 'Ed25519';
  const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  return isP256 && signature.name === 'ECDSA' && (signature.hash as { name?: string } | undefined)?.name === 'SHA-256';
}
