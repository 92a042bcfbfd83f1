import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportSPKI, importJWK } from 'jose';
import { GateError } from '../../domain/errors.js';
import type { AccessTokenRules } from '../../domain/identity/access-tokens.js';
import { startTokenProvider, type TokenProvider } from '../../test/support/token-provider.js';
import { type AccessTokens, openAccessTokens, type TokenHolder } from './access-tokens.js';

const RESOURCE = 'https://gate.example/mcp';
let provider: TokenProvider;
let tokens: AccessTokens | undefined;
let aheadMs: number;
let rules: AccessTokenRules;

const open = async (over: Partial<AccessTokenRules> = {}, lookEveryMs = 0) => {
  await tokens?.close();
  tokens = await openAccessTokens(
    { ...rules, ...over },
    { now: () => Date.now() + aheadMs, lookEveryMs, pauseMs: 0, limits: { totalMs: 2_000 } },
  );
};
const verify = (token: string): Promise<TokenHolder> => (tokens as AccessTokens).verify(token);
const refused = async (token: string): Promise<{ code: string; why: string }> => {
  try {
    await verify(token);
  } catch (error) {
    if (error instanceof GateError) return { code: error.code, why: error.message };
    throw error;
  }
  throw new Error('the token was taken');
};
const invalid = (why: string) => ({ code: 'token_invalid', why: `the access token is refused: ${why}` });
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

beforeAll(async () => {
  provider = await startTokenProvider({
    resource: RESOURCE,
    clients: [
      { id: 'support-bot', tenant: 'acme' },
      { id: 'other-bot', tenant: 'globex' },
    ],
  });
});
afterAll(() => provider.close());
beforeEach(async () => {
  aheadMs = 0;
  provider.fault = null;
  rules = {
    issuer: provider.issuer,
    resource: RESOURCE,
    audience: RESOURCE,
    algorithms: ['ES256', 'EdDSA'],
    scopes: [],
    clockSkewSecs: 30,
    tenant: { claim: 'tenant' },
    agent: { claim: 'client_id' },
    keys: {},
  };
  await open();
});
afterAll(() => tokens?.close());

describe('an access token that the provider gave', () => {
  it('says tenant and agent, when it ends, and has a fingerprint of its own', async () => {
    const [first, second] = [await provider.token(), await provider.token()];
    const holder = await verify(first);
    expect(holder).toEqual({
      tenant: 'acme',
      agent: 'support-bot',
      certificate: null,
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      validToMs: expect.any(Number),
    });
    expect(holder.validToMs - Date.now()).toBeLessThanOrEqual(630_000);
    expect(await verify(first)).toEqual(holder);
    expect((await verify(second)).fingerprint).not.toBe(holder.fingerprint);
    expect(await verify(await provider.token('other-bot'))).toMatchObject({ tenant: 'globex' });
  });

  it('is verified with keys that the metadata of the issuer names, read once', async () => {
    const before = provider.keysRead;
    for (let times = 0; times < 5; times += 1) await verify(await provider.token());
    expect(provider.keysRead).toBe(before + 1);
  });

  it('counts with new keys after a rotation, and one of the keys before does not', async () => {
    const before = await provider.token();
    await verify(before);
    await provider.rotate();
    expect(await verify(await provider.token())).toMatchObject({ agent: 'support-bot' });
    expect(await refused(before)).toEqual(invalid("signed with none of the issuer's keys"));
  });

  it('ends, and the clocks may differ by the skew', async () => {
    const token = await provider.forged({ ...provider.claims(), exp: Math.floor(Date.now() / 1000) - 20 });
    await verify(token);
    aheadMs = 11_000;
    expect(await refused(token)).toEqual(invalid('expired'));
  });
});

describe('an access token is refused', () => {
  const soon = () => Math.floor(Date.now() / 1000) + 300;
  it.each<[string, () => Promise<string>, string]>([
    ['for another resource', () => provider.token('support-bot', 'https://other.example/mcp'), 'for another audience'],
    [
      'of another issuer',
      () => provider.forged({ ...provider.claims(), iss: 'https://evil.example' }),
      'of another issuer',
    ],
    [
      'without an issuer',
      () => provider.forged({ ...provider.claims(), iss: undefined as never }),
      'of another issuer',
    ],
    [
      'without an audience',
      () => provider.forged({ ...provider.claims(), aud: undefined as never }),
      'for another audience',
    ],
    ['not valid yet', () => provider.forged({ ...provider.claims(), nbf: soon() }), 'not valid yet'],
    ['that never ends', () => provider.forged({ ...provider.claims(), exp: undefined as never }), 'without an end'],
    [
      'signed with another key',
      () => provider.forged(provider.claims(), {}, 'another key'),
      'its signature does not hold',
    ],
    [
      'under a key that is not there',
      () => provider.forged(provider.claims(), { kid: 'x' }),
      "signed with none of the issuer's keys",
    ],
    [
      'made for something else',
      () => provider.forged(provider.claims(), { typ: 'logout+jwt' }),
      'a token of another kind',
    ],
    [
      'bound to a key that nobody shows',
      () => provider.forged({ ...provider.claims(), cnf: { jkt: 'x' } }),
      'bound to a key whose possession Gate does not check',
    ],
    ...([null, 'x', 7, {}, { 'x5t#S256': 7 }, { 'x5t#S256': 'x', jkt: 'x' }] as const).map(
      (cnf): [string, () => Promise<string>, string] => [
        `bound to what nobody understands: ${JSON.stringify(cnf)}`,
        () => provider.forged({ ...provider.claims(), cnf }),
        'bound to a key whose possession Gate does not check',
      ],
    ),
    ['that is too long', () => Promise.resolve(`e${'x'.repeat(8_192)}`), 'longer than 8192 characters'],
    ['that is no JWT', () => Promise.resolve('opaque-token'), 'no signed JWT'],
    ['encrypted to somebody', () => Promise.resolve('e30.e30.e30.e30.e30'), 'no signed JWT'],
    [
      'that says nobody signed it',
      () => Promise.resolve(`${base64url({ alg: 'none' })}.${base64url(provider.claims())}.`),
      'signed with an algorithm that is not allowed',
    ],
    [
      'with headers that Gate does not understand',
      () => Promise.resolve(`${base64url({ alg: 'ES256', crit: ['x'], x: 1 })}.${base64url(provider.claims())}.AA`),
      'no signed JWT',
    ],
  ])('%s', async (_what, make, why) => {
    expect(await refused(await make())).toEqual(invalid(why));
  });

  it('where the public key of the issuer is taken for a shared secret (RFC 8725 2.1)', async () => {
    await verify(await provider.token());
    const pem = await exportSPKI((await importJWK(provider.publicKey() as never, 'ES256')) as never);
    const signed = `${base64url({ alg: 'HS256', typ: 'at+jwt' })}.${base64url(provider.claims())}`;
    for (const secret of [pem, JSON.stringify(provider.publicKey())]) {
      const token = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
      expect(await refused(token)).toEqual(invalid('signed with an algorithm that is not allowed'));
    }
  });

  it('with the key that the token itself brings along', async () => {
    const token = await provider.forged(provider.claims(), { jwk: provider.publicKey() as never }, 'another key');
    expect(await refused(token)).toEqual(invalid('its signature does not hold'));
  });

  it('without a scope that is asked for, which another token would have', async () => {
    await open({ scopes: ['mcp', 'pay'] });
    expect(await refused(await provider.token())).toMatchObject({ code: 'token_scope_insufficient' });
    expect(await verify(await provider.forged({ ...provider.claims(), scope: 'mcp pay' }))).toBeTruthy();
    expect(
      await verify(await provider.forged({ ...provider.claims(), scope: undefined, scp: ['pay', 'mcp'] })),
    ).toBeTruthy();
  });

  it('whose claims name no agent here, although it holds', async () => {
    for (const claims of [
      { tenant: undefined },
      { tenant: '../acme' },
      { tenant: ['acme'] },
      { client_id: '' },
      { client_id: 7 },
    ])
      expect(await refused(await provider.forged({ ...provider.claims(), ...claims } as never))).toMatchObject({
        code: 'token_agent_unknown',
      });
  });
});

describe('the keys of the issuer', () => {
  it.each(['hangs up', 'answers 503', 'never answers', 'sends too much'] as const)(
    'cannot be had while it %s: nothing is said about a token, and the next one is verified when it is back',
    async (fault) => {
      const token = await provider.token();
      provider.fault = fault;
      expect(await refused(token)).toMatchObject({ code: 'token_keys_unavailable' });
      provider.fault = null;
      await verify(token);
      provider.fault = fault;
      await verify(token);
    },
  );

  it('are not asked for again by each token that names one which is not there', async () => {
    await open({}, 60_000);
    await verify(await provider.token());
    const before = provider.keysRead;
    for (const kid of ['a', 'b', 'c']) await refused(await provider.forged(provider.claims(), { kid }));
    expect(provider.keysRead).toBe(before);
  });

  it('are not those that metadata of another issuer leads to', async () => {
    await open({ issuer: `${provider.issuer}/` });
    expect(await refused(await provider.token())).toMatchObject({ code: 'token_keys_unavailable' });
  });

  it('are never fetched from an address that is not public, unless settings name it', async () => {
    const url = `${provider.issuer}/jwks`;
    const leading = createServer((_request, response) => response.end(JSON.stringify({ issuer, jwks_uri: url })));
    await once(leading.listen(0, '127.0.0.1'), 'listening');
    const issuer = `http://127.0.0.1:${(leading.address() as AddressInfo).port}`;
    const token = await provider.forged({ ...provider.claims(), iss: issuer });
    const before = provider.keysRead;
    await open({ issuer });
    expect(await refused(token)).toMatchObject({ code: 'token_keys_unavailable' });
    expect(provider.keysRead).toBe(before);
    await open({ issuer, keys: { url } });
    await verify(token);
    leading.closeAllConnections();
    leading.close();
  });

  it('may lie in a file, and one that holds none stops the start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gate-keys-'));
    const file = join(folder, 'keys.json');
    const jwks = await (await fetch(`${provider.issuer}/jwks`)).text();
    await writeFile(file, jwks);
    provider.fault = 'hangs up';
    await open({ keys: { file } });
    await verify(await provider.forged(provider.claims()));
    await writeFile(file, '{}');
    await expect(openAccessTokens({ ...rules, keys: { file } })).rejects.toThrow(`the keys in ${file} cannot be read`);
    await expect(openAccessTokens({ ...rules, keys: { file: `${file}.none` } })).rejects.toThrow(/cannot be read/);
    await rm(folder, { recursive: true });
  });
});
