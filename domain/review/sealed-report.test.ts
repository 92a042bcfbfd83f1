import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { canonicalDigest } from '../crypto/digest.js';
import { keyRing } from '../crypto/key-ring.js';
import { reviewSealing } from './sealed-review.js';

const ID = '6f0c2a51-0000-4000-8000-000000000001';
const REPORT = {
  severity: 'risky',
  summary: 'move 25',
  operation_class: 'write',
  reasons: [],
} as unknown as SandboxReport;
const DIGEST = canonicalDigest(REPORT);
const keys = keyRing(new Map([['k1', randomBytes(32)]]));
const sealing = reviewSealing(keys);
const { wrapped, sealReport } = sealing.newKey(ID);
const opened = (sealed: Uint8Array, { id = ID, digest = DIGEST } = {}) =>
  sealing.openReport(sealed, { id, data_key: wrapped }, digest);

describe('a report that is sealed beside its row', () => {
  it('opens where it is the one of the row’s digest', () => {
    expect(opened(sealReport(REPORT))).toEqual(REPORT);
  });

  it('also in the order of members in which an earlier Gate sealed it', () => {
    const key = keyRing(new Map([['row', keys.open(wrapped, `${ID}/key`)]]));
    expect(opened(key.seal(JSON.stringify(REPORT), `${ID}/sandbox`))).toEqual(REPORT);
  });

  it.each([
    [
      'of another digest',
      () => opened(sealReport(REPORT), { digest: canonicalDigest({ ...REPORT, severity: 'safe' }) }),
    ],
    ['of another row', () => opened(sealReport(REPORT), { id: ID.replace('1', '2') })],
    ['that was changed', () => opened(sealReport(REPORT).map((byte, at) => (at === 40 ? byte ^ 1 : byte)))],
  ])('is none %s', (_what, open) => {
    expect(open()).toBeNull();
  });
});
