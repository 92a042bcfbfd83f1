import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../test/support/random.js';
import { isGatesOwn, plainName } from './own-names.js';

const { seed } = seededRandom('names that are Gate’s own');

/** Every character that looks like a letter of `system` according to Unicode's own tables. */
const variants = new Map<string, string[]>('system'.split('').map((letter) => [letter, []]));
for (let point = 0; point < 0x20_000; point += 1) {
  const character = String.fromCodePoint(point);
  variants.get(character.normalize('NFKC').toLowerCase())?.push(character);
}
const unseen = fc.constantFrom('', '', '\u200b', '\u2060', '\u00ad', '\ufeff', '\u034f', '\u{e0041}');
const spelling = fc
  .tuple(
    ...'system'.split('').map((letter) => fc.tuple(unseen, fc.constantFrom(...(variants.get(letter) ?? [])), unseen)),
  )
  .map((letters) => letters.flat().join(''));

describe('a name that is Gate’s own', () => {
  it('is one however its letters are written, and whatever unseen stands between them', () => {
    expect(variants.get('s')?.length).toBeGreaterThan(10);
    fc.assert(
      fc.property(spelling, fc.constantFrom('', ':ttl-sweep', '：ttl-sweep', ' x', '.x'), (name, rest) => {
        expect(isGatesOwn(`${name}${rest}`)).toBe(true);
        expect(plainName(name).toLowerCase()).toBe('system');
      }),
      { seed, numRuns: 500 },
    );
  });

  it.each(['ѕуѕtem:ttl-sweep', ' system', 'SYSTEM', ':system'])('is %j', (name) => {
    expect(isGatesOwn(name)).toBe(true);
  });

  it.each(['console', 'systematic', 'my-system', 'ｃｏｎｓｏｌｅ', 'signed-link', ''])('is not %j', (name) => {
    expect(isGatesOwn(name)).toBe(false);
  });
});
