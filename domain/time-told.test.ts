import { describe, expect, it } from '@jest/globals';
import { relativeTime, spanTold } from './time-told.js';

describe('a time as people say it', () => {
  it.each([
    [999, 'now'],
    [-999, 'now'],
    [1_000, 'in 1 s'],
    [-59_999, '59 s ago'],
    [3_599_999, 'in 59 min'],
    [-86_400_000, '1 day ago'],
    [172_800_000, 'in 2 days'],
    [-63_000_000_000, '729 days ago'],
    [-63_200_000_000, '2 years ago'],
    [2_306_000_000_000, 'in 73 years'],
  ])('%d ms away is %s', (ms, told) => {
    expect(relativeTime(ms)).toBe(told);
  });

  it('is a length where it is none of the clock', () => {
    expect(spanTold(-7_200_000)).toBe('2 h');
    expect(spanTold(0)).toBe('0 s');
  });
});
