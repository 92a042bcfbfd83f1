import { describe, expect, it } from '@jest/globals';
import { bearerOf, knownToken, lookUpToken } from './bearer.js';

const read = (authorization?: string) => bearerOf({ headers: { authorization } });

describe('a bearer token', () => {
  it('is read from a header of exactly one form', () => {
    expect(read('Bearer abc')).toBe('abc');
    for (const other of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'bearer abc',
      'BEARER abc',
      'Bearer  abc',
      ' Bearer abc',
      'Bearer a b',
      'Bearer abc, Bearer def',
      'Basic abc',
      'abc',
    ])
      expect([other, read(other)]).toEqual([other, null]);
  });

  it('is whoever’s it is in the list, whole', () => {
    const known = [knownToken('first-token', 'a'), knownToken('second-token', 'b')];
    expect(
      ['first-token', 'second-token', 'first', 'first-token ', 'FIRST-TOKEN', ''].map((token) =>
        lookUpToken(known, token),
      ),
    ).toEqual(['a', 'b', null, null, null, null]);
    expect(lookUpToken([], '')).toBeNull();
  });
});
