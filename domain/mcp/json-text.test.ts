import { describe, expect, it } from '@jest/globals';
import { afterSpace, endOfString } from './json-text.js';

describe('where a string of JSON ends', () => {
  it.each([
    ['"a" :', 3],
    ['"\\"" :', 4],
    ['"\\\\" :', 4],
    ['"" :', 2],
    ['"not closed', 11],
    ['"not closed\\', 12],
  ])('%j ends before %i', (text, end) => expect(endOfString(text, 0)).toBe(end));

  it('white space is what JSON has as such', () => {
    expect(afterSpace(' \t\r\n\u00a01', 0)).toBe(4);
    expect(afterSpace('  ', 0)).toBe(2);
  });
});
