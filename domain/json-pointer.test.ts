import { describe, expect, it } from '@jest/globals';
import type { Json } from '../contracts/json.js';
import { at, isPointer } from './json-pointer.js';

/** The document of RFC 6901, section 5, and what its pointers lead to. */
const RFC: Json = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
};

describe('a JSON Pointer', () => {
  it.each([
    ['', RFC],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ] as const)('%p leads where the RFC says', (pointer, value) => {
    expect(isPointer(pointer)).toBe(true);
    expect(at(RFC, pointer)).toEqual(value);
  });

  it.each(['/foo/2', '/foo/-', '/foo/00', '/foo/01', '/foo/0/x', '/constructor', '/foo/length', '/nothing/more'])(
    '%p leads nowhere',
    (pointer) => {
      expect(at(RFC, pointer)).toBeUndefined();
    },
  );

  it.each(['foo', '#/foo', '/a~2b', '/a~'])('%p is none', (text) => {
    expect(isPointer(text)).toBe(false);
  });
});
