import { describe, expect, it } from '@jest/globals';
import { Allowance } from './allowance.js';
import { readCommands } from './lexer.js';

const wordsOf = (text: string): readonly string[] =>
  readCommands(text, () => true, new Allowance()).commands.flatMap(({ words }) => words.map((word) => word.text));

describe('braces: a word becomes the words that bash makes of it', () => {
  it.each([
    ['{rm,-rf,/}', 'rm -rf /'],
    ['a{b,c}d', 'abd acd'],
    ['{a,b}{1,2}', 'a1 a2 b1 b2'],
    ['{a,{b,c}d}', 'a bd cd'],
    ['{a,{b,c}', '{a,b {a,c'],
    ['r{m,}', 'rm r'],
    ['{,}', ''],
    ['-{c..e}', '-c -d -e'],
    ['{3..1}', '3 2 1'],
    ['{01..10..4}', '01 05 09'],
    ['x{a}', 'x{a}'],
    ['{}', '{}'],
    ['a,b}', 'a,b}'],
    ["'{a,b}'", '{a,b}'],
    ['\\{a,b}', '{a,b}'],
    ["{'a,b',c}", 'a,b c'],
    ['{"a",b}', 'a b'],
    ['{a,$x}', 'a $x'],
    ['x={a,b}', ''],
  ])('%s', (text, made) => {
    expect(wordsOf(text).join(' ')).toBe(made);
  });

  it('of a long list of numbers its two ends are read', () => {
    const made = wordsOf('{1..100000}');
    expect(made.length).toBe(64);
    expect([made[0], made[31], made[32], made[63]]).toEqual(['1', '32', '99969', '100000']);
  });

  it('more words than the allowance pays for are said to be missing, and the first of them stands for all', () => {
    const { commands } = readCommands(`{rm,x}${'{a,b}'.repeat(20)}`, () => true, new Allowance());
    expect(commands[0]?.isCut).toBe(true);
    expect(commands[0]?.words[0]?.text).toBe(`rm${'a'.repeat(20)}`);
  });

  it('nesting has an end', () => {
    const { commands } = readCommands(`${'{a,'.repeat(5000)}b${'}'.repeat(5000)}`, () => true, new Allowance());
    expect(commands[0]?.isCut).toBe(true);
  });
});
