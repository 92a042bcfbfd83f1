import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { errorText, GateError } from '../../domain/errors.js';
import type { AccessTokenRules } from '../../domain/identity/access-tokens.js';
import { isLoopback } from '../../domain/outbound/loopback.js';
import { createGuardedFetch, type GuardedFetchOptions, OutboundError } from '../outbound/guarded-fetch.js';

/** How long keys are used before they are asked for again; a key that the issuer took back counts for so long. */
const KEYS_FRESH_MS = 600_000;
/** A token that names a key which is not there makes Gate look at most so often: anybody can write a name. */
const LOOK_EVERY_MS = 30_000;
/** After a failure nobody is asked for so long, and tokens are refused at once. */
const PAUSE_MS = 2_000;

export interface IssuerKeys {
  /** Throws `token_keys_unavailable` where they cannot be had; what else it throws is the token's fault. */
  readonly keyOf: JWTVerifyGetKey;
  close(): Promise<void>;
}

type Rules = Pick<AccessTokenRules, 'issuer' | 'keys'>;

/** The keys with which an issuer signs: of a file, or fetched when the first token comes, within bounds, and again when they change. */
export async function openIssuerKeys(
  { issuer, keys }: Rules,
  { limits = {}, lookEveryMs = LOOK_EVERY_MS, pauseMs = PAUSE_MS }: IssuerKeysOptions = {},
): Promise<IssuerKeys> {
  if ('file' in keys) return { keyOf: toldApart(await keysInFile(keys.file)), close: () => Promise.resolve() };
  // Both were named by the operator and may be private; wherever the issuer's metadata leads otherwise must be public.
  const named = [issuer, ...(keys.url === undefined ? [] : [keys.url])].map((text) => hostAndPort(new URL(text)));
  const guarded = createGuardedFetch({ allowPrivate: named, limits });
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function json(url: string): Promise<unknown> {
    if (performance.now() < notBeforeMs) throw new Error('it failed a moment ago');
    try {
      const { body } = await guarded(url, { method: 'GET', headers: { accept: 'application/json' } });
      return JSON.parse(body.toString('utf8')) as unknown;
    } catch (error) {
      // An address at which there is nothing leads to the next one.
      if (!isNothingThere(error)) notBeforeMs = performance.now() + pauseMs;
      throw error;
    }
  }

  /** https://www.rfc-editor.org/rfc/rfc8414#section-3.1 and OpenID Connect Discovery 1.0, section 4, in the order of MCP's authorization. */
  async function discovered(): Promise<URL> {
    for (const place of metadataPlaces(issuer)) {
      let metadata: { issuer?: unknown; jwks_uri?: unknown } | null;
      try {
        metadata = (await json(place)) as typeof metadata;
      } catch (error) {
        if (isNothingThere(error)) continue;
        throw error;
      }
      if (metadata?.issuer !== issuer) throw new Error(`${place} is the metadata of another issuer`);
      const { jwks_uri: uri } = metadata;
      if (typeof uri !== 'string' || !URL.canParse(uri)) throw new Error(`${place} names no keys`);
      const url = new URL(uri);
      if (url.protocol !== 'https:' && !isLoopback(url.hostname)) throw new Error(`${place} names keys without https`);
      return url;
    }
    throw new Error(`${issuer} has no metadata`);
  }

  let found: Promise<JWTVerifyGetKey> | null = null;
  const remote = async (): Promise<JWTVerifyGetKey> =>
    createRemoteJWKSet(keys.url === undefined ? await discovered() : new URL(keys.url), {
      cacheMaxAge: KEYS_FRESH_MS,
      cooldownDuration: lookEveryMs,
      [customFetch]: async (url) => Response.json(await json(url)),
    });
  return {
    keyOf: toldApart(async (header, token) => {
      found ??= remote().catch((error: unknown) => {
        found = null;
        throw error;
      });
      return (await found)(header, token);
    }),
    close: () => guarded.close(),
  };
}

export interface IssuerKeysOptions {
  readonly limits?: GuardedFetchOptions['limits'];
  readonly lookEveryMs?: number;
  readonly pauseMs?: number;
}

async function keysInFile(file: string): Promise<JWTVerifyGetKey> {
  try {
    return createLocalJWKSet(JSON.parse(await readFile(file, 'utf8')) as never);
  } catch (error) {
    throw new GateError('token_keys_unavailable', `the keys in ${file} cannot be read: ${errorText(error)}`, {
      cause: error,
    });
  }
}

const metadataPlaces = (issuer: string): readonly string[] => {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.endsWith('/') ? pathname.slice(0, -1) : pathname;
  return [
    ...new Set([
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
    ]),
  ];
};

const hostAndPort = ({ hostname, port, protocol }: URL): string =>
  `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;

const isNothingThere = (error: unknown): boolean => error instanceof OutboundError && error.fault === 'refused';

/** A key that is not among the issuer's is the token's fault; everything else is ours or the issuer's, and says nothing about the token. */
const toldApart =
  (keyOf: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keyOf(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      throw new GateError('token_keys_unavailable', undefined, { cause: error });
    }
  };
