import { generateKeyPairSync, type KeyObject, randomUUID, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type KeyList, withComingKey, withoutKey, writtenKeyList } from '../../domain/identity/key-list.js';
import { publicJwkOf } from '../../domain/identity/signer.js';
import { PRIVATE_FILE, replaceFile } from '../store/durable-file.js';
import { createKeyStores } from './key-stores.js';
import { openListedKeys } from './listed-keys.js';

const HOUR_MS = 3_600_000;
const idOf = (key: KeyObject) => publicJwkOf(key).kid;
const made = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    id: idOf(publicKey),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    private: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};
const [first, second] = [made(), made()];
const listOf = (key: typeof first): KeyList => ({
  format: 'gate.key-list/1',
  use: 'authorizations',
  keys: [
    {
      id: key.id,
      public_key_pem: key.publicPem,
      private: key.private,
      request_id: null,
      announced_at: null,
      signs_from: null,
      withdrawn_at: null,
      by: null,
    },
  ],
});
const coming = { ...second, requestId: randomUUID(), announceMs: HOUR_MS, by: 'ops' };
let folder: string;
let file: string;
let now: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-listed-keys-'));
  file = join(folder, 'signing.key');
  now = Date.parse('2026-12-01T00:00:00.000Z');
  writeFileSync(file, first.private);
});
afterEach(() => rmSync(folder, { recursive: true }));
const opened = () =>
  openListedKeys({ setting: file, use: 'authorizations', idOf, keyStores: createKeyStores(), clock: () => now });
const put = (list: KeyList) => replaceFile(file, writtenKeyList(list), PRIVATE_FILE);
const states = ({ now: { keys } }: Awaited<ReturnType<typeof opened>>) => keys.map(({ id, state }) => [id, state]);

it('the key of a file signs until the file is a list with another one, whose time has come', async () => {
  const keys = await opened();
  expect(states(keys)).toEqual([[first.id, 'signing']]);
  expect(keys.rows('gate-proxy')).toEqual([]);
  put(withComingKey(listOf(first), coming, now));
  await keys.step();
  expect([keys.now.signing.id, states(keys)]).toEqual([
    first.id,
    [
      [first.id, 'signing'],
      [second.id, 'announced'],
    ],
  ]);
  now += HOUR_MS;
  await keys.step();
  expect(states(keys)).toEqual([
    [first.id, 'retiring'],
    [second.id, 'signing'],
  ]);
  const signature = await keys.now.signing.key.sign(Buffer.from('text'));
  expect(verify(null, Buffer.from('text'), second.publicPem, signature)).toBe(true);
  // A process that begins anew is at the same stage.
  expect(states(await opened())).toEqual(states(keys));
  expect(keys.rows('gate-proxy').map((row) => row.event_kind)).toEqual(['signing_key.announced', 'signing_key.signs']);
});

it.each<[string, () => void, RegExp]>([
  ['no list', () => writeFileSync(file, '{'), /no JSON/],
  ['away', () => rmSync(file), /ENOENT/],
  [
    'a list whose key that signs has no private half',
    () => put({ ...listOf(first), keys: listOf(first).keys.map((key) => ({ ...key, private: null })) }),
    /no private half/,
  ],
  [
    'a list with the private half of another key',
    () => put({ ...listOf(first), keys: listOf(first).keys.map((key) => ({ ...key, private: second.private })) }),
    /do not belong together/,
  ],
])('a file that is %s changes nothing, is told, and stops a start', async (_what, change, why) => {
  const keys = await opened();
  const before = keys.now;
  change();
  await expect(keys.step()).rejects.toThrow(why);
  await expect(keys.step()).rejects.toThrow(why);
  expect(keys.now).toBe(before);
  await expect(opened()).rejects.toThrow(why);
  put(withComingKey(listOf(first), coming, now));
  await keys.step();
  expect(states(keys)).toHaveLength(2);
});

it('one that is announced and cannot sign is told of before its time, and the one before signs on', async () => {
  const keys = await opened();
  put(withComingKey(listOf(first), { ...coming, private: first.private }, now));
  await expect(keys.step()).rejects.toThrow('do not belong together');
  expect(states(keys)).toEqual([
    [first.id, 'signing'],
    [second.id, 'announced'],
  ]);
  now += HOUR_MS;
  await expect(keys.step()).rejects.toThrow('do not belong together');
  expect(keys.now.signing.id).toBe(first.id);
});

it('one that is withdrawn counts no more at once', async () => {
  const list = withComingKey(listOf(first), coming, now);
  put(list);
  now += HOUR_MS;
  const keys = await opened();
  put(withoutKey(list, first.id, now));
  await keys.step();
  expect(states(keys)).toEqual([
    [first.id, 'withdrawn'],
    [second.id, 'signing'],
  ]);
  expect(keys.rows('gate-proxy').map((row) => row.event_kind)).toContain('signing_key.withdrawn');
});
