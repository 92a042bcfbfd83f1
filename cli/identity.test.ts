import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openKey } from '../adapters/identity/sealed-key.js';
import { parseKeyRing } from '../domain/crypto/key-ring.js';
import { commandLine } from '../test/support/command.js';

const [OLD, NEW] = [`old:${'0123456789abcdef'.repeat(4)}`, `new:${'fedcba9876543210'.repeat(4)}`];
const pem = (key: { export(how: { type: 'pkcs8'; format: 'pem' }): string | Buffer }) =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString();

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-seal-'));
  writeFileSync(at('ca.key'), pem(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey));
  writeFileSync(at('tokens.key'), pem(generateKeyPairSync('ed25519').privateKey));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const gate = commandLine(() => folder);
const seal = (keys: string, ...args: string[]) =>
  gate.done(['identity', 'seal', ...args], { GATE_IDENTITY_KEYS: keys });

describe('gate identity seal', () => {
  it.each([
    ['ca.key', 'certificates'],
    ['tokens.key', 'tokens'],
  ] as const)('seals %s for %s, and anew under the first key of the ring', async (name, use) => {
    const sealed = at(`${name}.sealed`);
    const first = await seal(OLD, at(name), '--use', use, '--out', sealed);
    expect([first.code, first.out]).toEqual([0, expect.stringContaining('still there in clear text')]);
    expect(statSync(sealed).mode & 0o777).toBe(0o600);
    const clear = readFileSync(at(name), 'utf8');
    expect(openKey(parseKeyRing(OLD), use, readFileSync(sealed, 'utf8'))).toBe(clear);
    const anew = await seal(`${NEW},${OLD}`, sealed, '--use', use, '--out', sealed);
    expect([anew.code, anew.out]).toEqual([0, `sealed under new: ${sealed}\n`]);
    expect(openKey(parseKeyRing(NEW), use, readFileSync(sealed, 'utf8'))).toBe(clear);
  });

  it.each<[string, string, string[], RegExp]>([
    [
      'a key of another kind',
      OLD,
      ['tokens.key', '--use', 'certificates', '--out', 'x'],
      /is not an ECDSA P-256 private key/,
    ],
    ['a CA key for tokens', OLD, ['ca.key', '--use', 'tokens', '--out', 'x'], /is not an Ed25519 private key/],
    [
      'the file itself in clear text',
      OLD,
      ['ca.key', '--use', 'certificates', '--out', 'ca.key'],
      /must be another file/,
    ],
    [
      'a key sealed under another ring',
      NEW,
      ['ca.key.sealed.old', '--use', 'certificates', '--out', 'x'],
      /cannot be opened/,
    ],
    ['a file that is not there', OLD, ['none', '--use', 'certificates', '--out', 'x'], /ENOENT/],
    ['no use', OLD, ['ca.key', '--out', 'x'], /--use/],
    ['no keys', '', ['ca.key', '--use', 'certificates', '--out', 'x'], /GATE_IDENTITY_KEYS/],
  ])('refuses %s, and writes nothing', async (_what, keys, args, says) => {
    if (args[0] === 'ca.key.sealed.old')
      await seal(OLD, at('ca.key'), '--use', 'certificates', '--out', at('ca.key.sealed.old'));
    const paths = args.map((arg) => (arg.includes('.') || arg === 'x' || arg === 'none' ? at(arg) : arg));
    const { code, out } = await seal(keys, ...paths);
    expect([code === 0, out]).toEqual([false, expect.stringMatching(says)]);
    expect(() => statSync(at('x'))).toThrow('ENOENT');
  });
});
