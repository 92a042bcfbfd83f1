import { describe, expect, it } from '@jest/globals';
import type { NewReview, PendingRequest } from '../../contracts/review.js';
import { otherThanAsked } from './as-asked.js';

const ASKED = { method: 'tools/call', review_reasons: [] as string[] } as NewReview;
const other = (row: object, asked: object) =>
  otherThanAsked({ ...ASKED, ...row } as unknown as PendingRequest, { ...ASKED, ...asked }, []);

describe('a review that stands already, which says who runs its call', () => {
  it('is the one that was asked for where both say the same, or where an earlier Gate opened it and it says nothing', () => {
    expect(other({ executed_by: 'agent' }, { executed_by: 'agent' })).toBeNull();
    expect(other({}, { executed_by: 'agent' })).toBeNull();
    expect(other({}, {})).toBeNull();
  });

  it('is another one where Gate is to run the call', () => {
    expect(other({ executed_by: 'agent' }, {})).toEqual({ field: 'executed_by', isForged: true });
  });
});

describe('a review that stands already, which says on whose behalf', () => {
  const grant = { jti: 'one', scope: ['tool:a'] };

  it('is the one that was asked for where both say the same', () => {
    expect(other({ delegation: grant }, { delegation: { ...grant } })).toBeNull();
  });

  it('is another one where it is of somebody else, of more, of nobody, or says so alone', () => {
    for (const [row, asked] of [
      [{ delegation: { ...grant, scope: ['tool:b'] } }, { delegation: grant }],
      [{}, { delegation: grant }],
      [{ delegation: grant }, {}],
    ] as const)
      expect(other(row, asked)).toEqual({ field: 'delegation', isForged: true });
  });
});
