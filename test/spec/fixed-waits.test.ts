import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';

/** A promise that only time keeps. */
const FIXED_WAIT = /new Promise(?:<\w+>)?\(\(?(\w+)\)? => (?:void )?setTimeout\(\1\b|from 'node:timers\/promises'/;

/** Files that may have one, each with the reason why. */
const MAY: Readonly<Record<string, string>> = {
  'adapters/evidence/derived-in-thread.test.ts': 'in the text of a program that runs by itself',
  'test/spec/fixed-waits.test.ts': 'names them',
  'test/support/waiting.ts': 'the one place that waits',
  'workers/circuit.test.ts': 'on the clock of the test',
};

describe('tests wait for what happens, not for a time', () => {
  const tests = execFileSync('git', ['ls-files', '*.test.ts', '*.test.tsx', 'test/'], {
    cwd: PROJECT_ROOT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => /\.tsx?$/.test(file) && existsSync(join(PROJECT_ROOT, file)));

  it('and where time itself must pass, timePasses says why (test/support/waiting.ts)', () => {
    expect(tests.length).toBeGreaterThan(200);
    const waiting = tests.filter((file) => FIXED_WAIT.test(readFileSync(join(PROJECT_ROOT, file), 'utf8')));
    expect(waiting.toSorted()).toEqual(Object.keys(MAY));
  });

  it.each([
    'await new Promise((resolve) => setTimeout(resolve, 50));',
    'const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));',
    'new Promise(resolve => void setTimeout(resolve, 5))',
    "import { setTimeout as sleep } from 'node:timers/promises';",
  ])('knows a fixed wait: %s', (text) => {
    expect(FIXED_WAIT.test(text)).toBe(true);
  });
});
