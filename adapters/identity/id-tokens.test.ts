import { createHmac } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exportSPKI, importJWK, type JWTPayload } from 'jose';
import { GateError } from '../../domain/errors.js';
import { idTokenOf } from '../../test/support/id-token.js';
import { type OpenIdProvider, startOpenIdProvider } from '../../test/support/openid-provider.js';
import { startTokenProvider, type TokenProvider } from '../../test/support/token-provider.js';
import { readDelegatingIssuers } from './delegating-issuers.js';
import { type DelegatingIssuer, type IdTokens, openIdTokens } from './id-tokens.js';

const CLIENT = { id: 'delegations', secret: 'a-secret-of-the-tests', consoleUrl: 'https://console.example' };
const soon = () => Math.floor(Date.now() / 1_000);

let tokens: IdTokens | undefined;
const open = async (issuers: readonly DelegatingIssuer[], aheadMs = 0): Promise<IdTokens> => {
  await tokens?.close();
  const now = () => Date.now() + aheadMs;
  return (tokens = await openIdTokens(issuers, { now, lookEveryMs: 0, pauseMs: 0, limits: { totalMs: 2_000 } }));
};
afterEach(async () => {
  await tokens?.close();
  tokens = undefined;
});
const refused = async (work: Promise<unknown>): Promise<[string, string]> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof GateError) return [error.code, error.message];
    throw error;
  }
  throw new Error('the token was taken');
};
const invalid = (why: string) => ['invalid_token', `the ID token is refused: ${why}`];

describe('an ID token that a provider gave a person who signed in', () => {
  let provider: OpenIdProvider;
  const of = (over: Partial<DelegatingIssuer> = {}): DelegatingIssuer => ({
    tenant: 'acme',
    name: 'corp',
    issuer: provider.issuer,
    audience: CLIENT.id,
    keys: {},
    ...over,
  });
  beforeAll(async () => {
    provider = await startOpenIdProvider(CLIENT);
  });
  afterAll(() => provider.close());
  beforeEach(() => {
    provider.fault = null;
    provider.person = { sub: 'ada', claims: { amr: ['pwd', 'otp'] } };
  });

  it('says who that is, how it was proved, and for which tenant', async () => {
    const { verify } = await open([of()]);
    expect(await verify(await idTokenOf(provider, CLIENT, 'n-1'))).toEqual({
      tenant: 'acme',
      sub: 'ada',
      idp: 'corp',
      amr: ['pwd', 'otp'],
    });
  });

  it('is of the nonce that it was asked for with, where that is said', async () => {
    const { verify } = await open([of()]);
    const token = await idTokenOf(provider, CLIENT, 'n-2');
    expect(await verify(token, 'n-2')).toMatchObject({ sub: 'ada' });
    expect(await refused(verify(token, 'n-3'))).toEqual(invalid('of another nonce'));
  });

  it('is none of another client, issuer or rotated key', async () => {
    const token = await idTokenOf(provider, CLIENT, 'n-4');
    expect(await refused((await open([of({ audience: 'another' })])).verify(token))).toEqual(
      invalid('for another audience'),
    );
    expect(await refused((await open([of({ issuer: 'https://id.example' })])).verify(token))).toEqual(
      invalid('of no issuer whose people may delegate'),
    );
    const { verify } = await open([of()]);
    await verify(token);
    await provider.rotate();
    expect(await verify(await idTokenOf(provider, CLIENT, 'n-5'))).toMatchObject({ sub: 'ada' });
    expect(await refused(verify(token))).toEqual(invalid("signed with none of the issuer's keys"));
  });

  it('cannot be judged while the keys of its issuer are away, and then is', async () => {
    const token = await idTokenOf(provider, CLIENT, 'n-6');
    const { verify } = await open([of()]);
    for (const fault of ['hangs up', 'answers 503'] as const) {
      provider.fault = fault;
      expect((await refused(verify(token)))[0]).toBe('jwks_unavailable');
    }
    provider.fault = null;
    expect(await verify(token)).toMatchObject({ sub: 'ada' });
  });

  it('is nobody’s where nobody may delegate', async () => {
    expect((await refused((await open([])).verify(await idTokenOf(provider, CLIENT, 'n-7'))))[0]).toBe(
      'delegation_not_configured',
    );
  });
});

describe('an ID token is refused', () => {
  let issuer: TokenProvider;
  const AUDIENCE = 'delegations';
  const claims = (over: JWTPayload = {}): JWTPayload => ({
    iss: issuer.issuer,
    aud: AUDIENCE,
    sub: 'ada',
    iat: soon(),
    exp: soon() + 300,
    ...over,
  });
  const forged = (over: JWTPayload = {}, header: object = {}, by?: 'another key') =>
    issuer.forged(claims(over), { typ: 'JWT', ...header }, by);
  beforeAll(async () => {
    issuer = await startTokenProvider({ resource: 'https://gate.example/mcp', clients: [] });
  });
  afterAll(() => issuer.close());
  const verifying = () => open([{ tenant: 'acme', name: 'corp', issuer: issuer.issuer, audience: AUDIENCE, keys: {} }]);

  it('never where it is as it should be', async () => {
    const { verify } = await verifying();
    expect(await verify(await forged())).toEqual({ tenant: 'acme', sub: 'ada', idp: 'corp', amr: [] });
    // One that names one audience in a list names the same.
    await verify(await forged({ aud: [AUDIENCE] }));
    await verify(await forged({ exp: soon() - 50, iat: soon() - 400 }));
  });

  it.each<[string, () => Promise<string> | string, string]>([
    [
      'that is signed by another key under its name',
      () => forged({}, {}, 'another key'),
      'its signature does not hold',
    ],
    ['of a key that is not there', () => forged({}, { kid: 'other' }), "signed with none of the issuer's keys"],
    ['for another audience', () => forged({ aud: 'another' }), 'for another audience'],
    ['for others as well', () => forged({ aud: [AUDIENCE, 'another'] }), 'it is for others as well'],
    [
      'of no issuer that is known',
      () => forged({ iss: 'https://id.example' }),
      'of no issuer whose people may delegate',
    ],
    ['that has expired', () => forged({ exp: soon() - 61 }), 'expired'],
    ['that counts later', () => forged({ nbf: soon() + 90 }), 'not valid yet'],
    ['from the future', () => forged({ iat: soon() + 90 }), 'made in the future'],
    ['without an end', () => forged({ exp: undefined as never }), 'without an end'],
    ['that was made at no time', () => forged({ iat: undefined as never }), 'with a claim that does not hold'],
    ['of nobody', () => forged({ sub: undefined as never }), 'with a claim that does not hold'],
    ['of an empty name', () => forged({ sub: '' }), 'of nobody (sub)'],
    ['of a name with a line feed', () => forged({ sub: 'ada\nuser:bob' }), 'of nobody (sub)'],
    ['of a name that is turned round', () => forged({ sub: 'ada\u202ebob' }), 'of nobody (sub)'],
    ['of a name that is too long', () => forged({ sub: 'a'.repeat(256) }), 'of nobody (sub)'],
    ['that is an access token', () => forged({}, { typ: 'at+jwt' }), 'a token of another kind'],
    ['that is a logout token', () => forged({}, { typ: 'logout+jwt' }), 'a token of another kind'],
    ['of an agent', () => forged({ scope: 'openid gate.agent' }), 'of an agent, not of a person'],
    ['without a signature', () => unsigned(), 'signed with an algorithm that is not allowed'],
    [
      'that is signed with the public key as a secret',
      () => confused(),
      'signed with an algorithm that is not allowed',
    ],
    ['that is no token', () => 'no token', 'no signed JWT'],
    ['that is too long', () => `${'a'.repeat(16_385)}`, 'longer than 16384 characters'],
  ])('%s', async (_what, make, why) => {
    const { verify } = await verifying();
    // The keys are known: what is refused is the token.
    await verify(await forged());
    expect(await refused(verify(await make()))).toEqual(invalid(why));
  });

  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = () => `${part({ alg: 'none', typ: 'JWT' })}.${part(claims())}.`;
  async function confused(): Promise<string> {
    const kid = (
      JSON.parse(Buffer.from((await forged()).split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
    ).kid;
    const key = await importJWK({ ...issuer.publicKey(), alg: 'ES256' }, 'ES256', { extractable: true });
    const signed = `${part({ alg: 'HS256', typ: 'JWT', kid })}.${part(claims())}`;
    const mac = createHmac('sha256', await exportSPKI(key as CryptoKey))
      .update(signed)
      .digest('base64url');
    return `${signed}.${mac}`;
  }
});

describe('the file of issuers', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-issuers-'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const one = { tenant: 'acme', name: 'corp', issuer: 'https://id.example', audience: 'gate' };
  const read = async (content: unknown) => {
    const file = join(folder, 'issuers.json');
    await writeFile(file, JSON.stringify(content));
    return readDelegatingIssuers(file);
  };

  it('names each issuer once, for one tenant', async () => {
    const two = { ...one, tenant: 'other', name: 'theirs', issuer: 'http://127.0.0.1:1', jwks_file: '/keys.json' };
    expect(await read({ issuers: [one, two] })).toEqual([
      { ...one, keys: { url: undefined } },
      { tenant: 'other', name: 'theirs', issuer: 'http://127.0.0.1:1', audience: 'gate', keys: { file: '/keys.json' } },
    ]);
  });

  it.each([
    ['none', { issuers: [] }],
    ['one twice', { issuers: [one, { ...one, tenant: 'other', name: 'again' }] }],
    ['two of one name', { issuers: [one, { ...one, issuer: 'https://other.example' }] }],
    ['one in clear text', { issuers: [{ ...one, issuer: 'http://id.example' }] }],
    ['one with a user', { issuers: [{ ...one, issuer: 'https://me@id.example' }] }],
    ['two places of keys', { issuers: [{ ...one, jwks_url: 'https://id.example/k', jwks_file: '/k' }] }],
    ['what nobody reads', { issuers: [{ ...one, audiences: ['gate'] }] }],
    ['no tenant', { issuers: [{ ...one, tenant: 'a/b' }] }],
  ])('does not name %s', async (_what, content) => {
    await expect(read(content)).rejects.toThrow(/issuers.json/);
  });
});
