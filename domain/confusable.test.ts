import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { CONFUSABLE, DIGIT_LIKE } from './confusable.js';

const FILE = new URL('confusable.ts', import.meta.url);
const require = createRequire(import.meta.url);
const prototypes = require('unhomoglyph/data.json') as Readonly<Record<string, string>>;

/** Letters of alphabets that people write: of Turkish, Danish, French, Croatian, Berber and languages of Africa. */
const LIVING = new Set('ıæÆœŒĳĲǆǅǄǉǈǇǌǋǊǳǲǱɣɩƖʋɯƷǀǁ');
const FULLWIDTH = /[\uFF01-\uFF5E]/;
/** Of signs that are no letters: the estimated sign, and APL's. */
const LETTERLIKE = /[\p{L}\p{N}\u212E\u2373\u2374\u237A]/u;

/** A three of many alphabets has that letter of phonetics for its prototype. */
const DIGITS = /^[Oloi2-9\u025C]$/;

const passesFor = (character: string, like: RegExp): boolean =>
  !/^[\0-\x7f]$/.test(character) &&
  like.test(prototypes[character] ?? '') &&
  LETTERLIKE.test(character) &&
  !/\p{Script=Han}/u.test(character) &&
  !FULLWIDTH.test(character) &&
  !LIVING.has(character);

function ranges(points: readonly number[]): string {
  const sign = (point: number): string =>
    point > 0xffff
      ? `\\u{${point.toString(16).toUpperCase()}}`
      : `\\u${point.toString(16).toUpperCase().padStart(4, '0')}`;
  const found: [number, number][] = [];
  for (const point of points) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === point - 1) last[1] = point;
    else found.push([point, point]);
  }
  return found
    .map(([from, to]) => (from === to ? sign(from) : `${sign(from)}${to > from + 1 ? '-' : ''}${sign(to)}`))
    .join('');
}

describe('letters that pass for others', () => {
  it.each([
    ['CONFUSABLE', CONFUSABLE, /^[A-Za-z0-9]+$/, 1_000],
    ['DIGIT_LIKE', DIGIT_LIKE, DIGITS, 100],
  ] as const)('are those of the table of Unicode, and no others: %s', (name, written, like, least) => {
    const points = Object.keys(prototypes)
      .filter((one) => Array.from(one).length === 1 && passesFor(one, like))
      .map((one) => one.codePointAt(0) as number)
      .sort((one, other) => one - other);
    const expected = ranges(points);
    if (process.env['GATE_TEST_CONFUSABLE'] === 'write')
      writeFileSync(
        FILE,
        readFileSync(FILE, 'utf8').replace(
          new RegExp(`(export const ${name} =\\s+)/\\[.*\\]/gu`),
          (_, before: string) => `${before}/[${expected}]/gu`,
        ),
      );
    else expect(written.source).toBe(`[${expected}]`);
    expect(points.length).toBeGreaterThan(least);
  });
});
