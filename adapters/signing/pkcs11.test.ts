import { generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { needs } from '../../test/support/needs.js';
import { SOFTHSM_PRESENT, type SoftToken, softToken } from '../../test/support/soft-token.js';
import { eventually, timePasses } from '../../test/support/waiting.js';
import { authorityBy, certifyBy } from '../identity/certificate-authority.js';
import { createKeyStores, type KeyStores } from './key-stores.js';
import { readKeyReference } from '../../domain/identity/key-reference.js';
import { openPkcs11Token, type Pkcs11Token } from './pkcs11.js';

const TEXT = Buffer.from('what Gate vouches for');

/** The processes that this one began for the library of a token. */
const processes = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const parent = / [A-Z] ([0-9]+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
        return (
          Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('pkcs11-process')
        );
      } catch {
        return false;
      }
    });

(SOFTHSM_PRESENT ? describe : describe.skip)(`a key in a token${needs('softhsm2', SOFTHSM_PRESENT)}`, () => {
  let token: SoftToken;
  let opened: Pkcs11Token;
  let stores: KeyStores;
  let now: number;
  const open = (limitMs = 20_000) => {
    const reference = readKeyReference(token.reference('any'));
    if (reference.store !== 'pkcs11') throw new Error('unreachable');
    return openPkcs11Token(reference, limitMs);
  };
  beforeEach(() => {
    now = 0;
    token = softToken();
    opened = open();
    stores = createKeyStores({ limitMs: 20_000, clock: () => now });
  });
  afterEach(() => {
    opened.close();
    stores.close();
    token.remove();
  });

  it.each(['Ed25519', 'ES256'] as const)(
    'is made there (%s), and signs what its public half verifies',
    async (algorithm) => {
      const made = await opened.make('first', algorithm);
      const key = await stores.open(token.reference('first'));
      expect([key.algorithm, key.publicKey.equals(made.publicKey), key.fault()]).toEqual([algorithm, true, null]);
      const signature = await key.sign(TEXT);
      expect(
        algorithm === 'Ed25519'
          ? verify(null, TEXT, key.publicKey, signature)
          : verify('sha256', TEXT, { key: key.publicKey, dsaEncoding: 'ieee-p1363' }, signature),
      ).toBe(true);
    },
  );

  it('signs a certificate as the CA that has its public half', async () => {
    const key = await opened.make('ca', 'ES256');
    const guarded = await stores.open(token.reference('ca'));
    const { publicKey } = generateKeyPairSync('ed25519');
    const life = { notBefore: new Date(0), notAfter: new Date(3_600_000) };
    const cert = await authorityBy(guarded, 'gate.local', life);
    const leaf = new X509Certificate(
      await certifyBy(
        { cert, key: guarded },
        { ...life, commonName: 'bot', spiffe: 'spiffe://gate.local/service/x', hosts: [], usages: ['client'] },
        new Uint8Array(publicKey.export({ type: 'spki', format: 'der' })),
      ),
    );
    expect([leaf.verify(key.publicKey), leaf.checkIssued(new X509Certificate(cert))]).toEqual([true, true]);
  });

  it('is the same where it is made again, and none where one of another kind is there', async () => {
    const first = await opened.make('once', 'Ed25519');
    expect((await opened.make('once', 'Ed25519')).publicKey.equals(first.publicKey)).toBe(true);
    await expect(opened.make('once', 'ES256')).rejects.toThrow('is there already, and is Ed25519');
    await expect(opened.key('other')).rejects.toThrow('the token has no key other');
  });

  it('is not taken for made there where it came from elsewhere, and signs all the same', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    token.import('brought', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    await expect(opened.make('brought', 'ES256')).rejects.toThrow('does not say that it was made there');
    const key = await stores.open(token.reference('brought'));
    expect([key.publicKey.equals(publicKey), (await key.sign(TEXT)).length]).toEqual([true, 64]);
  });

  it('is reached over another process where the one before was killed, also among signatures', async () => {
    await opened.make('steady', 'Ed25519');
    const key = await stores.open(token.reference('steady'));
    opened.close();
    const [pid] = processes();
    const asked = Array.from({ length: 50 }, () => key.sign(TEXT));
    process.kill(pid as number, 'SIGKILL');
    const outcomes = await Promise.allSettled(asked);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'signing_unavailable' });
      else expect(verify(null, TEXT, key.publicKey, outcome.value)).toBe(true);
    now += 60_000;
    expect(verify(null, TEXT, key.publicKey, await key.sign(TEXT))).toBe(true);
    expect([processes().length, processes().includes(pid as number)]).toEqual([1, false]);
  });

  it('is signing_unavailable within the limit where the library hangs, and is asked again later', async () => {
    await opened.make('slow', 'Ed25519');
    opened.close();
    stores.close();
    stores = createKeyStores({ limitMs: 3_000, clock: () => now });
    const key = await stores.open(token.reference('slow'));
    const [pid] = processes();
    process.kill(pid as number, 'SIGSTOP');
    await expect(key.sign(TEXT)).rejects.toMatchObject({
      code: 'signing_unavailable',
      message: expect.stringContaining('no answer within 3000 ms'),
    });
    expect(key.fault()).toBe('the token gate: timeout');
    // The one that hung is gone, and whoever asks whether it answers begins another one.
    await eventually('it answers again', async () => key.fault() === null);
    expect(processes().includes(pid as number)).toBe(false);
  });

  it('is not asked for by everybody while the token is away', async () => {
    await opened.make('away', 'Ed25519');
    const key = await stores.open(token.reference('away'));
    opened.close();
    for (const pid of processes()) process.kill(pid, 'SIGKILL');
    const conf = process.env['SOFTHSM2_CONF'];
    process.env['SOFTHSM2_CONF'] = '/nowhere';
    for (let time = 0; time < 4; time++)
      await expect(key.sign(TEXT)).rejects.toMatchObject({ code: 'signing_unavailable' });
    await expect(key.sign(TEXT)).rejects.toThrow('it is asked again in a moment');
    process.env['SOFTHSM2_CONF'] = conf;
    now += 60_000;
    expect(await key.sign(TEXT)).toHaveLength(64);
  });

  it('is not asked for again with a PIN that the token refused, until another one is in its file', async () => {
    await opened.make('locked', 'Ed25519');
    opened.close();
    const pin = readFileSync(token.pinFile, 'utf8');
    writeFileSync(token.pinFile, 'wrong-pin');
    opened = open();
    await expect(opened.key('locked')).rejects.toThrow('does not take the PIN');
    for (let time = 0; time < 20; time++)
      await expect(opened.key('locked')).rejects.toThrow('which is not tried again');
    writeFileSync(token.pinFile, pin);
    expect((await opened.key('locked')).algorithm).toBe('Ed25519');
  });

  it('is refused where the library, the token or the PIN is not there, and no secret is in what is said', async () => {
    await opened.make('there', 'Ed25519');
    const references = [
      token.reference('there', '/nowhere/lib.so'),
      token.reference('there').replace('token=gate', 'token=other'),
      token.reference('there').replace(token.pinFile, join(token.folder, 'none')),
    ];
    for (const reference of references)
      await expect(stores.open(reference)).rejects.toThrow(
        /process of the token ended|labelled other|PIN cannot be read/,
      );
  });

  it('tells the library nothing of what Gate knows', async () => {
    process.env['GATE_IDENTITY_KEYS'] = 'secret';
    await opened.make('env', 'Ed25519');
    const [pid] = processes();
    const environment = readFileSync(`/proc/${pid as number}/environ`, 'utf8');
    delete process.env['GATE_IDENTITY_KEYS'];
    expect([environment.includes('GATE_'), environment.includes('SOFTHSM2_CONF')]).toEqual([false, true]);
    expect(readFileSync(`/proc/${pid as number}/cmdline`, 'utf8')).not.toContain('98765432');
  });

  it('that is half made is made anew, whenever the process is killed', async () => {
    opened.close();
    let whole = 0;
    for (let round = 0; round < 12; round++) {
      const one = open();
      const making = one.make(`key-${round}`, 'ES256').catch(() => null);
      const pid = await eventually('it began', async () => processes()[0] ?? null);
      // Later in each round: before the login, among the objects, after the answer.
      await timePasses(round * 12, 'it is killed at another moment in each round');
      try {
        process.kill(pid as number, 'SIGKILL');
      } catch {
        // It was over.
      }
      if (await making) whole += 1;
      one.close();
      const again = open();
      const key = await again.make(`key-${round}`, 'ES256');
      expect(verify('sha256', TEXT, { key: key.publicKey, dsaEncoding: 'ieee-p1363' }, await key.sign(TEXT))).toBe(
        true,
      );
      again.close();
    }
    expect(whole).toBeLessThan(12);
  });
});
