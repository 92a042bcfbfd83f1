import { describe, expect, it } from '@jest/globals';
import { nameInPath } from './name-in-path.js';

describe('a name in the path of an address', () => {
  it.each([
    ['a/b c', 'a%2Fb%20c', undefined],
    ['..', '-', '..'],
    ['half of a pair \ud83d', 'half%20of%20a%20pair%20%EF%BF%BD', undefined],
    ['a whole one \u{1f600}', 'a%20whole%20one%20%F0%9F%98%80', undefined],
  ])('%j is %s', (name, part, query) => {
    expect(nameInPath(name)).toEqual({ part, query });
  });
});
