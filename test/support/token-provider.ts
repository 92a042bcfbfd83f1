import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';

async function newKey(kid: string) {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(privateKey);
  const { d: _secret, ...open } = jwk;
  return { kid, privateKey, jwk: { ...jwk, kid, use: 'sig', alg: 'ES256' }, public: open };
}

/** A client of the provider, which is also the agent that its tokens name. */
export interface TokenClient {
  readonly id: string;
  readonly tenant: string;
}

export interface TokenProvider {
  readonly issuer: string;
  /** What it does instead of answering; `null`: it answers. */
  fault: 'hangs up' | 'answers 503' | 'never answers' | 'sends too much' | null;
  /** How often its keys were read. */
  keysRead: number;
  /** A token as the provider gives it to a client that shows its secret. */
  token(client?: string, resource?: string): Promise<string>;
  /** A token that the provider never gave: signed with its key, or with another under its name. */
  forged(claims: JWTPayload, header?: Partial<JWTHeaderParameters>, by?: 'its key' | 'another key'): Promise<string>;
  /** The claims that it would write. */
  claims(client?: string): JWTPayload;
  /** The public half of its key, as its key set has it. */
  publicKey(): object;
  /** Other keys from now on. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

export const secretOf = (client: string): string => `the-secret-of-${client}-is-long-enough`;

/** The `oidc-provider` package on this machine: clients that act for themselves get access tokens for one resource (RFC 9068, RFC 8707). */
export async function startTokenProvider({
  resource,
  clients,
}: {
  readonly resource: string;
  readonly clients: readonly TokenClient[];
}): Promise<TokenProvider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server = createServer((request, response) => {
    if (provider.fault === 'hangs up') request.socket.destroy();
    else if (provider.fault === 'answers 503') response.writeHead(503).end();
    else if (provider.fault === 'sends too much') response.writeHead(200).end('x'.repeat(200_000));
    else if (provider.fault === null) handle(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [first] = clients;
  const tenantOf = (id: string) => clients.find((client) => client.id === id)?.tenant;
  let rotations = 0;
  let key: Awaited<ReturnType<typeof newKey>>;

  const provider: TokenProvider = {
    issuer,
    fault: null,
    keysRead: 0,
    async token(client = first?.id ?? '', of = resource) {
      const answer = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${client}:${secretOf(client)}`).toString('base64')}`,
        },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: of, scope: 'mcp' }),
      });
      const body = (await answer.json()) as { access_token?: string };
      if (body.access_token === undefined) throw new Error(`the provider gives no token: ${JSON.stringify(body)}`);
      return body.access_token;
    },
    async forged(claims, header = {}, by = 'its key') {
      const signer = by === 'its key' ? key.privateKey : (await newKey('other')).privateKey;
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid, ...header })
        .sign(signer);
    },
    claims(client = first?.id ?? '') {
      const now = Math.floor(Date.now() / 1000);
      const tenant = tenantOf(client);
      return {
        iss: issuer,
        aud: resource,
        sub: client,
        client_id: client,
        tenant,
        scope: 'mcp',
        iat: now,
        exp: now + 600,
      };
    },
    publicKey: () => key.public,
    async rotate() {
      rotations += 1;
      key = await newKey(`key-${rotations}`);
      const oidc = new Provider(issuer, {
        adapter: createMemoryAdapter(0),
        jwks: { keys: [key.jwk] },
        clients: clients.map(({ id }) => ({
          client_id: id,
          client_secret: secretOf(id),
          redirect_uris: [],
          response_types: [],
          grant_types: ['client_credentials'],
          id_token_signed_response_alg: 'ES256',
        })),
        scopes: ['mcp'],
        ttl: { ClientCredentials: 600 },
        cookies: { keys: ['cookies-of-the-tests'] },
        extraTokenClaims: (_context: unknown, { clientId }: { clientId: string }) => ({ tenant: tenantOf(clientId) }),
        features: {
          devInteractions: { enabled: false },
          clientCredentials: { enabled: true },
          resourceIndicators: {
            enabled: true,
            defaultResource: () => resource,
            getResourceServerInfo: (_context: unknown, of: string) => ({
              scope: 'mcp',
              audience: of,
              accessTokenTTL: 600,
              accessTokenFormat: 'jwt',
              jwt: { sign: { alg: 'ES256' } },
            }),
          },
        },
      });
      const callback = oidc.callback();
      handle = (request, response) => {
        if ((request.url ?? '').startsWith('/jwks')) provider.keysRead += 1;
        void callback(request, response);
      };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  await provider.rotate();
  return provider;
}
