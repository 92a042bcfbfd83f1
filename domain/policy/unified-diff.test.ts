import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { unifiedDiff } from './unified-diff.js';

const names = { from: 'a', to: 'b' };
const text = (...lines: string[]): string => lines.map((line) => `${line}\n`).join('');

describe('a unified diff', () => {
  it('is empty where nothing changed', () => {
    expect(unifiedDiff('x\n', 'x\n', names)).toBe('');
  });

  it('shows a change with the lines around it', () => {
    expect(unifiedDiff(text('1', '2', '3', '4', '5', '6'), text('1', '2', '3', '4', 'five', '6'), names)).toBe(
      text('--- a', '+++ b', '@@ -2,5 +2,5 @@', ' 2', ' 3', ' 4', '-5', '+five', ' 6'),
    );
  });

  it('counts the lines that it leaves out before and behind a change', () => {
    const before = Array.from({ length: 30 }, (_, at) => String(at + 1));
    expect(unifiedDiff(text(...before), text(...before.with(19, 'twenty')), names)).toBe(
      text('--- a', '+++ b', '@@ -17,7 +17,7 @@', ' 17', ' 18', ' 19', '-20', '+twenty', ' 21', ' 22', ' 23'),
    );
  });

  it('is of texts of any number of lines', () => {
    const many = 'x\n'.repeat(300_000);
    expect(unifiedDiff('', many, names)).toBe(`--- a\n+++ b\n@@ -0,0 +1,300000 @@\n${'+x\n'.repeat(300_000)}`);
  });

  it('turns the one text into the other for git, whatever they are', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-diff-'));
    try {
      const lines = (seed: number, most: number): string[] =>
        Array.from({ length: (seed * 7) % most }, (_, at) => String((seed * 31 + at * at * seed) % 5));
      // Those of the last ones have too much in between for the fewest changes to be looked for.
      for (let seed = 1; seed < 31; seed += 1) {
        const between = (side: string): string[] =>
          seed < 25 ? [] : Array.from({ length: 450 }, (_, at) => `${side}${at}`);
        const before = text(...lines(seed, 40), ...between('x'), '1', '2', '3', '4');
        const same = seed < 25 ? lines(seed + 3, 45) : lines(seed, 40);
        const after = `${text(...same, ...between('y'), '1', '2', '3', '4')}${seed % 3 === 0 ? 'no newline' : ''}`;
        writeFileSync(join(folder, 'a'), before);
        const patch = unifiedDiff(before, after, { from: 'a', to: 'a' });
        if (patch === '') continue;
        execFileSync('git', ['apply', '-p0', '--unidiff-zero', '--whitespace=nowarn', '-'], {
          cwd: folder,
          input: patch,
        });
        expect(readFileSync(join(folder, 'a'), 'utf8')).toBe(after);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
