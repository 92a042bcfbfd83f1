import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';

/** An OAuth server on this machine that gives tokens to one client, by client credentials and by exchange (RFC 8693). */
export interface TokenIssuer {
  readonly issuer: string;
  /** What is asked of its token endpoint, oldest first. */
  readonly asked: URLSearchParams[];
  /** How long its tokens last. */
  seconds: number;
  fault: 'hangs' | 'hangs up' | 'answers 503' | 'answers 401' | 'gives no token' | 'leads away' | null;
  close(): Promise<void>;
}

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The `oidc-provider` package, and beside its endpoint the exchange that it does not have. */
export async function startTokenIssuer(client: { readonly id: string; readonly secret: string }): Promise<TokenIssuer> {
  let handle: (request: IncomingMessage, response: ServerResponse) => Promise<void> = () => Promise.resolve();
  const json = (response: ServerResponse, body: object, status = 200) =>
    response
      .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      .end(JSON.stringify(body));
  // Form-encoded before base64 (RFC 6749, section 2.3.1).
  const isClient = ({ headers: { authorization = '' } }: IncomingMessage) => {
    const said = Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
      .toString('utf8')
      .split(':');
    return said.map(decodeURIComponent).join(':') === `${client.id}:${client.secret}`;
  };
  let given = 0;
  const server = createServer((request, response) => {
    if (issuer.fault === 'hangs up') return void request.socket.destroy();
    if (issuer.fault === 'answers 503') return void response.writeHead(503).end();
    if (issuer.fault === 'leads away') return void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    if (request.url !== '/token') return void handle(request, response);
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const form = new URLSearchParams(text);
      issuer.asked.push(form);
      if (issuer.fault === 'hangs') return;
      if (issuer.fault === 'answers 401' || !isClient(request))
        return void json(response, { error: 'invalid_client' }, 401);
      if (issuer.fault === 'gives no token') return void json(response, { token_type: 'Bearer', access_token: 'a b' });
      if (form.get('grant_type') === EXCHANGE && !form.get('subject_token'))
        return void json(response, { error: 'invalid_request' }, 400);
      given += 1;
      json(response, {
        access_token: `token-${given}-for-${form.get('audience') ?? 'anybody'}`,
        token_type: 'Bearer',
        expires_in: issuer.seconds,
        ...(form.get('grant_type') === EXCHANGE && {
          issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        }),
      });
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  handle = new Provider(address, {
    adapter: createMemoryAdapter(0),
    clients: [],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'tokens', use: 'sig', alg: 'ES256' }] },
    cookies: { keys: ['cookies-of-the-tests'] },
    features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true } },
  }).callback();
  const issuer: TokenIssuer = {
    issuer: address,
    asked: [],
    seconds: 600,
    fault: null,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return issuer;
}
