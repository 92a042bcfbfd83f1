import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { SubjectAlternativeNameExtension } from '@peculiar/x509';
import { createPrivateKey, createPublicKey, hash } from 'node:crypto';
import { certificateRequest, newKeyPair } from '../../test/support/certificate-request.js';
import { MOST_CSR_BYTES, readCertificateRequest } from './certificate-request.js';

const made = async (...parts: Parameters<typeof certificateRequest>) => (await certificateRequest(...parts)).pem;

describe('a request for a certificate', () => {
  it.each(['p256', 'ed25519'] as const)('gives its key (%s) and the digest of its bytes', async (kind) => {
    const { pem, keyPem } = await certificateRequest({ kind });
    const publicKey = createPublicKey(createPrivateKey(keyPem)).export({ format: 'der', type: 'spki' });
    const der = Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64');
    expect(await readCertificateRequest(`\n${pem}\n`)).toEqual({
      publicKey,
      publicKeySha256: hash('sha256', publicKey),
      csrSha256: hash('sha256', der),
    });
  });

  it.each<[string, () => Promise<string>, string]>([
    ['a text that is no request', async () => 'x', 'invalid_csr'],
    ['one that is cut off', async () => (await made()).replace(/-----\n[^\n]+\n/, '-----\n'), 'invalid_csr'],
    ['bytes that are no request', async () => (await made()).replace(/-----\n[^-]+/, '-----\nAAAA\n'), 'invalid_csr'],
    ['two', async () => (await made()).repeat(2), 'invalid_csr'],
    ['more than 16 KiB', async () => 'x'.repeat(MOST_CSR_BYTES + 1), 'csr_too_large'],
    ['another curve', () => made({ kind: 'p384' }), 'unsupported_csr_algorithm'],
    ['RSA', () => made({ kind: 'rsa' }), 'unsupported_csr_algorithm'],
    [
      'a point that is not on the curve, about which Node cannot be asked',
      async () =>
        `-----BEGIN CERTIFICATE REQUEST-----\nMDQwIgIBADAAMBkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDAgAAoAAwCgYIKoZIzj0EAwIDAgAA\n-----END CERTIFICATE REQUEST-----\n`,
      'unsupported_csr_algorithm',
    ],
    ...['01', '81', 'ee'].map((first): [string, () => Promise<string>, string] => [
      `a key under which everybody can sign (${first})`,
      async () => {
        const { pem, keyPem } = await certificateRequest({ kind: 'ed25519' });
        const der = Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64');
        const key = createPublicKey(createPrivateKey(keyPem)).export({ format: 'der', type: 'spki' }).subarray(-32);
        // The point at infinity in three spellings; with it as R, and S = 0, the equation holds for whatever is signed.
        const point =
          first === 'ee'
            ? Buffer.concat([Buffer.from('ee', 'hex'), Buffer.alloc(30, 0xff), Buffer.from('7f', 'hex')])
            : Buffer.concat([
                Buffer.from('01', 'hex'),
                Buffer.alloc(30),
                Buffer.from(first === '81' ? '80' : '00', 'hex'),
              ]);
        point.copy(der, der.indexOf(key));
        Buffer.concat([Buffer.from('01', 'hex'), Buffer.alloc(63)]).copy(der, der.length - 64);
        return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
      },
      'unsupported_csr_algorithm',
    ]),
    [
      'something behind it',
      async () => {
        const der = Buffer.from((await made()).replaceAll(/-----[^-]+-----/g, ''), 'base64');
        const more = Buffer.concat([der, Buffer.from([0])]).toString('base64');
        return `-----BEGIN CERTIFICATE REQUEST-----\n${more}\n-----END CERTIFICATE REQUEST-----\n`;
      },
      'invalid_csr',
    ],
    [
      'a signature of another key',
      async () => {
        const [one, other] = [await newKeyPair(), await newKeyPair()];
        return made({ keys: { publicKey: one.publicKey, privateKey: other.privateKey } });
      },
      'invalid_csr_signature',
    ],
    [
      'a name that it wishes for',
      () => made({ extensions: [new SubjectAlternativeNameExtension([{ type: 'url', value: 'spiffe://a/b' }])] }),
      'csr_extensions_forbidden',
    ],
  ])('is refused for %s', async (_what, pem, code) => {
    await expect(readCertificateRequest(await pem())).rejects.toMatchObject({ code });
  });
});
