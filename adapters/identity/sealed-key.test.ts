import { describe, expect, it } from '@jest/globals';
import { testKeys } from '../../test/support/ledger.js';
import { openKey, sealKey } from './sealed-key.js';

const PEM = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';

describe('a key on disk', () => {
  const keys = testKeys();

  it('is sealed, and opened with the same keys', () => {
    const text = sealKey(keys, 'certificates', PEM);
    expect(text).not.toContain('PRIVATE');
    expect(openKey(keys, 'certificates', text)).toBe(PEM);
  });

  it.each([
    [
      'with other keys',
      () => openKey(testKeys(), 'certificates', sealKey(keys, 'certificates', PEM)),
      'cannot be opened',
    ],
    ['for another use', () => openKey(keys, 'tokens', sealKey(keys, 'certificates', PEM)), 'cannot be opened'],
    [
      'that was changed',
      () => openKey(keys, 'tokens', `${sealKey(keys, 'tokens', PEM).trim().slice(0, -8)}AAAAAAA=`),
      'cannot be opened',
    ],
    ['in clear text', () => openKey(keys, 'tokens', PEM), 'is no sealed key'],
  ])('is not opened %s', (_what, open, why) => {
    expect(open).toThrow(why);
  });
});
