import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { CompactSign, generateKeyPair } from 'jose';
import { GateError } from '../../domain/errors.js';
import { createSigner, type PublicJwk } from '../../domain/identity/signer.js';
import { createGrantTokens, type GrantTokens } from './grant-tokens.js';

const key = () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  return { privateKey, jwk: createSigner(privateKey).publicJwk };
};
const one = key();
const claims = (over: object = {}) => ({
  iss: 'gate-identity',
  sub: 'spiffe://gate.local/tenant/acme/agent/bot',
  act: { sub: 'user:ada', idp: 'corp', amr: [] },
  scope: ['tool:a'],
  yellow_scope: [],
  iat: 1,
  exp: 2,
  jti: randomUUID(),
  ...over,
});
const signed = (
  over: object = {},
  {
    header = {},
    by = one.privateKey,
  }: { readonly header?: object; readonly by?: Parameters<CompactSign['sign']>[0] } = {},
) =>
  new CompactSign(Buffer.from(JSON.stringify(claims(over))))
    .setProtectedHeader({ alg: 'EdDSA', kid: one.jwk.kid, typ: 'JWT', ...header })
    .sign(by);

let tokens: GrantTokens;
let published: readonly PublicJwk[];
let away: boolean;
let asked: number;
let steady: number;
beforeEach(() => {
  [published, away, asked, steady] = [[one.jwk], false, 0, 0];
  tokens = createGrantTokens({
    steadyMs: () => steady,
    ask: () => {
      asked += 1;
      return away ? Promise.reject(new Error('away')) : Promise.resolve({ keys: [...published] });
    },
  });
});
const refused = async (work: Promise<unknown>): Promise<[string, string]> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof GateError) return [error.code, error.message];
    throw error;
  }
  throw new Error('the grant was taken');
};
const invalid = (why: string) => ['grant_invalid', `the grant is refused: ${why}`];

describe('a grant', () => {
  it('is read where identity signed it, with keys that are asked for once', async () => {
    expect(await tokens.verify(await signed({ max_uses: 2 }))).toMatchObject({ max_uses: 2, act: { sub: 'user:ada' } });
    for (let times = 0; times < 3; times += 1) await tokens.verify(await signed());
    expect(asked).toBe(1);
  });

  it('counts for as long as its key does, however often it was shown', async () => {
    const token = await signed();
    const first = await tokens.verify(token);
    // What was read then, and not once more.
    expect(await tokens.verify(token)).toBe(first);
    // The same but for its signature, or for one claim.
    const [head, body, signature = ''] = token.split('.');
    const other = (await signed({ scope: ['tool:b'] })).split('.')[1];
    const flipped = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
    for (const changed of [`${head}.${body}.${flipped}`, `${head}.${other}.${signature}`])
      expect(await refused(tokens.verify(changed))).toEqual(invalid('its signature does not hold'));
    published = [key().jwk];
    steady = 60_001;
    await tokens.verify(token);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await refused(tokens.verify(token))).toEqual(invalid('signed with none of the keys of identity'));
  });

  it('is known again among a thousand others at most', async () => {
    const [oldest, ...others] = await Promise.all(Array.from({ length: 1_001 }, () => signed()));
    const first = await tokens.verify(oldest ?? '');
    for (const token of others.slice(1)) await tokens.verify(token);
    expect(await tokens.verify(oldest ?? '')).toBe(first);
    await tokens.verify(others[0] ?? '');
    const again = await tokens.verify(oldest ?? '');
    expect(again).not.toBe(first);
    expect(again).toEqual(first);
  });

  it.each<[string, () => Promise<string> | string, string]>([
    ['by another key under its name', () => signed({}, { by: key().privateKey }), 'its signature does not hold'],
    [
      'by a key that is not there',
      () => signed({}, { header: { kid: 'x' } }),
      'signed with none of the keys of identity',
    ],
    [
      'with one more parameter',
      () => signed({}, { header: { jku: 'https://x' } }),
      'its header is not that of a grant',
    ],
    [
      'as a token of another kind',
      () => signed({}, { header: { typ: 'at+jwt' } }),
      'its header is not that of a grant',
    ],
    ['by another algorithm', () => otherAlgorithm(), 'its header is not that of a grant'],
    ['not at all', () => unsigned(), 'no signed token'],
    ['with an audience', () => signed({ aud: 'x' }), 'its claims are not those of a grant'],
    ['by another issuer', () => signed({ iss: 'x' }), 'its claims are not those of a grant'],
    ['for no use', () => signed({ max_uses: 0 }), 'its claims are not those of a grant'],
    ['for ever', () => signed({ exp: undefined }), 'its claims are not those of a grant'],
    ['over other claims', () => changed(), 'its signature does not hold'],
    ['as no token', () => 'x.y', 'no signed token'],
    ['as no token of three parts', () => '..', 'no signed token'],
    ['in a long text', () => 'x'.repeat(8_193), 'longer than 8192 characters'],
  ])('is refused that is signed %s', async (_what, make, why) => {
    await tokens.verify(await signed());
    // The key that is not there is looked for.
    steady += 10_000;
    expect(await refused(tokens.verify(await make()))).toEqual(invalid(why));
  });
  async function otherAlgorithm(): Promise<string> {
    const { privateKey } = await generateKeyPair('ES256');
    return signed({}, { header: { alg: 'ES256' }, by: privateKey });
  }
  const unsigned = async () => {
    const [, payload = ''] = (await signed()).split('.');
    return `${Buffer.from(JSON.stringify({ alg: 'none', kid: one.jwk.kid, typ: 'JWT' })).toString('base64url')}.${payload}.`;
  };
  const changed = async () => {
    const [header, , signature] = (await signed()).split('.');
    return [header, Buffer.from(JSON.stringify(claims({ scope: ['tool:b'] }))).toString('base64url'), signature].join(
      '.',
    );
  };
});

describe('the keys of identity', () => {
  it('are asked for again when one is not among them, and not for each name that somebody writes', async () => {
    await tokens.verify(await signed());
    const two = key();
    const by = { header: { kid: two.jwk.kid }, by: two.privateKey };
    published = [one.jwk, two.jwk];
    expect((await refused(tokens.verify(await signed({}, by))))[0]).toBe('grant_invalid');
    steady += 3_000;
    await tokens.verify(await signed({}, by));
    expect(asked).toBe(2);
    for (let times = 0; times < 5; times += 1) await refused(tokens.verify(await signed({}, { header: { kid: 'x' } })));
    expect(asked).toBe(2);
  });

  it('count for a quarter of an hour where identity does not answer, and then nothing is said of a grant', async () => {
    away = true;
    expect((await refused(tokens.verify(await signed())))[0]).toBe('grant_jwks_unavailable');
    away = false;
    await tokens.verify(await signed());
    away = true;
    steady += 899_000;
    await tokens.verify(await signed());
    steady += 2_000;
    expect((await refused(tokens.verify(await signed())))[0]).toBe('grant_jwks_unavailable');
    away = false;
    await tokens.verify(await signed());
  });

  it('are taken whole, or not at all', async () => {
    published = [one.jwk, one.jwk];
    expect((await refused(tokens.verify(await signed())))[0]).toBe('grant_jwks_unavailable');
    published = Array.from({ length: 17 }, () => key().jwk);
    expect((await refused(tokens.verify(await signed())))[0]).toBe('grant_jwks_unavailable');
  });
});
