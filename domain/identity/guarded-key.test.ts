import { generateKeyPairSync, sign } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { guardedKey, KeyStoreError } from './guarded-key.js';
import type { HeldKey } from './held-key.js';

const TEXT = Buffer.from('what Gate vouches for');
const { publicKey, privateKey } = generateKeyPairSync('ed25519');

describe('a key that lies elsewhere', () => {
  let now: number;
  let isAway: boolean;
  let asked: number;
  let key: HeldKey;
  beforeEach(() => {
    [now, isAway, asked] = [0, false, 0];
    key = guardedKey(
      'the token',
      {
        algorithm: 'Ed25519',
        publicKey,
        async sign(bytes) {
          asked += 1;
          if (isAway) throw new KeyStoreError('unreachable', 'it ended');
          return sign(null, bytes, privateKey);
        },
      },
      () => now,
    );
  });
  const together = (many: number) => Promise.allSettled(Array.from({ length: many }, () => key.sign(TEXT)));

  it('is asked again two seconds after a failure of which fifty were told who waited', async () => {
    isAway = true;
    await together(50);
    isAway = false;
    now += 1_999;
    await expect(key.sign(TEXT)).rejects.toMatchObject({ code: 'signing_unavailable' });
    now += 1;
    expect(await key.sign(TEXT)).toHaveLength(64);
    expect([asked, key.fault()]).toEqual([51, null]);
  });

  it('is left alone for longer each time that it is asked again and fails, by one at a time', async () => {
    isAway = true;
    await together(50);
    for (const pauseMs of [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      const before = asked;
      now += pauseMs - 1;
      await together(50);
      expect(asked).toBe(before);
      now += 1;
      await together(50);
      expect(asked).toBe(before + 1);
    }
  });
});
