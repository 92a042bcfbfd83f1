import { createPublicKey, generateKeyPairSync, type JsonWebKey, verify } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { createSigner } from '../../../domain/identity/signer.js';
import { bareService } from '../../../test/support/bare-service.js';
import { registerKeySet } from './key-set.js';

it('the key set has the key of every authorization under its key id, for everybody, and nothing of its secret', async () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const signer = createSigner(privateKey);
  const service = bareService({ name: 'proxy', resolveCaller: () => null });
  registerKeySet(service.app, signer);
  const reply = await service.app.inject('/.well-known/jwks.json');
  expect([reply.statusCode, reply.headers['cache-control']]).toEqual([200, 'public, max-age=300']);
  const { keys } = reply.json<{ keys: JsonWebKey[] }>();
  expect(keys.map((key) => Object.keys(key).sort())).toEqual([['alg', 'crv', 'kid', 'kty', 'use', 'x']]);
  const { key_id, value } = signer.sign('{}');
  const jwk = keys.find(({ kid }) => kid === key_id) as JsonWebKey;
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  expect(verify(null, Buffer.from('{}'), publicKey, Buffer.from(value, 'base64'))).toBe(true);
  await service.close();
});
