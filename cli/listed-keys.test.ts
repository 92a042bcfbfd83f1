import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createKeyStores } from '../adapters/signing/key-stores.js';
import { type KeyList, type ListedUse, readKeyList, signingKeyOf } from '../domain/identity/key-list.js';
import { commandLine } from '../test/support/command.js';
import { needs } from '../test/support/needs.js';
import { SOFTHSM_PRESENT, type SoftToken, softToken } from '../test/support/soft-token.js';
import { timePasses } from '../test/support/waiting.js';

const REQUEST = '70000000-0000-4000-8000-000000000007';
const OTHER = '70000000-0000-4000-8000-000000000008';
let folder: string;
let file: string;
const gate = commandLine(() => folder);
const pem = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-listed-command-'));
  file = join(folder, 'signing.key');
  writeFileSync(file, pem(), { mode: 0o600 });
});
afterEach(async () => {
  await gate.stop();
  rmSync(folder, { recursive: true });
});
const list = (use: ListedUse = 'authorizations'): KeyList => readKeyList(readFileSync(file, 'utf8'), use);
const keys = (command: string, use: ListedUse, ...more: string[]) =>
  gate.done(['keys', command, use, '--file', file, ...more]);

describe('gate keys, of the proxy and the ledger', () => {
  it('rotates: the file becomes a list with another key, which signs after it was published', async () => {
    const first = readFileSync(file, 'utf8');
    const { code, out } = await keys('rotate', 'authorizations', '--request', REQUEST);
    expect([code, out]).toEqual([0, expect.stringMatching(/signing[^]*announced/)]);
    expect(out).not.toContain('PRIVATE');
    const now = list();
    expect(now.keys.map(({ private: half, request_id: id }) => [half === first, id])).toEqual([
      [true, null],
      [false, REQUEST],
    ]);
    const [, next] = now.keys;
    expect(Date.parse(next?.signs_from ?? '') - Date.parse(next?.announced_at ?? '')).toBe(3_600_000);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    // The same again is the same; another one waits for it.
    expect((await keys('rotate', 'authorizations', '--request', REQUEST)).code).toBe(0);
    expect(await keys('rotate', 'authorizations', '--request', OTHER)).toMatchObject({
      code: 1,
      out: expect.stringContaining('nothing was changed'),
    });
    expect(list()).toEqual(now);
    const shown = await keys('status', 'authorizations', '--json');
    expect(JSON.parse(shown.out)).toMatchObject({ keys: [{ state: 'signing' }, { state: 'announced' }] });
    expect(shown.out).not.toContain('PRIVATE');
    // One that is announced is called off; the one that signs is not.
    expect((await keys('withdraw', 'authorizations', next?.id ?? '')).code).toBe(0);
    expect(list().keys[1]).toMatchObject({ private: null, withdrawn_at: expect.any(String) });
    expect((await keys('withdraw', 'authorizations', now.keys[0]?.id ?? '')).code).toBe(1);
  }, 60_000);

  it('gives the next key of bundles the next version', async () => {
    expect((await keys('rotate', 'exports')).code).toBe(0);
    expect(list('exports').keys.map(({ id }) => id)).toEqual(['gate-ledger:v1', 'gate-ledger:v2']);
  });

  it.each<[string, string[], string]>([
    ['a time in which nobody hears of it', ['--announce', '359'], '360 to 2592000'],
    ['a file that is not there', ['--file', 'nowhere.key'], 'is not there'],
    ['a setting that is no file', ['--file', 'pkcs11:token=x;object=y'], 'write that into a file'],
  ])('refuses %s', async (_what, args, why) => {
    const before = readFileSync(file, 'utf8');
    const { code, out } = await gate.done(['keys', 'rotate', 'authorizations', '--file', file, ...args]);
    expect([code === 0, out]).toEqual([false, expect.stringContaining(why)]);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('leaves the file as it was or with the whole list, whenever the command is killed', async () => {
    const first = readFileSync(file, 'utf8');
    for (let round = 0; round < 8; round++) {
      const running = gate.run(['keys', 'rotate', 'authorizations', '--file', file, '--request', REQUEST]);
      await timePasses(150 + round * 100, 'it is killed at another moment in each round');
      running.process.kill('SIGKILL');
      await running.ended;
      const text = readFileSync(file, 'utf8');
      if (text !== first) expect(list().keys.map(({ request_id: id }) => id)).toEqual([null, REQUEST]);
    }
    expect((await keys('rotate', 'authorizations', '--request', REQUEST)).code).toBe(0);
    expect(list().keys).toHaveLength(2);
    expect(readdirSync(folder).filter((name) => name === 'signing.key')).toHaveLength(1);
  }, 60_000);
});

(SOFTHSM_PRESENT ? describe : describe.skip)(
  `gate keys rotate, in a token${needs('softhsm2', SOFTHSM_PRESENT)}`,
  () => {
    let token: SoftToken;
    beforeEach(() => {
      token = softToken();
    });
    afterEach(() => token.remove());

    it('makes the next key where the one that signs lies, and no private half is in the file', async () => {
      const stores = createKeyStores({ limitMs: 20_000 });
      writeFileSync(file, await stores.make(token.reference('{key}'), 'first', 'Ed25519'));
      const env = { SOFTHSM2_CONF: process.env['SOFTHSM2_CONF'] ?? '' };
      const args = ['keys', 'rotate', 'checkpoints', '--file', file, '--request', REQUEST];
      expect(await gate.done(args, env)).toMatchObject({ code: 0 });
      expect(readFileSync(file, 'utf8')).not.toContain('PRIVATE');
      const { keys: known } = list('checkpoints');
      expect(known.map((key) => key.private)).toEqual([
        token.reference('first'),
        token.reference(`gate-checkpoints-${REQUEST}`),
      ]);
      const made = await stores.open(known[1]?.private ?? '');
      stores.close();
      expect(made.publicKey.export({ type: 'spki', format: 'pem' })).toBe(known[1]?.public_key_pem);
      expect(signingKeyOf(list('checkpoints'), Date.now()).id).toBe(known[0]?.id);
    }, 60_000);
  },
);
