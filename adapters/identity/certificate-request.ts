import 'reflect-metadata';
import { hash } from 'node:crypto';
import { isEd25519, isProvingEd25519, isWholeP256 } from '../../domain/crypto/spki.js';
import { GateError } from '../../domain/errors.js';
import type { CertificateRequest } from '../../domain/identity/signed-once.js';

/** A certification request of 16 KiB is larger than any that holds a key and a name. */
export const MOST_CSR_BYTES = 16_384;

/**
 * Reads a PKCS#10 request (RFC 2986) and proves that whoever made it has the private key. Of what it says only the key is taken: its subject
 * counts for nothing, and one that asks for extensions is refused. ECDSA P-256 with SHA-256, or Ed25519.
 */
export async function readCertificateRequest(pem: string): Promise<CertificateRequest> {
  if (Buffer.byteLength(pem) > MOST_CSR_BYTES) throw new GateError('csr_too_large');
  const { Pkcs10CertificateRequest } = await import('@peculiar/x509');
  const der = pemBody(pem);
  const request = parsed(() => new Pkcs10CertificateRequest(der));
  // What the library reads only when it is asked for it.
  const [publicKey, algorithm] = parsed(() => [Buffer.from(request.publicKey.rawData), request.signatureAlgorithm]);
  if (!isOneSequence(der)) throw new GateError('invalid_csr', 'something follows the request');
  if (!isSupported(publicKey, algorithm)) throw new GateError('unsupported_csr_algorithm');
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

/** Whether it is one DER SEQUENCE from its first byte to its last. */
function isOneSequence(der: Uint8Array): boolean {
  const [, first = 0] = der;
  if (first < 0x80) return der.length === 2 + first;
  const lengthBytes = first & 0x7f;
  const length = der.subarray(2, 2 + lengthBytes).reduce((sum, byte) => sum * 256 + byte, 0);
  return der.length === 2 + lengthBytes + length;
}

/** By its bytes: a key has one spelling here, so that it is known again. */
function isSupported(publicKey: Buffer, signature: { readonly name: string; readonly hash?: unknown }): boolean {
  if (isEd25519(publicKey)) return signature.name === 'Ed25519' && isProvingEd25519(publicKey);
  return (
    isWholeP256(publicKey) &&
    signature.name === 'ECDSA' &&
    (signature.hash as { name?: string } | undefined)?.name === 'SHA-256'
  );
}
