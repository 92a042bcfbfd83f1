import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { adoptOrEnd, type ChildSpec, type ManagedChild, startChild, tailOf } from './managed-child.js';
import { eventually } from '../../test/support/waiting.js';

let folder: string;
const started: ManagedChild[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-child-'));
});
afterEach(async () => {
  for (const child of started.splice(0)) await child.stop(100);
  rmSync(folder, { recursive: true, force: true });
});

const spec = (script: string, version?: string): ChildSpec => ({
  name: 'sleeper',
  command: '/bin/sh',
  args: ['-c', script],
  pidFile: join(folder, 'run', 'sleeper.pid'),
  logFile: join(folder, 'logs', 'sleeper.log'),
  ...(version !== undefined && { version }),
});
const SLEEPER = 'echo up; exec sleep 60';
const start = async (what: ChildSpec): Promise<ManagedChild> => {
  const child = await startChild(what);
  started.push(child);
  return child;
};
const adopt = async (what: ChildSpec): Promise<ManagedChild | null> => {
  const child = await adoptOrEnd(what);
  if (child) started.push(child);
  return child;
};
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
const groupOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
};

describe('children run in their own process group with a pid file', () => {
  it('is its own group leader, logs to a private file, and its pid file goes with it', async () => {
    const child = await start(spec(SLEEPER));
    expect(groupOf(child.pid)).toBe(child.pid);
    await eventually('its first line', () => tailOf(spec('').logFile).includes('up'));
    expect(statSync(spec('').logFile).mode & 0o777).toBe(0o600);
    await child.stop();
    expect(isAlive(child.pid)).toBe(false);
    expect(existsSync(spec('').pidFile)).toBe(false);
    expect(await child.exited).toBe('SIGTERM');
    await child.stop();
  });

  it('one that ignores SIGTERM is killed after the bound', async () => {
    const child = await start(spec("trap '' TERM; echo up; while :; do sleep 1; done"));
    await eventually('its first line', () => tailOf(spec('').logFile).includes('up'));
    await child.stop(100);
    expect(await child.exited).toBe('SIGKILL');
  });

  it('says how it ended, and keeps what it wrote', async () => {
    const child = await start(spec('echo why >&2; exit 3'));
    expect(await child.exited).toBe('exit code 3');
    expect(tailOf(spec('').logFile)).toBe('why\n');
  });

  it('a program that does not exist is one clear error', async () => {
    await expect(startChild({ ...spec(''), command: join(folder, 'none') })).rejects.toThrow(
      'sleeper does not start: spawn',
    );
  });
});

describe('the next start', () => {
  it('adopts the same program', async () => {
    const first = await start(spec(SLEEPER));
    const second = await adopt(spec(SLEEPER));
    expect([second?.pid, second?.adopted]).toEqual([first.pid, true]);
    await second?.stop();
    expect(await second?.exited).toBe('ended');
    expect(isAlive(first.pid)).toBe(false);
  });

  it('learns when the one it adopted ends by itself', async () => {
    const first = await start(spec(SLEEPER));
    const second = await adopt(spec(SLEEPER));
    process.kill(first.pid, 'SIGKILL');
    expect(await second?.exited).toBe('ended');
  });

  it.each<[string, () => ChildSpec]>([
    ['other arguments', () => spec('exec sleep 61')],
    ['another version of its code', () => spec(SLEEPER, '2')],
  ])('ends one with %s', async (_what, other) => {
    const first = await start(spec(SLEEPER));
    expect(await adopt(other())).toBeNull();
    expect(isAlive(first.pid)).toBe(false);
    expect(existsSync(spec('').pidFile)).toBe(false);
  });

  it('finds none when the program has ended', async () => {
    const child = await start(spec('exit 0'));
    await child.exited;
    expect(await adopt(spec('exit 0'))).toBeNull();
  });

  it('never touches a stranger that has the pid by now', async () => {
    const stranger = await start(spec(SLEEPER));
    const record = JSON.parse(readFileSync(spec('').pidFile, 'utf8')) as Record<string, unknown>;
    writeFileSync(spec('').pidFile, JSON.stringify({ ...record, born: 'earlier' }));
    expect(await adopt(spec('other'))).toBeNull();
    expect(isAlive(stranger.pid)).toBe(true);
  });

  it.each(['', '{', '{"pid":1,"born":"x","fingerprint":"y"}', '{"pid":"7"}'])(
    'takes the pid file %p for none',
    async (text) => {
      const child = await start(spec(SLEEPER));
      writeFileSync(spec('').pidFile, text);
      expect(await adopt(spec(SLEEPER))).toBeNull();
      expect(isAlive(child.pid)).toBe(true);
    },
  );
});
