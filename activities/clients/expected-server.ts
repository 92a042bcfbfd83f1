import { createHash, X509Certificate } from 'node:crypto';
import { checkServerIdentity } from 'node:tls';
import type { buildConnector } from 'undici';
import type { ExpectedServer } from '../../domain/identity/revocation-mirror.js';
import { spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { connectorThatTells, neverSent } from './unsent.js';

/**
 * A connector to an upstream that shows what its registration says, where there is one that says anything: asked at each connection, before a byte of a
 * request is sent (docs/architecture/upstreams.md#what-a-connection-shows). The chain is verified as ever, and the host name unless a SPIFFE id is expected.
 * Every handshake is a whole one, so no resumed session passes that by.
 */
export function connectorTo(
  expected: () => ExpectedServer | null,
  options: buildConnector.BuildOptions,
): buildConnector.connector {
  const connect = connectorThatTells({
    ...options,
    maxCachedSessions: 0,
    checkServerIdentity: (host, peer) => {
      const { tlsPin = null, spiffe = null } = expected() ?? {};
      if (spiffe === null) {
        const fault = checkServerIdentity(host, peer);
        if (fault) return fault;
      }
      if (tlsPin === null && spiffe === null) return undefined;
      const certificate = new X509Certificate(peer.raw);
      return (spiffe === null || spiffeOfCertificate(certificate) === spiffe) &&
        (tlsPin === null || pinOf(certificate) === tlsPin)
        ? undefined
        : new Error(ANOTHER);
    },
  });
  return (target, callback) => {
    const { tlsPin = null, spiffe = null } = expected() ?? {};
    if (target.protocol !== 'https:' && (tlsPin !== null || spiffe !== null))
      callback(neverSent(new Error(ANOTHER)), null);
    else connect(target, callback);
  };
}

const ANOTHER = 'the upstream does not show the certificate that its registration says';

const pinOf = ({ publicKey }: X509Certificate): string =>
  `sha256:${createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')}`;
