import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  type KeyList,
  readKeyList,
  signingKeyOf,
  stageOf,
  stageRows,
  withComingKey,
  withoutKey,
  writtenKeyList,
} from './key-list.js';
import { publicJwkOf } from './signer.js';

const T0 = Date.parse('2026-12-01T00:00:00.000Z');
const HOUR_MS = 3_600_000;
const pair = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    id: publicJwkOf(publicKey).kid,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    private: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};
const [first, second, third] = [pair(), pair(), pair()] as const;
const coming = (key: typeof first) => ({ ...key, requestId: randomUUID(), announceMs: HOUR_MS, by: 'ops' });
const alone: KeyList = {
  format: 'gate.key-list/1',
  use: 'authorizations',
  keys: [
    {
      id: first.id,
      public_key_pem: first.publicPem,
      private: first.private,
      request_id: null,
      announced_at: null,
      signs_from: null,
      withdrawn_at: null,
      by: null,
    },
  ],
};
const stages = (list: KeyList, nowMs: number) => list.keys.map((key) => stageOf(list, key, nowMs));
const kinds = (list: KeyList, nowMs: number) =>
  stageRows(list, 'gate-proxy', nowMs).map((row) => [row.event_kind, row.policy_decision?.['key_id']]);

describe('a list of keys', () => {
  const two = withComingKey(alone, coming(second), T0);

  it('has a key that is announced first, and signs from its time on, beside the one before', () => {
    expect(stages(alone, T0)).toEqual(['signing']);
    expect(stages(two, T0 + HOUR_MS - 1)).toEqual(['signing', 'announced']);
    expect(stages(two, T0 + HOUR_MS)).toEqual(['retiring', 'signing']);
    expect(signingKeyOf(two, T0 + HOUR_MS).id).toBe(second.id);
  });

  it('takes one key more at a time', () => {
    expect(() => withComingKey(two, coming(third), T0 + 1)).toThrow(
      expect.objectContaining({ code: 'rotation_active', fields: { key_id: second.id } }),
    );
    expect(stages(withComingKey(two, coming(third), T0 + HOUR_MS), T0 + HOUR_MS)).toEqual([
      'retiring',
      'signing',
      'announced',
    ]);
  });

  it('keeps the private half of the one before until every process has read it, and its public half for good', () => {
    const soon = withComingKey(two, coming(third), T0 + HOUR_MS + 1);
    expect(soon.keys.map((key) => key.private)).toEqual([first.private, second.private, third.private]);
    const later = withComingKey(two, coming(third), T0 + HOUR_MS + 600_000);
    expect(later.keys.map((key) => key.private)).toEqual([null, second.private, third.private]);
    expect(later.keys[0]?.public_key_pem).toBe(first.publicPem);
  });

  it('withdraws one that signs no more, or not yet, and never the one that signs', () => {
    expect(() => withoutKey(two, first.id, T0)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(() => withoutKey(two, 'nobody', T0)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    const cancelled = withoutKey(two, second.id, T0 + 1);
    expect(stages(cancelled, T0 + 2 * HOUR_MS)).toEqual(['signing', 'withdrawn']);
    const withdrawn = withoutKey(two, first.id, T0 + HOUR_MS);
    expect(stages(withdrawn, T0 + HOUR_MS)).toEqual(['withdrawn', 'signing']);
    expect(withdrawn.keys[0]?.private).toBeNull();
    expect(withoutKey(withdrawn, first.id, T0 + 2 * HOUR_MS)).toBe(withdrawn);
  });

  it.each(['checkpoints', 'exports'] as const)('of %s calls one off, and withdraws none that signed', (use) => {
    const list: KeyList = { ...two, use };
    expect(stages(withoutKey(list, second.id, T0), T0)).toEqual(['signing', 'withdrawn']);
    expect(() => withoutKey(list, first.id, T0 + HOUR_MS)).toThrow(/verified elsewhere/);
  });

  it('tells of each stage by a row that every process writes the same', () => {
    expect(kinds(alone, T0)).toEqual([]);
    expect(kinds(two, T0)).toEqual([['signing_key.announced', second.id]]);
    const rows = stageRows(two, 'gate-proxy', T0 + HOUR_MS);
    expect(rows.map((row) => row.event_kind)).toEqual(['signing_key.announced', 'signing_key.signs']);
    expect(rows[1]?.policy_decision).toMatchObject({
      use: 'authorizations',
      replaces: first.id,
      public_key_pem: second.publicPem,
    });
    expect(stageRows(readKeyList(writtenKeyList(two), 'authorizations'), 'gate-proxy', T0 + 2 * HOUR_MS)).toEqual(rows);
    const withdrawn = withoutKey(two, first.id, T0 + HOUR_MS);
    expect(kinds(withdrawn, T0 + HOUR_MS)).toEqual([
      ['signing_key.withdrawn', first.id],
      ['signing_key.announced', second.id],
      ['signing_key.signs', second.id],
    ]);
    // What is said of a key does not change when another one goes.
    expect(stageRows(withdrawn, 'gate-proxy', T0 + HOUR_MS).slice(1)).toEqual(rows);
    expect(JSON.stringify(rows)).not.toContain('PRIVATE');
  });

  it('names as replaced no key that never signed', () => {
    const cancelled = withoutKey(two, second.id, T0 + 1);
    const list = withComingKey(cancelled, coming(third), T0 + 2);
    expect(stageRows(list, 'gate-proxy', T0 + 2).at(-1)?.policy_decision).toMatchObject({ replaces: first.id });
    expect(kinds(list, T0 + 2 * HOUR_MS)).not.toContainEqual(['signing_key.signs', second.id]);
  });

  it.each<[string, (list: KeyList) => unknown, RegExp]>([
    ['no JSON', () => 'key', /no JSON/],
    ['another form', (list) => ({ ...list, format: 'gate.key-list/2' }), /format/],
    ['of another use', (list) => ({ ...list, use: 'exports' }), /of exports, not of authorizations/],
    ['a key twice', ({ keys, ...list }) => ({ ...list, keys: [keys[0], keys[0]] }), /twice/],
    ['the newest first', ({ keys, ...list }) => ({ ...list, keys: keys.toReversed() }), /when it came|oldest first/],
    ['a key under another id', ({ keys, ...list }) => ({ ...list, keys: [{ ...keys[0], id: 'x' }] }), /id of another/],
    ['no key', (list) => ({ ...list, keys: [] }), /keys/],
  ])('is refused with %s, and says no key', (_what, change, why) => {
    const changed = change(two);
    const text = typeof changed === 'string' ? changed : JSON.stringify(changed);
    expect(() => readKeyList(text, 'authorizations')).toThrow(why);
    try {
      readKeyList(text, 'authorizations');
    } catch (error) {
      expect(String(error)).not.toContain('BEGIN');
    }
  });
});
