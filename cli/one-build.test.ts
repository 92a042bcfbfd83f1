import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '../test/support/waiting.js';

const MODULE = fileURLToPath(new URL('../bin/one-build.mjs', import.meta.url));
/** Builds until the file `go` is there, and says when it begins and ends. */
const BUILDER = `
  import { appendFileSync, existsSync } from 'node:fs';
  import { oneBuildAtATime } from ${JSON.stringify(MODULE)};
  const [folder, name] = process.argv.slice(2);
  const say = (what) => appendFileSync(folder + '/told', name + ' ' + what + '\\n');
  process.exitCode = await oneBuildAtATime(() => {
    say('begins');
    while (!existsSync(folder + '/go')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    say('ends');
    return 3;
  }, folder);
`;

let folder: string;
let started: ChildProcess[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-one-build-'));
  started = [];
  await writeFile(join(folder, 'builder.mjs'), BUILDER);
});
afterEach(async () => {
  for (const child of started) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

function builds(name: string) {
  const child = spawn(process.execPath, [join(folder, 'builder.mjs'), folder, name], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(child);
  let err = '';
  child.stderr.on('data', (part: Buffer) => (err += part.toString()));
  return { child, err: () => err, ended: once(child, 'exit') };
}
const told = async () => (existsSync(join(folder, 'told')) ? await readFile(join(folder, 'told'), 'utf8') : '');
const begins = (name: string) => eventually(`${name} builds`, async () => (await told()).includes(`${name} begins`));
const waits = (of: { err: () => string }) =>
  eventually('it says that it waits', async () => of.err().includes('waiting'));

it('lets a second start wait, which says so, until the first has built; each has what its build gave', async () => {
  const first = builds('one');
  await begins('one');
  const second = builds('two');
  await waits(second);
  await appendFile(join(folder, 'go'), '');
  expect(await Promise.all([first.ended, second.ended])).toEqual([
    [3, null],
    [3, null],
  ]);
  expect(await told()).toBe('one begins\none ends\ntwo begins\ntwo ends\n');
  expect(first.err()).toBe('');
});

it('lets the next one build where the one that built was killed', async () => {
  const first = builds('one');
  await begins('one');
  const second = builds('two');
  await waits(second);
  first.child.kill('SIGKILL');
  await begins('two');
  await appendFile(join(folder, 'go'), '');
  expect(await second.ended).toEqual([3, null]);
  expect(await told()).toBe('one begins\ntwo begins\ntwo ends\n');
});
