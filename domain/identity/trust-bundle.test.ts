import { generateKeyPairSync, type X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { bundleKeys } from './trust-bundle.js';

const ca = (publicKey: X509Certificate['publicKey']) =>
  ({ publicKey, subject: 'CN=old', raw: Buffer.from('der') }) as unknown as X509Certificate;

describe('the trust bundle', () => {
  it('has the key of each CA, with its certificate', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x, y } = publicKey.export({ format: 'jwk' });
    expect(bundleKeys([ca(publicKey)], [])).toEqual([
      { use: 'x509-svid', kty: 'EC', crv: 'P-256', x, y, x5c: [Buffer.from('der').toString('base64')] },
    ]);
  });

  it('is refused where it could not tell one of them, which is named', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    expect(() => bundleKeys([ca(publicKey)], [])).toThrow('the CA CN=old has a key of another kind than EC');
  });
});
