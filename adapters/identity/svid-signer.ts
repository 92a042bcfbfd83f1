import { X509Certificate } from 'node:crypto';
import { GateError } from '../../domain/errors.js';
import type { SvidSigner } from '../../domain/identity/signed-once.js';
import { fingerprintOf } from '../../domain/identity/spiffe.js';
import { type CaKey, heldKeyOf } from './ca-key.js';
import { certifyBy } from './certificate-authority.js';

/** The certificates of a PEM text, in its order. */
export const certificatesOf = (pem: string): readonly X509Certificate[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (text) => new X509Certificate(text),
  );

/** Whether one of the CAs of a PEM text signed it. */
export const isSignedBy = (certificate: X509Certificate, pem: string): boolean =>
  certificatesOf(pem).some(
    (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
  );

/**
 * Signs with the key of one of the CAs that this deployment trusts: `trusted` may hold others beside it while a CA is being replaced. Throws
 * where the key belongs to none of them, because nobody would take what it signs.
 */
export function svidSigner(trusted: string, key: CaKey): SvidSigner {
  const held = heldKeyOf(key);
  if (held.algorithm !== 'ES256') throw new Error('is not an ECDSA P-256 key');
  const authority = certificatesOf(trusted).find(
    (certificate) => certificate.ca && certificate.publicKey.equals(held.publicKey),
  );
  if (!authority) throw new Error('belongs to no CA certificate of GATE_TLS_CA_FILE');
  const caPem = authority.toString();
  return {
    caPem,
    notAfterMs: Date.parse(authority.validTo),
    async sign({ publicKey, hosts = [], usages = ['client'], ...profile }) {
      const leaf = { ...profile, hosts, usages };
      const certPem = await certifyBy({ cert: caPem, key: held }, leaf, publicKey).catch((error: unknown) => {
        if (error instanceof GateError) throw error;
        throw new GateError('ca_unavailable', undefined, { cause: error });
      });
      const certificate = new X509Certificate(certPem);
      return {
        certPem,
        serial: certificate.serialNumber.toLowerCase(),
        fingerprint: fingerprintOf(certificate),
      };
    },
  };
}
