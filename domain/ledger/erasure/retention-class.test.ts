import { expect, it } from '@jest/globals';
import { longerLived } from './retention-class.js';

it.each([
  [null, null, null],
  ['standard', null, 'standard'],
  ['standard', 'standard', 'standard'],
  ['standard', 'extended', 'extended'],
  ['standard', 'another', 'another'],
  ['another', 'extended', 'extended'],
])('of %s and %s a call is kept by %s', (one, other, kept) => {
  expect([longerLived(one, other), longerLived(other, one)]).toEqual([kept, kept]);
});
