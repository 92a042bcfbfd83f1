import { describe, expect, it } from '@jest/globals';
import { wrapped } from './output.js';

describe('a text wrapped into a cell', () => {
  it('is whole, in lines that fit, broken between words and inside those that are longer', () => {
    const text = `Review: money waits for a person ${'x'.repeat(45)} end`;
    const lines = wrapped(text, 20).split('\n');
    expect(lines).toEqual(['Review: money waits', 'for a person', 'x'.repeat(20), 'x'.repeat(20), 'xxxxx end']);
  });

  it.each(['', 'short', 'a  b'])('leaves %j as it is', (text) => expect(wrapped(text, 20)).toBe(text));
});
