import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { assigned, pathText } from './argument-path.js';

describe('the place of an argument', () => {
  it.each([
    [['amount'], 'amount'],
    [['limits', 'max'], 'limits.max'],
    [['limits.max'], '"limits.max"'],
    [['a', 'b.c', 'd-1'], 'a."b.c".d-1'],
    [['a = 1'], '"a = 1"'],
    [['"a"'], '"\\"a\\""'],
    [['\\u{200b}'], '"\\\\u{200b}"'],
    [['größe', '金額'], 'größe.金額'],
    [[''], '""'],
  ])('%j is written %s, and read again', (path, text) => {
    expect(pathText(path)).toBe(text);
    expect(assigned(`${text}=1=2`)).toEqual({ path, value: '1=2' });
  });

  it.each([
    ['to address=x', ['to address'], 'x'],
    ['a"b=', ['a"b'], ''],
    ['a="x.y"', ['a'], '"x.y"'],
    ['"\\u0061.b"=1', ['a.b'], '1'],
  ])('%s is read too', (text, path, value) => expect(assigned(text)).toEqual({ path, value }));

  it.each(['', '=1', 'a', 'a.', 'a.=1', '.a=1', 'a..b=1', '"a=1', '"a"b=1', '"\\x"=1', '"a\\'])('%s is none', (text) =>
    expect(assigned(text)).toBeNull(),
  );

  it('is written differently for different keys, and read as it was meant', () => {
    const key = fc.oneof(fc.string(), fc.constantFrom('limits', 'max', 'limits.max', '"limits"', 'a=b', '.', '='));
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: 8 }), fc.string(), (path, value) => {
        expect(assigned(`${pathText(path)}=${value}`)).toEqual({ path, value });
      }),
    );
  });
});
