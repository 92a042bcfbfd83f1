import * as oauth from 'openid-client';
import { createGuardedFetch, type GuardedFetch, OutboundError } from '../adapters/outbound/guarded-fetch.js';
import { within } from '../domain/within.js';
import { type Credentials, CredentialsMissing, type Secret } from './upstream-credentials.js';

export interface TokenCredentialsOptions {
  readonly issuer: string;
  /** Without it the issuer's own metadata says where tokens are given (OpenID Connect Discovery). */
  readonly tokenEndpoint?: string | undefined;
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly clientAuth: 'basic' | 'post';
  readonly scope?: string | undefined;
  readonly audience?: string | undefined;
  /** RFC 8707. */
  readonly resource?: string | undefined;
  /** RFC 8693: what is exchanged. Without it the grant is client credentials (RFC 6749, section 4.4). */
  readonly subject?: { readonly token: Secret; readonly type: string } | undefined;
  readonly now?: () => number;
}

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** How long a token is used whose answer does not say it. */
const UNSAID_LIFE_SECS = 300;
const LONGEST_LIFE_SECS = 86_400;
/** A token is renewed this long before its end, so that none ends on its way. */
const EARLY_MS = 30_000;
/** An issuer that refuses is not asked again by every call. */
const AFTER_FAULT_MS = 1_000;
/** One that takes longer until it has none costs whoever waits for it that time: it is asked more and more rarely, and waited for no longer. */
const AT_ONCE_MS = 500;
const AFTER_SLOW_FAULT_MS = { first: 2_000, longest: 30_000 };
/** One tool that refuses every token throws away no other caller's: the pause until the next one is asked for doubles with each that still holds. */
const AFTER_REFUSAL_MS = { first: 30_000, longest: 3_600_000 };
/** An answer to a request with a token that has ended may still come. */
const HIDDEN_LONGER_MS = 300_000;
/** Tokens that are hidden in answers. Of those that last a day no more than some thirty hold at once, because few are asked for after refusals. */
const REMEMBERED = 64;
const LONGEST_TOKEN = 16_384;

/**
 * A bearer token from an OAuth 2 server, asked for when it is needed, shared by all calls, and kept in memory until shortly before it ends. The
 * issuer was named by the operator and may be private; wherever its metadata leads besides must be public. No redirect is followed.
 */
export function tokenCredentials(options: TokenCredentialsOptions): Credentials {
  const { now = Date.now } = options;
  const guarded = createGuardedFetch({ allowPrivate: placesOf(options) });
  let configuration: Promise<oauth.Configuration> | null = null;
  /** The newest first. */
  let given: Given[] = [];
  let held: Given | null = null;
  let asking: Promise<Given> | null = null;
  let faultPause = NO_PAUSE;
  let fault: CredentialsMissing | null = null;
  let slowFaults = 0;
  let refusalPause = NO_PAUSE;
  /** One that began later by a clock that was set back is over: it would last as much longer. */
  const isOn = ({ sinceMs, ms }: Pause): boolean => now() >= sinceMs && now() - sinceMs < ms;

  const configured = () => {
    configuration ??= configure(options, guarded).catch((error: unknown) => {
      configuration = null;
      throw error;
    });
    return configuration;
  };

  const stillHidden = () => given.filter(({ hiddenUntilMs }) => now() < hiddenUntilMs).slice(0, REMEMBERED);

  async function ask(): Promise<Given> {
    const begunMs = now();
    try {
      const tokens = await grant(await configured(), options);
      const { access_token: token } = tokens;
      if (token.length > LONGEST_TOKEN || !/^[A-Za-z0-9._~+/-]+=*$/.test(token))
        throw new CredentialsMissing('the issuer gave something that is no bearer token');
      const seconds = Math.min(tokens.expires_in ?? UNSAID_LIFE_SECS, LONGEST_LIFE_SECS);
      const holdsSeconds = tokens.expires_in ?? LONGEST_LIFE_SECS;
      held = {
        token,
        untilMs: now() + seconds * 1000,
        hiddenUntilMs: now() + holdsSeconds * 1000 + HIDDEN_LONGER_MS,
        isRefused: false,
      };
      given = [held, ...stillHidden()].slice(0, REMEMBERED);
      slowFaults = 0;
      return held;
    } catch (error) {
      fault = error instanceof CredentialsMissing ? error : new CredentialsMissing(wordsOf(error));
      slowFaults = now() - begunMs > AT_ONCE_MS ? slowFaults + 1 : 0;
      const ms = slowFaults > 0 ? doubled(AFTER_SLOW_FAULT_MS, slowFaults) : AFTER_FAULT_MS;
      faultPause = { sinceMs: now(), ms };
      throw fault;
    }
  }

  const renewed = () => (asking ??= ask().finally(() => (asking = null)));

  return {
    async headers() {
      const isAway = fault !== null && isOn(faultPause) && !asking;
      if (held && now() < held.untilMs) {
        // Behind the request: an issuer that is away, or hangs, closes nothing while the token holds that it gave.
        if (now() >= held.untilMs - EARLY_MS && !isAway) void renewed().catch(() => undefined);
        return bearer(held.token);
      }
      if (fault && isAway) throw fault;
      const slow = slowFaults > 0 ? fault : null;
      const { token } = await (slow ? within(AT_ONCE_MS, renewed(), () => slow) : renewed());
      return bearer(token);
    },
    refused(sent) {
      if (held === null || sent['authorization'] !== bearer(held.token).authorization) return;
      if (isOn(refusalPause)) return;
      held.isRefused = true;
      held = null;
      const refused = stillHidden().filter(({ isRefused }) => isRefused).length;
      refusalPause = { sinceMs: now(), ms: doubled(AFTER_REFUSAL_MS, refused) };
    },
    secrets: () => stillHidden().map(({ token }) => token),
    close: () => guarded.close(),
  };
}

interface Pause {
  readonly sinceMs: number;
  readonly ms: number;
}
const NO_PAUSE: Pause = { sinceMs: 0, ms: 0 };

interface Given {
  readonly token: string;
  /** How long it is used, and how long it may still be worth something to somebody else. */
  readonly untilMs: number;
  readonly hiddenUntilMs: number;
  isRefused: boolean;
}

const doubled = ({ first, longest }: { readonly first: number; readonly longest: number }, times: number): number =>
  Math.min(longest, first * 2 ** Math.min(times - 1, 20));

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Both addresses that the operator wrote down. */
function placesOf({ issuer, tokenEndpoint }: TokenCredentialsOptions): string[] {
  return [issuer, ...(tokenEndpoint === undefined ? [] : [tokenEndpoint])].map((text) => {
    const { hostname, port, protocol } = new URL(text);
    return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
  });
}

async function configure(
  { issuer, tokenEndpoint, clientId, clientSecret, clientAuth }: TokenCredentialsOptions,
  guarded: GuardedFetch,
): Promise<oauth.Configuration> {
  // A rotated secret is read again with each token.
  const auth: oauth.ClientAuth = (...request) =>
    (clientAuth === 'post' ? oauth.ClientSecretPost : oauth.ClientSecretBasic)(clientSecret())(...request);
  const server = new URL(issuer);
  const clear = [issuer, tokenEndpoint].some((text) => text?.startsWith('http:'));
  const fetch: oauth.CustomFetch = async (url, { method, headers, body }) => {
    if (method !== 'GET' && method !== 'POST') throw new Error(`${method} is not sent to an issuer`);
    const text = body instanceof URLSearchParams || typeof body === 'string' ? String(body) : undefined;
    const answer = await guarded(url, { method, headers, ...(text !== undefined && { body: text }) });
    const type = answer.headers['content-type'];
    return new Response(new Uint8Array(answer.body), {
      status: answer.status,
      headers: { 'content-type': typeof type === 'string' ? type : '' },
    });
  };
  const configuration =
    tokenEndpoint === undefined
      ? await oauth.discovery(server, clientId, undefined, auth, {
          [oauth.customFetch]: fetch,
          ...(clear && { execute: [oauth.allowInsecureRequests] }),
        })
      : new oauth.Configuration({ issuer: server.href, token_endpoint: tokenEndpoint }, clientId, undefined, auth);
  configuration[oauth.customFetch] = fetch;
  if (clear) oauth.allowInsecureRequests(configuration);
  return configuration;
}

function grant(
  configuration: oauth.Configuration,
  { scope, audience, resource, subject }: TokenCredentialsOptions,
): Promise<oauth.TokenEndpointResponse> {
  const asked = { ...(scope && { scope }), ...(audience && { audience }), ...(resource && { resource }) };
  if (!subject) return oauth.clientCredentialsGrant(configuration, asked);
  return oauth.genericGrantRequest(configuration, TOKEN_EXCHANGE, {
    ...asked,
    subject_token: subject.token(),
    subject_token_type: subject.type,
    requested_token_type: ACCESS_TOKEN,
  });
}

/** What happened, without anything that the issuer or the operator wrote: it may repeat a secret. */
function wordsOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; { cause } = cause)
    if (cause instanceof OutboundError)
      return cause.status === null
        ? `the issuer cannot be asked (${cause.fault})`
        : `the issuer answered HTTP ${cause.status}`;
  return 'the answer of the issuer is not understood';
}
