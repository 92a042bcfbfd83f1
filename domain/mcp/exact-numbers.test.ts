import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { exactly } from './exact-numbers.js';

describe('numbers that a double does not hold', () => {
  it.each([
    ['{"a":12345678901234567890}', '{"a":"number 12345678901234567890"}'],
    ['[1e400,-1e400,1e-400]', '["number 1e400","number -1e400","number 1e-400"]'],
    ['[0.1000000000000000055,1]', '["number 0.1000000000000000055",1]'],
  ])('%s stand as texts: %s', (text, exact) => expect(exactly(text)).toBe(exact));

  it.each(['[1,-0,0.0,0e5,1.10,1E+2,123456789012345]', '{"1e400":"-1e400 \\" 1e400"}', 'null', '""'])(
    '%s stays as it is',
    (text) => expect(exactly(text)).toBe(text),
  );

  it('leave everything else as it was', () => {
    const back = (_name: string, value: unknown) =>
      typeof value === 'string' && value.startsWith('number ') ? Number(value.slice(7)) : value;
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(exactly(text), back)).toEqual(JSON.parse(text));
      }),
    );
  });
});
