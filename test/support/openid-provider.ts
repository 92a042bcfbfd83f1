import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { decodeJwt, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import Provider, { type Context } from 'oidc-provider';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';

/** Changes what the provider is about to say of somebody, before it signs it. */
export type Forge = (claims: JWTPayload) => JWTPayload;

type Key = Awaited<ReturnType<typeof newKey>>;

async function newKey(kid: string) {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'ES256' } };
}

export interface OpenIdProvider {
  readonly issuer: string;
  /** Who is at the browser, and what the provider says of that person. */
  person: { sub: string; claims: Readonly<Record<string, unknown>> };
  forge: Forge | null;
  /** Signs forged tokens with a key that is not the provider's, under the name of its own. */
  foreignKey: boolean;
  /** What it does instead of answering; `null`: it answers. */
  fault: 'hangs up' | 'answers 503' | null;
  /** How often its keys were read. */
  keysRead: number;
  /** How often a code was to be exchanged. */
  tokensAsked: number;
  /** Other keys from now on. */
  rotate(): Promise<void>;
  /** Goes through the provider's pages from `address` until it leads to `back`. */
  walk(address: string, back: string): Promise<string>;
  close(): Promise<void>;
}

/** The `oidc-provider` package on this machine, with one client and pages that agree to everything. */
export async function startOpenIdProvider(
  client: { readonly id: string; readonly secret: string; readonly consoleUrl: string },
  { signsOut = true }: { readonly signsOut?: boolean } = {},
): Promise<OpenIdProvider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server = createServer((request, response) => {
    if (provider.fault === 'hangs up') request.socket.destroy();
    else if (provider.fault === 'answers 503') response.writeHead(503).end();
    else handle(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let rotations = 0;
  let key: Key;

  async function forged(request: IncomingMessage, response: ServerResponse, forge: Forge): Promise<void> {
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization, 'content-type': type, 'x-unforged': '1' },
      body: new Uint8Array(await buffer(request)),
    });
    const body = (await answer.json()) as Record<string, unknown>;
    const claims = forge(decodeJwt(String(body['id_token'])));
    const by = provider.foreignKey ? (await newKey('other')).privateKey : key.privateKey;
    const id_token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: key.kid }).sign(by);
    response
      .writeHead(answer.status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ ...body, id_token }));
  }

  const provider: OpenIdProvider = {
    issuer,
    person: { sub: 'ada', claims: {} },
    forge: null,
    foreignKey: false,
    fault: null,
    keysRead: 0,
    tokensAsked: 0,
    async rotate() {
      rotations += 1;
      key = await newKey(`key-${rotations}`);
      const oidc = new Provider(issuer, {
        adapter: createMemoryAdapter(0),
        jwks: { keys: [key.jwk] },
        clients: [
          {
            client_id: client.id,
            client_secret: client.secret,
            redirect_uris: [`${client.consoleUrl}/auth/oidc/callback`],
            post_logout_redirect_uris: [`${client.consoleUrl}/login`],
            id_token_signed_response_alg: 'ES256',
          },
        ],
        cookies: { keys: ['cookies-of-the-tests'] },
        conformIdTokenClaims: false,
        claims: { openid: ['sub', 'groups', 'org_id', 'amr'] },
        ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 3_600, AuthorizationCode: 60 },
        features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: signsOut } },
        interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
        findAccount: (_context: unknown, sub: string) => ({
          accountId: sub,
          claims: () => ({ sub, ...provider.person.claims }),
        }),
        async loadExistingGrant({ oidc: { provider: own, client: of, session } }: Context) {
          const grant = new own.Grant({ clientId: of.clientId, accountId: session.accountId });
          grant.addOIDCScope('openid');
          await grant.save();
          return grant;
        },
      });
      const callback = oidc.callback();
      handle = (request, response) => {
        const path = request.url ?? '';
        if (path.startsWith('/jwks')) provider.keysRead += 1;
        if (path === '/token' && request.headers['x-unforged'] === undefined) provider.tokensAsked += 1;
        if (path.startsWith('/interaction/')) {
          const login = { accountId: provider.person.sub, amr: provider.person.claims['amr'] };
          void oidc.interactionFinished(request, response, { login });
        } else if (path === '/token' && provider.forge && request.headers['x-unforged'] === undefined)
          void forged(request, response, provider.forge);
        else void callback(request, response);
      };
    },
    async walk(address, back) {
      const cookies = new Map<string, string>();
      let next = address;
      for (let steps = 0; steps < 10 && !next.startsWith(back); steps += 1) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const answer = await fetch(next, { redirect: 'manual', headers: { cookie } });
        for (const set of answer.headers.getSetCookie()) {
          const [pair = ''] = set.split(';');
          cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
        }
        const location = answer.headers.get('location');
        if (location === null) throw new Error(`the provider shows a page (${answer.status}): ${await answer.text()}`);
        next = new URL(location, next).href;
      }
      return next;
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
