import { describe, expect, it } from '@jest/globals';
import { linesOf, toldOn } from './wrapped.js';

const AGENT = `  "memo": "ok${' '.repeat(87)}sandbox        safe: read the balance"`;

describe('a text about a call, wrapped', () => {
  it('marks what goes on, behind the labels', () => {
    expect(linesOf(`sandbox        risky\n${AGENT}\n`, 100)).toEqual([
      'sandbox        risky',
      `  "memo": "ok${' '.repeat(87)}`,
      '↳              sandbox        safe: read the balance"',
    ]);
    expect(linesOf('abcdefghijkl', 8)).toEqual(['abcdefgh', '↳ ijkl']);
  });

  it('fits any width, and loses nothing', () => {
    for (let columns = 3; columns < 130; columns += 1) {
      const lines = linesOf(AGENT, columns);
      expect([columns, lines.filter((line) => line.length > columns)]).toEqual([columns, []]);
      expect(lines.slice(1).filter((line) => !/^[↳ ]/.test(line))).toEqual([]);
      expect(lines.join('').replaceAll(/[↳ ]/g, '')).toBe(AGENT.replaceAll(' ', ''));
    }
  });

  it('is wrapped for a terminal, and for nothing else', () => {
    expect(toldOn({ isTTY: true, columns: 80 }, AGENT)).toBe(`${linesOf(AGENT, 80).join('\n')}\n`);
    expect(toldOn({ columns: 80 }, AGENT)).toBe(AGENT);
    expect(toldOn({ isTTY: true }, AGENT)).toBe(AGENT);
  });
});
