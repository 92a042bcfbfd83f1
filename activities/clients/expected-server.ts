import { createHash, X509Certificate } from 'node:crypto';
import { checkServerIdentity } from 'node:tls';
import { Agent, type buildConnector, Dispatcher } from 'undici';
import type { ExpectedServer } from '../../domain/identity/revocation-mirror.js';
import { spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { connectorThatTells, neverSent } from './unsent.js';

/** A client certificate, and what proves the upstream, where that is not what every server is proved by. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/**
 * A connector to an upstream that shows what its registration says, where there is one that says anything: asked at each connection, before a byte of a
 * request is sent (docs/architecture/upstreams.md#what-a-connection-shows). The chain is verified as ever, and the host name unless a SPIFFE id is expected.
 * Every handshake is a whole one, so no resumed session passes that by. Files are read for each connection, so that they may be renewed; one that cannot
 * be read is a connection that was not made.
 */
function connectorTo(
  expected: () => ExpectedServer | null,
  options: buildConnector.BuildOptions,
  tls: (() => TlsFiles) | undefined,
): buildConnector.connector {
  const checked: buildConnector.BuildOptions = {
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
  };
  const plain = connectorThatTells(checked);
  const connect: buildConnector.connector = (target, callback) => {
    if (!tls) return plain(target, callback);
    let files: TlsFiles;
    try {
      files = tls();
    } catch (error) {
      return callback(neverSent(error as Error), null);
    }
    return connectorThatTells({ ...checked, ...files })(target, callback);
  };
  return (target, callback) => {
    const { tlsPin = null, spiffe = null } = expected() ?? {};
    if (target.protocol !== 'https:' && (tlsPin !== null || spiffe !== null))
      callback(neverSent(new Error(ANOTHER)), null);
    else connect(target, callback);
  };
}

/** Connections to an upstream that show what is expected now: where that becomes another, what is under way ends on those of before, and nothing else is sent on them. */
export class ExpectingAgent extends Dispatcher {
  readonly #expected: () => ExpectedServer | null;
  readonly #connect: buildConnector.connector;
  readonly #options: Omit<Agent.Options, 'connect'>;
  #now: { readonly key: string; readonly agent: Agent };
  readonly #leaving = new Set<Agent>();

  constructor(
    expected: () => ExpectedServer | null,
    {
      connect,
      files,
      ...options
    }: Omit<Agent.Options, 'connect'> & {
      readonly connect: buildConnector.BuildOptions;
      readonly files?: (() => TlsFiles) | undefined;
    },
  ) {
    super();
    this.#expected = expected;
    this.#connect = connectorTo(expected, connect, files);
    this.#options = options;
    this.#now = this.#made();
  }

  #key(): string {
    const { tlsPin = null, spiffe = null } = this.#expected() ?? {};
    return JSON.stringify([tlsPin, spiffe]);
  }
  #made(): { readonly key: string; readonly agent: Agent } {
    return { key: this.#key(), agent: new Agent({ ...this.#options, connect: this.#connect }) };
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (this.#key() !== this.#now.key) {
      const { agent } = this.#now;
      this.#leaving.add(agent);
      const gone = (): void => void this.#leaving.delete(agent);
      agent.close().then(gone, gone);
      this.#now = this.#made();
    }
    return this.#now.agent.dispatch(options as Agent.DispatchOptions, handler);
  }
  override async close(): Promise<void> {
    await Promise.all([...this.#leaving, this.#now.agent].map((agent) => agent.close()));
  }
  override async destroy(): Promise<void> {
    await Promise.all([...this.#leaving, this.#now.agent].map((agent) => agent.destroy()));
  }
}

const ANOTHER = 'the upstream does not show the certificate that its registration says';

const pinOf = ({ publicKey }: X509Certificate): string =>
  `sha256:${createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')}`;
