import { verify, X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createKeyStores } from '../adapters/signing/key-stores.js';
import type { JsonObject } from '../contracts/json.js';
import { canonicalJson } from '../domain/crypto/digest.js';
import { commandLine } from '../test/support/command.js';
import { needs } from '../test/support/needs.js';
import { SOFTHSM_PRESENT, type SoftToken, softToken } from '../test/support/soft-token.js';
import { timePasses } from '../test/support/waiting.js';

interface CeremonyRecord extends Record<string, unknown> {
  readonly fingerprint: string;
  readonly public_key_pem: string;
  readonly certificate_pem?: string;
  readonly place: string;
  readonly signature: string;
}

(SOFTHSM_PRESENT ? describe : describe.skip)(`gate keys ceremony${needs('softhsm2', SOFTHSM_PRESENT)}`, () => {
  let token: SoftToken;
  const gate = commandLine(() => token.folder);
  beforeEach(() => {
    token = softToken();
  });
  afterEach(() => token.remove());
  const file = () => join(token.folder, 'record.json');
  const args = (use: string, witnesses = ['ada', 'grace']): string[] =>
    ['keys', 'ceremony', use, '--at', token.reference('{key}'), '--name', 'first', '--out', file(), '--witness'].concat(
      witnesses,
    );
  const env = () => ({ SOFTHSM2_CONF: process.env['SOFTHSM2_CONF'] ?? '' });
  const hold = (use: string, witnesses?: string[]) => gate.done(args(use, witnesses), env());
  const record = () => JSON.parse(readFileSync(file(), 'utf8')) as CeremonyRecord;
  const holds = ({ signature, ...said }: CeremonyRecord, algorithm: 'sha256' | null) =>
    verify(
      algorithm,
      Buffer.from(`gate.key-ceremony/1\n${canonicalJson(said as JsonObject)}`),
      { key: said.public_key_pem, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64'),
    );

  it('makes the key of a CA there, and writes a record that the key itself signed', async () => {
    const { code, out } = await hold('certificates');
    const made = record();
    expect([code, out]).toEqual([
      0,
      `fingerprint  ${made.fingerprint}\nwatched by   ada, grace\nrecord       ${file()}\nGATE_IDENTITY_CA_KEY_FILE=${token.reference('first')}\n`,
    ]);
    expect(holds(made, 'sha256')).toBe(true);
    expect(holds({ ...made, witnesses: ['mallory', 'eve'] }, 'sha256')).toBe(false);
    const ca = new X509Certificate(made.certificate_pem ?? '');
    expect([ca.ca, ca.verify(ca.publicKey), ca.publicKey.export({ type: 'spki', format: 'pem' })]).toEqual([
      true,
      true,
      made.public_key_pem,
    ]);
    // Neither the PIN nor a private half is anywhere but in the token.
    for (const said of [out, JSON.stringify(made)]) expect(said).not.toMatch(/98765432|PRIVATE/);
  });

  it('is refused without two witnesses, over a record that is there, and where the key cannot be made', async () => {
    expect(await hold('tokens', ['ada', 'ada'])).toMatchObject({ code: 2, out: expect.stringContaining('2 people') });
    expect((await hold('tokens')).code).toBe(0);
    const before = readFileSync(file(), 'utf8');
    expect(await hold('tokens')).toMatchObject({ code: 2, out: expect.stringContaining('written once') });
    expect(readFileSync(file(), 'utf8')).toBe(before);
    const other = args('certificates').map((one) => (one === file() ? `${file()}.2` : one));
    expect(await gate.done(other, env())).toMatchObject({
      code: 1,
      out: expect.stringContaining('is there already, and is Ed25519'),
    });
    expect(existsSync(`${file()}.2`)).toBe(false);
  });

  it('goes on where it was killed in the middle: one key, one record', async () => {
    for (let round = 0; round < 6; round++) {
      const running = gate.run(args('checkpoints'), env());
      await timePasses(250 + round * 150, 'it is killed at another moment in each round');
      running.process.kill('SIGKILL');
      await running.ended;
    }
    if (!existsSync(file())) expect((await hold('checkpoints')).code).toBe(0);
    const made = record();
    expect(holds(made, null)).toBe(true);
    const stores = createKeyStores({ limitMs: 20_000 });
    const key = await stores.open(token.reference('first'));
    stores.close();
    expect(key.publicKey.export({ type: 'spki', format: 'pem' })).toBe(made.public_key_pem);
    // Both halves of one key, and what the token has of itself.
    const [folder = ''] = readdirSync(join(token.folder, 'tokens'));
    const objects = readdirSync(join(token.folder, 'tokens', folder)).filter((name) =>
      /^[0-9a-f-]{36}\.object$/.test(name),
    );
    expect(objects).toHaveLength(2);
  });
});
