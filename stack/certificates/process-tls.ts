import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TlsMaterial } from '../../api/plugins/service.js';
import type { Config } from '../../config/env.js';
import type { TLS_SETTINGS } from '../../config/shared.js';
import { readCredential } from '../../adapters/identity/certificate-authority.js';
import { isBootstrapCertificate, spiffeOfCertificate } from '../../domain/identity/spiffe.js';

/** The certificate of a separate process, read from its files, or everything that is wrong with them. */
export function readTls(
  files: Config<typeof TLS_SETTINGS>,
  spiffe: string,
  /** Where its certificate comes of identity, it is kept. */
  keepsIt = true,
): TlsMaterial | { readonly faults: string[] } {
  const faults: string[] = [];
  const read = (variable: string, file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      faults.push(`${variable}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
      return '';
    }
  };
  const ca = read('GATE_TLS_CA_FILE', files.caFile);
  const cert = read('GATE_TLS_CERT_FILE', files.certFile);
  const key = read('GATE_TLS_KEY_FILE', files.keyFile);
  if (faults.length > 0) return { faults };
  const certificate = readCredential({ cert, key });
  if (!certificate) return { faults: ['GATE_TLS_KEY_FILE: is not the private key of GATE_TLS_CERT_FILE'] };
  const found = spiffeOfCertificate(certificate);
  if (found !== spiffe) faults.push(`GATE_TLS_CERT_FILE: is the certificate of ${found ?? 'nobody'}, not of ${spiffe}`);
  // One for the first time may be over: what it brought is renewed without it.
  if (!isBootstrapCertificate(certificate) && Date.parse(certificate.validTo) <= Date.now())
    faults.push(`GATE_TLS_CERT_FILE: expired on ${certificate.validTo}`);
  if (isBootstrapCertificate(certificate) && keepsIt && files.workloadDir === undefined)
    faults.push(
      'GATE_WORKLOAD_STATE_DIR: must name a folder, since GATE_TLS_CERT_FILE is a bootstrap certificate, good for the first one of identity alone',
    );
  if (!signedBy(certificate, ca)) faults.push('GATE_TLS_CERT_FILE: was not signed by the CA of GATE_TLS_CA_FILE');
  return faults.length > 0 ? { faults } : { ca, cert, key };
}

/** The CA file may hold several certificates while the CA is being replaced (docs/how-to/rotate-keys.md). */
function signedBy(leaf: X509Certificate, ca: string): boolean {
  const certificates = ca.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return certificates.some((text) => {
    try {
      const authority = new X509Certificate(text);
      return leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
    } catch {
      return false;
    }
  });
}
