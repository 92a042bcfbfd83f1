import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { scanToolName } from './tool-names.js';

const CATALOG = ['read_file', 'write_file', 'get_note', 'pay', 'ls'];
const scan = (called: string, catalog: readonly string[] = CATALOG) => scanToolName({ called, catalog: [...catalog] });

describe('a called name that no list has', () => {
  it.each([
    ['one character left out', 'read_fil', 'read_file', 1, 0.8, ['edit_distance']],
    ['one character more', 'get_notes', 'get_note', 1, 0.8, ['edit_distance']],
    ['two characters changed places', 'raed_file', 'read_file', 2, 0.6, ['edit_distance']],
    ['one character of a short name', 'pax', 'pay', 1, 0.8, ['edit_distance']],
    ['other capitals and separators', 'Read-File', 'read_file', 3, 0.95, ['reads_alike']],
    ['a letter of another alphabet', 'r\u0435ad_file', 'read_file', 1, 0.95, ['reads_alike', 'mixed_alphabets_name']],
    ['a character that nobody sees', 'read\u200b_file', 'read_file', 1, 0.95, ['reads_alike']],
  ])('is taken for one with %s', (_how, called, nearest, distance, confidence, signals) => {
    expect(scan(called)).toEqual({ lookalike: true, nearest, distance, confidence, signals, degraded: false });
  });

  it.each([
    ['three characters differ', 'road_pile_x'],
    ['two characters of a short name', 'pxx'],
    ['a name of two characters', 'lx'],
    ['it is something else', 'delete_everything'],
  ])('is taken for none where %s', (_why, called) => {
    expect(scan(called)).toEqual({
      lookalike: false,
      nearest: null,
      distance: null,
      confidence: 0,
      signals: [],
      degraded: false,
    });
  });

  it('says of its own letters that they mislead, also where no listed name is like it', () => {
    expect(scan('p\u0430yroll_export')).toMatchObject({ lookalike: false, signals: ['mixed_alphabets_name'] });
  });

  it('is the nearest of several, and the first of equally near ones', () => {
    expect(scan('read_file', ['read_files', 'Read_File'])).toMatchObject({ nearest: 'Read_File' });
    expect(scan('tool_c', ['tool_a', 'tool_b'])).toMatchObject({ nearest: 'tool_a', distance: 1 });
  });
});

it('a listed name is no lookalike, whatever else the list has', () => {
  expect(scan('read_file', ['read_fil', 'read_file'])).toEqual({
    lookalike: false,
    nearest: 'read_file',
    distance: 0,
    confidence: 0,
    signals: [],
    degraded: false,
  });
});

it('counts whole characters, and what it counts is the Levenshtein distance', () => {
  expect(scan('tool_\u{1F600}', ['tool_\u{1F601}'])).toMatchObject({ distance: 1 });
  const slow = (one: readonly string[], other: readonly string[]): number => {
    const row = (last: readonly number[], at: number): number[] =>
      other.reduce<number[]>(
        (next, character, index) => [
          ...next,
          Math.min(
            (last[index + 1] as number) + 1,
            (next[index] as number) + 1,
            (last[index] as number) + (one[at] === character ? 0 : 1),
          ),
        ],
        [at + 1],
      );
    const first = [...Array.from({ length: other.length + 1 }).keys()];
    return one.reduce((last, _, at) => row(last, at), first).at(-1) as number;
  };
  const name = fc.array(fc.constantFrom('a', 'b', 'z', '\u{1F600}'), { minLength: 3, maxLength: 9 });
  fc.assert(
    fc.property(name, name, (one, other) => {
      const [called, listed] = [one.join(''), other.join('')];
      const found = scan(called, [listed]);
      const distance = slow(one, other);
      const most = Math.min(one.length, other.length) >= 5 ? 2 : 1;
      expect([found.lookalike, found.distance]).toEqual(
        distance === 0 ? [false, 0] : distance <= most ? [true, distance] : [false, null],
      );
    }),
    { numRuns: 500, seed: 7 },
  );
});

it('takes ten thousand hostile names', () => {
  const catalog = Array.from({ length: 10_000 }, (_, index) => `${'a'.repeat(240)}${index}`);
  expect(scan('a'.repeat(250), catalog)).toMatchObject({ lookalike: false });
  expect(scan(`${'a'.repeat(240)}x999`, catalog)).toMatchObject({ lookalike: true, distance: 1 });
});
