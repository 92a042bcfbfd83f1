import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../contracts/review.js';
import type { Decision } from '../domain/review/decisions.js';
import { decidedOnDisk } from './decided-on-disk.js';

const DECIDED = {
  id: 'a',
  tenant: 'acme',
  status: 'approved',
  decided_at: '2026-01-07T12:00:00.000Z',
  decided_by: 'ada',
  decision_request_id: 'r1',
} as unknown as PendingRequest;

/** A decision beside transactions of others, of which so many are undone while it waits; `left` is its row after each. */
async function decided(undone: number, left: Partial<PendingRequest> | null = {}) {
  let undos = undone;
  const decide = decidedOnDisk(() => Promise.resolve(DECIDED), {
    reviews: { get: () => Promise.resolve(left && { ...DECIDED, ...left }) },
    durableFromHere: () => () => (undos-- > 0 ? Promise.reject(new Error('undone')) : Promise.resolve()),
  });
  return decide({} as Decision);
}

describe('a decision in lite', () => {
  it('is answered with its row when that is on disk, whatever others lost meanwhile', async () => {
    expect(await decided(0)).toBe(DECIDED);
    expect(await decided(1)).toEqual(DECIDED);
    expect(await decided(4)).toEqual(DECIDED);
  });

  it.each<[string, Partial<PendingRequest> | null]>([
    ['waits again', { status: 'pending', decided_at: null, decided_by: null }],
    ['was decided otherwise', { status: 'denied' }],
    ['was decided by somebody else at the same moment', { decided_by: 'bob' }],
    ['was decided by another request', { decision_request_id: 'r2' }],
    ['is gone', null],
  ])('is refused with what was undone where its row %s', async (_, left) => {
    await expect(decided(1, left)).rejects.toThrow('undone');
  });

  it('is refused by a file that takes no more writes', async () => {
    await expect(decided(Number.POSITIVE_INFINITY)).rejects.toThrow('undone');
  });
});
