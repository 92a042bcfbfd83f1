import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { needs } from '../../test/support/needs.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-log-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const built = (file: string) => JSON.stringify(pathToFileURL(join(PROJECT_ROOT, 'dist', file)).href);
/** Runs a program that logs to `to`, as a process of its own; how it ended, `null` when it had to be killed. */
async function logging(to: string | number, program: string): Promise<number | null> {
  const code = `
    import pino from 'pino';
    const { logStream } = await import(${built('adapters/store/log-stream.js')});
    const logger = pino({ level: 'info' }, logStream(${typeof to === 'number' ? 3 : JSON.stringify(to)}));
    ${program}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: PROJECT_ROOT,
    stdio: ['ignore', 'ignore', 'ignore', ...(typeof to === 'number' ? [to] : [])],
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), 15_000);
  const ended = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(limit);
  return ended;
}
const linesOf = (file: string): unknown[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: unknown }).msg);

const FULL = '/dev/full';
const WAYS_OUT = {
  'by process.exit at once': 'logger.info("last"); process.exit(7);',
  'by process.exit after the disk refused':
    'logger.info("a"); setTimeout(() => { logger.info("b"); process.exit(7); }, 300);',
  'when nothing is left to do': 'logger.info("last"); process.exitCode = 7;',
  'after a fatal line': 'logger.fatal("last"); setTimeout(() => process.exit(7), 100);',
  'after a burst of lines':
    'for (let i = 0; i < 20000; i += 1) logger.info("x".repeat(200)); setTimeout(() => process.exit(7), 100);',
};
const there = existsSync(FULL);

const onFullDisk = there ? it : it.skip;
onFullDisk.each(Object.entries(WAYS_OUT))(
  `a log on a full disk keeps no process from ending %s${needs('dev-full', there)}`,
  async (_way, program) => {
    expect(await logging(FULL, program)).toBe(7);
    const descriptor = openSync(FULL, 'w');
    expect(await logging(descriptor, program).finally(() => closeSync(descriptor))).toBe(7);
  },
);

it.each(Object.entries(WAYS_OUT))(
  'a pipe whose reader stands still keeps no process from ending %s',
  async (way, program) => {
    const pipe = join(folder, `${way.replaceAll(' ', '-')}.pipe`);
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(pipe, 'w');
    try {
      const full = 'for (let i = 0; i < 500; i += 1) logger.info("y".repeat(200));';
      expect(await logging(writer, `${full} ${program}`)).toBe(7);
    } finally {
      closeSync(writer);
      closeSync(reader);
    }
  },
);

it.each(Object.entries(WAYS_OUT))('every line is in the file when the process ends %s', async (way, program) => {
  const file = join(folder, `${way.replaceAll(' ', '-')}.log`);
  expect(await logging(file, `logger.info('first'); ${program}`)).toBe(7);
  const lines = linesOf(file);
  expect(lines[0]).toBe('first');
  if (way.includes('burst')) expect(lines).toHaveLength(20_001);
  else expect(lines.slice(1)).toEqual(way.includes('refused') ? ['a', 'b'] : ['last']);
});

it('a log whose reader is gone is written no more', async () => {
  const child = spawn(
    'sh',
    [
      '-c',
      `{ "$0" --input-type=module -e 'const { logStream } = await import(${built('adapters/store/log-stream.js')}); const log = logStream(1); log.write("a\\n"); setTimeout(() => { log.write("b\\n"); process.exit(0); }, 300)'; echo $? >&2; } | head -n 1 >/dev/null`,
      process.execPath,
    ],
    { cwd: PROJECT_ROOT, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  expect(said.trim()).toBe('0');
});
