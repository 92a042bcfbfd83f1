import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clipped, foreignText, storableText } from './text.js';

const anyText = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));

describe('text that every store keeps', () => {
  it('is the text itself where a store can keep it', () => {
    for (const text of ['', 'plain', 'grüße', '😀', '\u2028', '\u001b[2J']) expect(storableText(text)).toBe(text);
  });

  it('holds no lone surrogate and no U+0000, whatever came', () => {
    expect(storableText('\ud83d\0x\ude00')).toBe('\uFFFD\uFFFDx\uFFFD');
    fc.assert(
      fc.property(anyText, (text) => {
        const kept = storableText(text);
        return kept.isWellFormed() && !kept.includes('\0') && kept.length === text.length;
      }),
    );
  });

  it('is cut between characters', () => {
    expect(clipped('a😀b', 2)).toBe('a');
    expect(clipped('a😀b', 3)).toBe('a😀');
    expect(clipped('ab', 2)).toBe('ab');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, units) => {
        const cut = clipped(text, units);
        return cut.isWellFormed() && cut.length <= units && text.startsWith(cut);
      }),
    );
  });

  it.each([
    ['a\0b', 10, 'a\ufffdb'],
    ['\ud83d', 10, '\ufffd'],
    ['ab😀', 3, 'ab'],
    ['😀', 1, ''],
  ])('of others: %j, %i units at most, is %j', (text, units, seen) => {
    expect(foreignText(text, units)).toBe(seen);
  });
});
