import { expect, it } from '@jest/globals';
import { rowSigner } from '../../../test/support/row-signer.js';
import { trustedKeys } from './key-set.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');

it('a key set that did not change is checked once, and is stale all the same when its time is over', async () => {
  const signer = rowSigner();
  let now = AT;
  let document = signer.document(AT);
  const keys = trustedKeys(
    async () => document,
    () => now,
  );
  const first = await keys.current();
  expect(await keys.current()).toBe(first);
  now = AT + 125_000;
  expect(await keys.current()).toBe(first);
  now += 1;
  await expect(keys.current()).rejects.toMatchObject({ fault: 'key_set_stale' });
  const other = document;
  document = signer.document(now);
  const next = await keys.current();
  expect(next).not.toBe(first);
  document = other;
  await expect(keys.current()).rejects.toMatchObject({ fault: 'key_set_stale' });
});
