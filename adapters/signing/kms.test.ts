import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type KmsStub, kmsStub } from '../../test/support/kms-stub.js';
import { needs } from '../../test/support/needs.js';
import { OPENSSL_PRESENT } from '../../test/support/time-stamp-authority.js';
import { eventually } from '../../test/support/waiting.js';
import { createKeyStores, type KeyStores } from './key-stores.js';

const TEXT = Buffer.from('what Gate vouches for');
const LIMIT_MS = 1_000;

(OPENSSL_PRESENT ? describe : describe.skip)(`a key of KMS${needs('openssl', OPENSSL_PRESENT)}`, () => {
  let folder: string;
  let kms: KmsStub;
  let stores: KeyStores;
  let now: number;
  const opened = (spec: 'ECC_NIST_P256' | 'ECC_NIST_EDWARDS25519' = 'ECC_NIST_EDWARDS25519') =>
    stores.open(kms.reference(kms.key(spec).arn));
  beforeEach(async () => {
    now = Date.now();
    folder = mkdtempSync(join(tmpdir(), 'gate-kms-'));
    kms = await kmsStub(folder);
    stores = createKeyStores({ limitMs: LIMIT_MS, clock: () => now });
  });
  afterEach(async () => {
    stores.close();
    await kms.close();
    rmSync(folder, { recursive: true });
  });

  it('signs by Ed25519, and by ECDSA whatever the length of r and s', async () => {
    const ed = await opened();
    expect(verify(null, TEXT, ed.publicKey, await ed.sign(TEXT))).toBe(true);
    const ec = await opened('ECC_NIST_P256');
    for (let time = 0; time < 40; time++) {
      const text = Buffer.from(`text ${time}`);
      const key = { key: ec.publicKey, dsaEncoding: 'ieee-p1363' } as const;
      expect(verify('sha256', text, key, await ec.sign(text))).toBe(true);
    }
  });

  it('is made there, for signatures alone, and found under its id', async () => {
    const reference = await stores.make(kms.reference('{key}'), 'gate-tokens', 'Ed25519');
    expect(reference).toContain('awskms:///arn%3Aaws%3Akms%3Aeu-central-1%3A111122223333%3Akey%2F0?');
    expect((await stores.open(reference)).algorithm).toBe('Ed25519');
    expect(kms.asked).toEqual(['CreateKey', 'GetPublicKey']);
  });

  const fault = (status: number, body: string) => (_operation: string, response: ServerResponse) =>
    Boolean(response.writeHead(status).end(body));
  it.each([
    ['is busy (429)', fault(429, '{"__type":"ThrottlingException"}'), 'with 429 ThrottlingException'],
    ['throttles as AWS does', fault(400, '{"__type":"com.amazonaws.kms#ThrottlingException"}'), 'ThrottlingException'],
    ['fails (500)', fault(500, 'secret-in-a-page'), 'KMS answered Sign with 500'],
    ['refuses', fault(400, '{"__type":"AccessDeniedException","message":"arn:secret"}'), 'AccessDeniedException'],
    ['answers half', fault(200, '{"Signature":"AAAA'), 'was answered by something else'],
    ['answers no signature', fault(200, '{}'), 'was answered by something else'],
    [
      'answers a signature of nothing',
      fault(200, `{"Signature":"${Buffer.alloc(64).toString('base64')}","SigningAlgorithm":"ED25519_SHA_512"}`),
      'no signature of this key',
    ],
    [
      'signs by another algorithm',
      fault(200, '{"Signature":"AAAA","SigningAlgorithm":"ED25519_PH_SHA_512"}'),
      'another algorithm',
    ],
    ['sends it elsewhere', fault(307, ''), 'KMS answered Sign with 307'],
    [
      'answers without end',
      (_operation: string, response: ServerResponse) => {
        response.writeHead(200);
        const more = () => response.destroyed || (response.write('x'.repeat(60_000)), setImmediate(more));
        more();
        return true;
      },
      'does not answer',
    ],
    ['does not answer in time', () => true, `no answer within ${LIMIT_MS} ms`],
    [
      'ends in the middle',
      (_operation: string, response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '500' });
        response.write('{"Sig', () => response.destroy());
        return true;
      },
      'does not answer',
    ],
  ])('signs nothing where KMS %s, and says so without a secret', async (_what, how, said) => {
    const key = await opened();
    kms.answers(how);
    const failed = await key.sign(TEXT).catch((error: unknown) => error as Error);
    expect(failed).toMatchObject({ code: 'signing_unavailable', message: expect.stringContaining(said) });
    expect(String((failed as Error).message)).not.toMatch(/secret|arn:/);
    expect(key.fault()).toMatch(/^KMS: (unreachable|timeout|refused|invalid_answer)$/);
    kms.answers(null);
    await eventually('it answers again', () => key.fault() === null);
    expect(verify(null, TEXT, key.publicKey, await key.sign(TEXT))).toBe(true);
  });

  it('signs nothing where another key signs under its id', async () => {
    const { arn } = kms.key('ECC_NIST_P256');
    const key = await stores.open(kms.reference(arn));
    kms.swap(arn);
    await expect(key.sign(TEXT)).rejects.toThrow('no signature of this key');
  });

  it('is not asked for each time while KMS is away, and is again after a pause', async () => {
    const key = await opened();
    kms.answers(fault(503, ''));
    for (let time = 0; time < 20; time++)
      await expect(key.sign(TEXT)).rejects.toMatchObject({ code: 'signing_unavailable' });
    expect(kms.asked.filter((operation) => operation === 'Sign')).toHaveLength(3);
    kms.answers(null);
    now += 60_000;
    expect(await key.sign(TEXT)).toHaveLength(64);
  });

  it('signs long texts by ECDSA, and refuses them by Ed25519 without asking', async () => {
    const long = Buffer.alloc(5_000, 'x');
    expect(await (await opened('ECC_NIST_P256')).sign(long)).toHaveLength(64);
    const key = await opened();
    for (let time = 0; time < 10; time++) await expect(key.sign(long)).rejects.toThrow('4096 bytes at most');
    expect(kms.asked.filter((operation) => operation === 'Sign')).toHaveLength(1);
    // Whoever sends long calls keeps nobody else's from being signed.
    expect([key.fault(), (await key.sign(TEXT)).length]).toEqual([null, 64]);
  });

  it('is asked with the credentials that lie in their file now, and not with those that are over', async () => {
    const key = await opened();
    const write = (more: object) =>
      writeFileSync(
        kms.credentialsFile,
        JSON.stringify({ AccessKeyId: 'AKIDEXAMPLE', SecretAccessKey: kms.secret, SessionToken: 'session', ...more }),
      );
    write({ SecretAccessKey: 'another' });
    await expect(key.sign(TEXT)).rejects.toThrow('InvalidSignatureException');
    write({ Expiration: new Date(now - 1).toISOString() });
    await expect(key.sign(TEXT)).rejects.toThrow('the credentials are over');
    writeFileSync(kms.credentialsFile, '{');
    now += 60_000;
    await expect(key.sign(TEXT)).rejects.toThrow('the file of the credentials has none');
    write({ Expiration: new Date(now + 60_000).toISOString() });
    now += 60_000 - 1;
    expect(await key.sign(TEXT)).toHaveLength(64);
  });
});
