import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { keyInMemory } from '../../identity/held-key.js';
import { blobSignatureHolds, keysSigner, type SigningKeysNow } from './blob-signer.js';
import { trustedKeys } from './key-set.js';

const BINDING = {
  tenant: 'acme',
  audience: 'ledger',
  purpose: 'regulatory-export-manifest',
  operation: 'ledger.export.regulatory',
  lifetime_seconds: 60,
} as const;
const DIGEST = 'ab'.repeat(32);

describe('the keys of bundles', () => {
  const T0 = Date.parse('2026-12-01T00:00:00.000Z');
  const [first, second, third] = [1, 2, 3].map((version) => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    return { id: `gate-ledger:v${version}`, key: keyInMemory(privateKey), publicKey };
  }) as [One, One, One];
  interface One {
    readonly id: string;
    readonly key: ReturnType<typeof keyInMemory>;
    readonly publicKey: ReturnType<typeof keyInMemory>['publicKey'];
  }
  const at = ({ id, publicKey }: One, state: SigningKeysNow['keys'][number]['state'], from: number | null = null) => ({
    id,
    publicKey,
    state,
    signsFrom: from === null ? null : new Date(from).toISOString(),
  });

  it('are known to the ledger as they come: one signs, those before are trusted, and one to come verifies nothing', async () => {
    let [now, nowMs]: [SigningKeysNow, number] = [{ signing: first, keys: [at(first, 'signing')] }, T0];
    const signer = keysSigner({ now: () => now, issuer: 'ledger', clock: () => nowMs });
    const keys = trustedKeys(signer.keySet, () => nowMs);
    const trusts = async (id: string) => (await keys.current()).key(id, new Date(nowMs).toISOString());
    const old = await signer.sign(BINDING, DIGEST);
    expect([old.key_id, await trusts(first.id)]).toEqual([first.id, first.publicKey]);

    now = { signing: first, keys: [at(first, 'signing'), at(second, 'announced', T0 + 1)] };
    expect(await trusts(second.id)).toBe('key_missing');
    nowMs = T0 + 1_000;
    // One that was called off never signed; its version is not given again.
    now = {
      signing: third,
      keys: [at(first, 'retiring'), at(second, 'withdrawn', T0 + 1), at(third, 'signing', T0 + 1_000)],
    };
    const signed = await signer.sign(BINDING, DIGEST);
    expect(signed.key_id).toBe(third.id);
    expect(blobSignatureHolds(DIGEST, signed.signature, third.publicKey)).toBe(true);
    expect(await trusts(third.id)).toEqual(third.publicKey);
    expect((await keys.current()).key(third.id, new Date(T0).toISOString())).toBe('key_not_yet_active');
    expect(await trusts(second.id)).toBe('key_missing');
    expect(blobSignatureHolds(DIGEST, old.signature, (await trusts(first.id)) as One['publicKey'])).toBe(true);
  });

  it('have a version each', () => {
    const now: SigningKeysNow = { signing: first, keys: [{ ...at(first, 'signing'), id: 'gate-ledger' }] };
    expect(() => keysSigner({ now: () => now, issuer: 'ledger' })).toThrow('<name>:v<version>');
  });
});
