import { generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createSigner } from './signer.js';

describe('a signer (RFC 8032)', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  it('signs the exact bytes and names its key', async () => {
    const signature = await createSigner(privateKey).sign('{"a":1}');
    expect(signature).toMatchObject({ algorithm: 'Ed25519', key_id: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(verify(null, Buffer.from('{"a":1}'), publicKey, Buffer.from(signature.value, 'base64'))).toBe(true);
    expect(verify(null, Buffer.from('{"a":2}'), publicKey, Buffer.from(signature.value, 'base64'))).toBe(false);
  });
  it('refuses a key of another kind', () => {
    expect(() => createSigner(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)).toThrow(/not Ed25519/);
  });
});
