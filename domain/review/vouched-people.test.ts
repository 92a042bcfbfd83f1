import { describe, expect, it } from '@jest/globals';
import { type KeptVouching, standingAfter } from './vouched-people.js';

const word = (role: KeptVouching['role'], since_ms: number): KeptVouching => ({
  tenant: 'acme',
  subject: 'oidc:ada',
  role,
  since_ms,
  vouched_ms: 9_000,
});
const standing = { ...word('approver', 1_000), vouched_ms: 5_000 };

describe('what stands after the console said something of somebody', () => {
  it('is the first word', () => {
    expect(standingAfter(null, word('viewer', 0))).toEqual(word('viewer', 0));
  });

  it.each([
    ['a later session of another role', word('viewer', 1_001), word('viewer', 1_001)],
    ['a later session that may do more', word('admin', 1_001), word('admin', 1_001)],
    ['a later session of the same role', word('approver', 1_001), word('approver', 1_001)],
    ['an earlier session of the same role, as said now', word('approver', 999), word('approver', 1_000)],
    ['that he may do nothing any more, by a clock that is behind', word('none', 999), word('none', 1_000)],
    ['of two words of one moment the one that gives less', word('viewer', 1_000), word('viewer', 1_000)],
  ])('is %s', (_what, said, stands) => {
    expect(standingAfter(standing, said)).toEqual(stands);
  });

  it.each([
    ['an earlier session that may do more', word('admin', 999)],
    ['an earlier session that may do less', word('viewer', 999)],
    ['of two words of one moment the one that gives more', word('admin', 1_000)],
  ])('is not %s', (_what, said) => {
    expect(standingAfter(standing, said)).toBeNull();
  });

  it('is nothing, until the person signs in again, where a role was taken away', () => {
    const taken = word('none', 2_000);
    expect(standingAfter(taken, word('approver', 2_000))).toBeNull();
    expect(standingAfter(taken, word('approver', 2_001))).toEqual(word('approver', 2_001));
  });
});
