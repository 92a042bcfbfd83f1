import { createPublicKey, generateKeyPairSync, type JsonWebKey, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { keyInMemory } from '../../../domain/identity/held-key.js';
import { createSigner } from '../../../domain/identity/signer.js';
import { bareService } from '../../../test/support/bare-service.js';
import { readOtherKeys } from '../../plugins/start.js';
import { authorizationKeys } from '../authorization-keys.js';
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
  const { key_id, value } = await signer.sign('{}');
  const jwk = keys.find(({ kid }) => kid === key_id) as JsonWebKey;
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  expect(verify(null, Buffer.from('{}'), publicKey, Buffer.from(value, 'base64'))).toBe(true);
  await service.close();
});

it('the key set has the keys of before and of later beside it, each once', async () => {
  const pair = () => generateKeyPairSync('ed25519');
  const [active, before, later] = [pair(), pair(), pair()];
  const signer = createSigner(active.privateKey);
  const folder = mkdtempSync(join(tmpdir(), 'gate-key-set-'));
  try {
    const file = join(folder, 'others.pem');
    const pem = ({ publicKey }: typeof active) => publicKey.export({ type: 'spki', format: 'pem' }).toString();
    writeFileSync(file, [before, active, later, before].map(pem).join(''));
    const { others } = authorizationKeys(
      {
        now: {
          signing: { id: signer.publicJwk.kid, key: keyInMemory(active.privateKey) },
          keys: [{ id: signer.publicJwk.kid, publicKey: active.publicKey, state: 'signing', signsFrom: null }],
        },
      },
      await readOtherKeys(file),
    );
    const service = bareService({ name: 'proxy', resolveCaller: () => null });
    registerKeySet(service.app, signer, others);
    const { keys } = (await service.app.inject('/.well-known/jwks.json')).json<{ keys: JsonWebKey[] }>();
    expect(keys).toEqual([active, before, later].map(({ privateKey }) => createSigner(privateKey).publicJwk));
    await service.close();
    expect(await readOtherKeys(undefined)).toEqual([]);
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    for (const [text, why] of [
      ['', 'no public key'],
      [`${pem(before)}more`, 'something else'],
      [active.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 'something else'],
      [rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString(), 'not Ed25519'],
    ] as const) {
      writeFileSync(file, text);
      await expect(readOtherKeys(file)).rejects.toThrow(why);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
