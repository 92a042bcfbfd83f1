import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import { checkServerIdentity, createSecureContext, type PeerCertificate, type SecureContext } from 'node:tls';
import { GateConfigError } from './errors.js';

export interface TransportProfile {
  /** PEM file of the CA of Gate. The roots that Node knows are not used beside it. */
  readonly caBundlePath: string;
  /** PEM files of the agent's certificate and key. */
  readonly clientCertificatePath: string;
  readonly privateKeyPath: string;
  /** The SPIFFE id that the certificate of the server has to have; its host name says nothing then. Default: the host name has to stand in it. */
  readonly serverSpiffe?: string;
  /** For the connection and its handshake: 1 to 300,000 ms. Default 5,000. */
  readonly connectTimeoutMs?: number;
}

/** Connections to Gate under the agent's own certificate. `fetch` goes into the options of the same name. */
export interface Transport {
  readonly fetch: typeof fetch;
  /** Takes the files as they are now: a renewed certificate, another CA. Requests under way end as they began. Where the files are not good, nothing changes. */
  reload(): Promise<void>;
  /** Ends what is open; what is asked afterwards is a `GateConfigError`. */
  close(): void;
}

async function readPem(what: string, path: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw new GateConfigError(
      `${what} cannot be read: ${path} (${(cause as { code?: string }).code ?? 'no such file'})`,
    );
  }
  if (bytes.length === 0) throw new GateConfigError(`${what} is empty: ${path}`);
  return bytes;
}

async function agentOf(profile: TransportProfile, connectTimeoutMs: number): Promise<Agent> {
  const [ca, cert, key] = await Promise.all([
    readPem('caBundlePath', profile.caBundlePath),
    readPem('clientCertificatePath', profile.clientCertificatePath),
    readPem('privateKeyPath', profile.privateKeyPath),
  ]);
  let secureContext: SecureContext;
  try {
    secureContext = createSecureContext({ ca, cert, key, minVersion: 'TLSv1.2' });
  } catch (cause) {
    // What OpenSSL says of a key may quote from it.
    throw new GateConfigError(
      `certificate and key do not go together, or are no PEM: ${profile.clientCertificatePath} (${(cause as { code?: string }).code ?? 'unknown'})`,
    );
  }
  const { serverSpiffe } = profile;
  const agent = new Agent({
    keepAlive: true,
    secureContext,
    timeout: 0,
    // A handshake that goes on from an earlier one shows no certificate.
    maxCachedSessions: 0,
    checkServerIdentity: (host, peer) =>
      serverSpiffe === undefined ? checkServerIdentity(host, peer) : spiffeFault(peer, serverSpiffe),
  });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    const timer = setTimeout(
      () => socket?.destroy(new Error(`no connection within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    );
    socket?.once('secureConnect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
    return socket;
  };
  return agent;
}

/** The one URI of the certificate has to be it: one with several has no SPIFFE id (SPIFFE X.509-SVID, section 2). */
function spiffeFault({ subjectaltname = '' }: PeerCertificate, expected: string): Error | undefined {
  const uris = subjectaltname.split(', ').filter((name) => name.startsWith('URI:'));
  // Node quotes a name that could be read as several.
  if (!subjectaltname.includes('"') && uris.length === 1 && uris[0] === `URI:${expected}`) return undefined;
  return new Error(`the server is not ${expected}`);
}

/** No answer has a body under these (RFC 9110, sections 15.3.5 and 15.4.5). */
const WITHOUT_BODY = new Set([204, 205, 304]);

function send(agent: Agent, address: URL, given: RequestInit): Promise<Response> {
  if (address.protocol !== 'https:') throw new GateConfigError('a certificate is shown over https alone');
  return new Promise((resolve, reject) => {
    const sent = request(
      address,
      {
        agent,
        method: given.method ?? 'GET',
        headers: Object.fromEntries(new Headers(given.headers)),
        ...(given.signal ? { signal: given.signal } : {}),
      },
      (answer) => {
        const headers = new Headers();
        for (const [name, values] of Object.entries(answer.headersDistinct))
          for (const value of values ?? []) headers.append(name, value);
        const status = answer.statusCode ?? 0;
        const body = WITHOUT_BODY.has(status) ? null : (Readable.toWeb(answer) as ReadableStream);
        if (body === null) answer.resume();
        resolve(new Response(body, { status, headers }));
      },
    );
    sent.once('error', (error) => reject(given.signal?.aborted ? (given.signal.reason as Error) : error));
    sent.end(given.body as string | undefined);
  });
}

/**
 * Opens connections under the agent's certificate (mutual TLS). Redirects are given back and never followed. Throws `GateConfigError` where
 * the files are not good.
 */
export async function openTransport(profile: TransportProfile): Promise<Transport> {
  const connectTimeoutMs = profile.connectTimeoutMs ?? 5_000;
  if (!(connectTimeoutMs >= 1 && connectTimeoutMs <= 300_000))
    throw new GateConfigError('connectTimeoutMs must be a number from 1 to 300000');
  let agent: Agent | null = await agentOf(profile, connectTimeoutMs);
  return {
    async fetch(address, given = {}) {
      if (agent === null) throw new GateConfigError('the transport is closed');
      if (!(typeof address === 'string' || address instanceof URL))
        throw new GateConfigError('the transport takes an address and options');
      return send(agent, new URL(address), given);
    },
    async reload() {
      const next = await agentOf(profile, connectTimeoutMs);
      if (agent === null) {
        next.destroy();
        throw new GateConfigError('the transport is closed');
      }
      // Those under way keep their connection; idle ones of before are not used again.
      const before = agent;
      agent = next;
      closeIdle(before);
    },
    close() {
      agent?.destroy();
      agent = null;
    },
  };
}

/** Ends the connections on which nothing is under way, and each other one once it is idle. */
function closeIdle(agent: Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}
