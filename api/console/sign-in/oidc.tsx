import { ownPath } from './own-path.js';
import { createHmac, randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import * as client from 'openid-client';
import type { Logger } from 'pino';
import { SignInByProvider } from '../../../console/ui/sign-in.js';
import { taggedTexts } from '../../../domain/crypto/tagged-text.js';
import { errorText } from '../../../domain/errors.js';
import { oneLine } from '../../../domain/printable.js';
import { roomFor } from '../../../domain/room-for.js';
import { ASYMMETRIC_ALGORITHMS } from '../../../domain/identity/asymmetric-algorithms.js';
import { countedAddress } from '../../../domain/limits/counted-address.js';
import { takesOfBrowser } from '../../plugins/openapi.js';
import { federation, type Named, NOT_BEGUN_HERE, notBegun, valuesIn, type Why } from './federated.js';
import { inTurnFor } from './in-turn.js';
import type { Door, SignInMode } from './mode.js';
import type { ProjectionRules } from './projection.js';
import { causesOf, isProviderAway, notRead, providerFetch } from './provider-fetch.js';

export interface OidcOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where browsers open the console. */
  readonly consoleUrl: string;
  readonly claims: { readonly tenant: string; readonly groups: string; readonly mfa: string };
  readonly rules: ProjectionRules;
  readonly decideToken: string;
  /** 32 bytes: what a sign-in that has begun is bound with. */
  readonly key: Uint8Array;
  readonly logger: Logger;
  readonly clock: () => number;
}

const NAME = 'oidc';
const LABEL = 'gate.console-oidc/1';
const COOKIE = 'gate_console_sign_in';
const CALLBACK = '/auth/oidc/callback';
/** How long somebody may take at the provider. */
const BEGUN_LIFE_MS = 600_000;
const SKEW_SECONDS = 60;
const KEYS_LIFE_MS = 3_600_000;

/**
 * Sign-in by an OpenID provider: the code flow with PKCE, state and nonce (docs/architecture/console.md#sign-in-by-a-provider). Throws when
 * the provider cannot be read, or cannot sign anybody out.
 */
export async function openOidcMode(options: OidcOptions): Promise<SignInMode> {
  const { clientId, consoleUrl, claims, clock } = options;
  const issuer = new URL(options.issuer);
  const { fetch, guarded } = providerFetch(issuer);
  const configuration = await client
    .discovery(
      issuer,
      clientId,
      { [client.clockTolerance]: SKEW_SECONDS },
      client.ClientSecretBasic(options.clientSecret),
      {
        [client.customFetch]: fetch,
        timeout: 10,
        // Only where the settings let it be HTTP: on this machine.
        ...(issuer.protocol === 'http:' && { execute: [client.allowInsecureRequests] }),
      },
    )
    .catch((error: unknown) => {
      const named = issuerSaid(error);
      throw named === null ? notRead(configurationOf(options.issuer), error) : otherwiseNamed(options.issuer, named);
    });
  const provider = configuration.serverMetadata();
  if (provider.issuer !== options.issuer) throw otherwiseNamed(options.issuer, provider.issuer);
  const { jwks_uri: keysAt, end_session_endpoint: endAt } = provider;
  if (keysAt === undefined) throw new Error('it names no keys (jwks_uri)');
  if (endAt === undefined) throw new Error('it signs nobody out (end_session_endpoint)');

  const page = (refused: string | undefined, as: Named | null) => (
    <SignInByProvider refused={refused} issuer={options.issuer} start="/auth/oidc/login" as={as} />
  );
  // Every provider has to know `login`; the other one asks for no password where somebody is signed in twice.
  const prompts = provider['prompt_values_supported'];
  const prompt = Array.isArray(prompts) && prompts.includes('select_account') ? 'select_account' : 'login';
  const people = federation({ ...options, method: NAME, reads: [clientId, claims], page });
  const own = (path: string): string => new URL(path, consoleUrl).href;
  const secure = new URL(consoleUrl).protocol === 'https:';
  const cookie = { path: '/auth/oidc', httpOnly: true, sameSite: 'lax', secure } as const;
  const derived = (use: string, text: string): string =>
    createHmac('sha256', options.key).update(`${LABEL}\n${use}\n${text}`).digest('base64url');
  const texts = taggedTexts(options.key, { prefix: `${LABEL}\nbegun\n` });
  const used = new LRUCache<string, true>(roomFor(10_000));

  /** What the browser keeps of a sign-in that has begun: nothing from which state, nonce or verifier follows without the console's key. */
  const begun = (returnTo: string): string => {
    const stated = [randomBytes(32).toString('base64url'), clock() + BEGUN_LIFE_MS, returnTo];
    return texts.made(Buffer.from(JSON.stringify(stated)).toString('base64url'));
  };
  const readBegun = (kept: string | undefined): { readonly seed: string; readonly returnTo: string } | null => {
    const text = texts.read(kept ?? '');
    if (text === null) return null;
    const [seed, until, returnTo] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [string, number, string];
    return until > clock() ? { seed, returnTo } : null;
  };

  let keys: { readonly set: ReturnType<typeof createLocalJWKSet>; readonly atMs: number } | null = null;
  const readKeys = async (): Promise<NonNullable<typeof keys>> => {
    const { body } = await guarded(keysAt, { method: 'GET', headers: { accept: 'application/json' } });
    keys = { set: createLocalJWKSet(JSON.parse(body.toString('utf8')) as JSONWebKeySet), atMs: clock() };
    return keys;
  };
  /** The claims of an ID token that the provider signed for this client. Keys that do not fit are read once again: it may have changed them. */
  async function verified(token: string): Promise<Readonly<Record<string, unknown>>> {
    const against = async ({ set }: NonNullable<typeof keys>) =>
      (
        await jwtVerify(token, set, {
          issuer: options.issuer,
          audience: clientId,
          algorithms: [...ASYMMETRIC_ALGORITHMS],
          clockTolerance: SKEW_SECONDS,
          currentDate: new Date(clock()),
          requiredClaims: ['sub', 'exp', 'iat', 'nonce'],
        })
      ).payload;
    if (keys !== null && clock() - keys.atMs < KEYS_LIFE_MS)
      try {
        return await against(keys);
      } catch {
        // The second failure stands.
      }
    return against(await readKeys());
  }

  /** Reads what came back from the provider. Throws for whatever is not exactly what this browser began. */
  async function claimsOf(request: FastifyRequest, seed: string): Promise<Readonly<Record<string, unknown>>> {
    const state = derived('state', seed);
    if (used.has(state)) throw new Error('this sign-in was finished already');
    used.set(state, true);
    const came = new URL(request.url, consoleUrl);
    const tokens = await client.authorizationCodeGrant(configuration, came, {
      pkceCodeVerifier: derived('verifier', seed),
      expectedState: state,
      expectedNonce: derived('nonce', seed),
      idTokenExpected: true,
    });
    const claimed = await verified(tokens.id_token ?? '');
    const { aud } = claimed;
    if (aud !== clientId && !(Array.isArray(aud) && aud.length === 1))
      throw new Error('the token is for others as well');
    return claimed;
  }

  // Of one address one after the other: many at once would all be asked of the provider before the first failure is counted.
  const inTurn = inTurnFor();

  async function enter(request: FastifyRequest, reply: FastifyReply, door: Door): Promise<FastifyReply> {
    // Whoever has failed too often already does not stand in the way of the others.
    door.throttle(request);
    return (await inTurn(countedAddress(request.ip), async () => ({ reply: await entered(request, reply, door) })))
      .reply;
  }

  async function entered(request: FastifyRequest, reply: FastifyReply, door: Door): Promise<FastifyReply> {
    door.throttle(request);
    const refuse = (words: string, why: Why): FastifyReply => people.refuse(request, reply, door, words, why);
    const kept = request.cookies[COOKIE];
    const from = readBegun(kept);
    reply.clearCookie(COOKIE, cookie);
    if (from === null) return refuse(NOT_BEGUN_HERE, notBegun(COOKIE, kept !== undefined));
    let claimed: Readonly<Record<string, unknown>>;
    try {
      claimed = await claimsOf(request, from.seed);
    } catch (error) {
      // What the client says first is no more than that something went wrong.
      const reason = [...new Set([...causesOf(error)].map(errorText))].join(': ') || errorText(error);
      // Otherwise its outage would close the way for everybody of this address, for a minute after it is back.
      if (isProviderAway(error)) {
        door.providerAway();
        request.log.warn({ reason, correlation_id: request.correlationId }, 'the provider does not answer');
        return door.page(
          reply,
          503,
          `The provider does not answer. Begin again in a moment. (${request.correlationId})`,
        );
      }
      return refuse('The provider did not prove who you are. Begin again.', { reason });
    }
    const said = (claim: string): unknown => (Object.hasOwn(claimed, claim) ? claimed[claim] : undefined);
    return people.enter(request, reply, door, {
      name: String(claimed['sub']),
      words: { tenant: said(claims.tenant), groups: said(claims.groups), mfa: said(claims.mfa) },
      came: Object.fromEntries(Object.values(claims).map((claim) => [claim, valuesIn(said(claim))])),
      endsMs: Number(claimed['exp']) * 1_000,
      returnTo: from.returnTo,
    });
  }

  return {
    name: NAME,
    beginsAt: ['/login', '/auth/oidc/login'],
    body: (refused) => page(refused, null),
    personOf: people.personOf,
    left: people.left,
    routes(app, door) {
      app.get('/login', takesOfBrowser({ query: ['return_to'] }), async (request, reply) => {
        const { return_to: wanted } = request.query as { readonly return_to?: unknown };
        if (wanted === undefined) return door.page(reply, 200);
        return reply.redirect(
          `/auth/oidc/login?${new URLSearchParams({ return_to: ownPath(wanted) }).toString()}`,
          303,
        );
      });
      app.get('/auth/oidc/login', takesOfBrowser({ query: ['return_to', 'another'] }), async (request, reply) => {
        door.throttle(request);
        const { return_to: wanted, another } = request.query as { readonly return_to?: unknown; another?: unknown };
        const kept = begun(ownPath(wanted));
        const seed = readBegun(kept)?.seed ?? '';
        const to = client.buildAuthorizationUrl(configuration, {
          redirect_uri: own(CALLBACK),
          scope: 'openid',
          state: derived('state', seed),
          nonce: derived('nonce', seed),
          code_challenge: await client.calculatePKCECodeChallenge(derived('verifier', seed)),
          code_challenge_method: 'S256',
          ...(another !== undefined && { prompt }),
        });
        return reply.setCookie(COOKIE, kept, { ...cookie, maxAge: BEGUN_LIFE_MS / 1_000 }).redirect(to.href, 303);
      });
      app.get(CALLBACK, takesOfBrowser({ query: ['code', 'state', 'iss', 'error'] }), (request, reply) =>
        enter(request, reply, door),
      );
    },
    leave: {
      origin: new URL(endAt).origin,
      address: () => client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: own('/login') }).href,
    },
    close: () => guarded.close(),
  };
}

/** Where a provider says what it can do (OpenID Connect Discovery 1.0, section 4). */
const configurationOf = (issuer: string): string =>
  `${issuer.endsWith('/') ? issuer.slice(0, -1) : issuer}/.well-known/openid-configuration`;

const otherwiseNamed = (given: string, said: string): Error =>
  new Error(
    `${given} calls itself ${oneLine(said)}, and GATE_CONSOLE_OIDC_ISSUER must be exactly that, to the last character`,
  );

/** The issuer that a configuration names, where it was refused for naming another one than it was asked for. */
function issuerSaid(error: unknown): string | null {
  for (const { cause } of causesOf(error)) {
    const { attribute, body } = (cause ?? {}) as { readonly attribute?: unknown; readonly body?: unknown };
    const said = attribute === 'issuer' && (body as { readonly issuer?: unknown } | undefined)?.issuer;
    if (typeof said === 'string') return said;
  }
  return null;
}
