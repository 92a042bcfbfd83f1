import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { withFileLock } from './file-lock.js';
import { timePasses } from '../test/support/waiting.js';

const folder = mkdtempSync(join(tmpdir(), 'gate-lock-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const timeoutMs = 5_000;

describe('a lock file', () => {
  it('lets one piece of work run at a time and is gone afterwards', async () => {
    const file = join(folder, 'one');
    const steps: string[] = [];
    const work = (name: string) => async () => {
      steps.push(`${name} in`);
      await timePasses(20, 'the others try meanwhile');
      steps.push(`${name} out`);
    };
    await Promise.all(['a', 'b', 'c'].map((name) => withFileLock(file, { timeoutMs }, work(name))));
    expect(steps.filter((_step, at) => at % 2 === 0).map((step) => step[0])).toEqual(
      steps.filter((_step, at) => at % 2 === 1).map((step) => step[0]),
    );
    expect(existsSync(file)).toBe(false);
  });

  it('is given up when the work fails', async () => {
    const file = join(folder, 'fails');
    await expect(withFileLock(file, { timeoutMs }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    ['a process that is no more', `2147483646 ${hostname()} x`, 0],
    ['an earlier process with the same pid', `${process.pid} ${hostname()} x`, 0],
    ['another machine that stopped touching it', '1 elsewhere x', 60],
  ])('is taken from %s', async (_who, mark, ageSeconds) => {
    const file = join(folder, 'dead');
    writeFileSync(file, mark);
    const then = new Date(Date.now() - ageSeconds * 1_000);
    utimesSync(file, then, then);
    await expect(withFileLock(file, { timeoutMs }, () => Promise.resolve('mine'))).resolves.toBe('mine');
  });

  it('is not taken from another machine that still touches it: the wait ends with one clear line', async () => {
    const file = join(folder, 'alive');
    writeFileSync(file, '1 elsewhere x');
    await expect(withFileLock(file, { timeoutMs: 150 }, () => Promise.resolve())).rejects.toThrow(
      'held by another process',
    );
  });
});
