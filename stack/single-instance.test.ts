import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { sha256Hex } from '../domain/crypto/digest.js';
import { bornAt } from './programs/managed-child.js';
import { claimStateFolder, runningGate } from './single-instance.js';

const folder = mkdtempSync(join(tmpdir(), 'gate-claim-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const NOBODY = 2_147_483_646;

const built = pathToFileURL(fileURLToPath(new URL('../dist/stack/single-instance.js', import.meta.url))).href;
/** Claims each file it is given at the moment it is given, holds what it gets, and tells. */
const CLAIMANT = `
  const { claimStateFolder } = await import('${built}');
  const { createInterface } = await import('node:readline');
  console.log('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    const [file, at] = line.split(' ');
    while (Date.now() < Number(at));
    try { claimStateFolder(file, 'there'); console.log('got it'); }
    catch (error) { console.log(error.name === 'StartError' ? 'refused' : String(error.stack).replaceAll('\\n', ' ')); }
  }`;

function claimant() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', CLAIMANT], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const told = async (): Promise<string> => (await lines.next()).value as string;
  return {
    child,
    told,
    claim(file: string, atMs: number) {
      child.stdin.write(`${file} ${atMs}\n`);
      return told();
    },
  };
}

describe('of many Gates that claim one state folder at the same moment', () => {
  const left: [string, (file: string) => void][] = [
    ['where none ran before', () => undefined],
    ['after one that was killed', (file) => writeFileSync(file, `${NOBODY} an-earlier-boot/1`)],
    ['after one whose pid this test has got since', (file) => writeFileSync(file, `${process.pid} an-earlier-boot/1`)],
    ['after one of an earlier version', (file) => writeFileSync(file, String(NOBODY))],
    ['after a machine that lost power in the middle of a write', (file) => writeFileSync(file, '')],
  ];

  it('exactly one gets it, whatever was left behind', async () => {
    const claimants = Array.from({ length: 6 }, claimant);
    try {
      await Promise.all(claimants.map(({ told }) => told()));
      for (const [at, [what, leave]] of left.entries()) {
        for (let round = 0; round < 6; round += 1) {
          const run = join(folder, `${at}-${round}`);
          mkdirSync(run);
          const file = join(run, 'gate.pid');
          leave(file);
          const now = Date.now() + 8;
          const words = await Promise.all(claimants.map(({ claim }) => claim(file, now)));
          expect({ what, round, words: words.toSorted() }).toEqual({
            what,
            round,
            words: ['got it', 'refused', 'refused', 'refused', 'refused', 'refused'],
          });
          expect(runningGate(file)).toBe(claimants[words.indexOf('got it')]?.child.pid);
          expect(readdirSync(run)).toEqual(['gate.pid']);
        }
      }
    } finally {
      for (const { child } of claimants) child.kill('SIGKILL');
    }
  }, 60_000);

  it('one that is killed in the middle of a takeover leaves nothing in the way of the next', () => {
    const file = join(folder, 'takeover.pid');
    writeFileSync(file, `${NOBODY} dead/1`);
    claimStateFolder(file, folder)();
    const dead = `${NOBODY} dead/2`;
    writeFileSync(file, dead);
    // What it had begun to hold: the right to replace this very claim.
    const right = `${file}.after-${sha256Hex(dead).slice(0, 16)}`;
    writeFileSync(right, `${NOBODY} dead/3`);
    const release = claimStateFolder(file, folder);
    expect(runningGate(file)).toBe(process.pid);
    expect(existsSync(right)).toBe(false);
    release();
  });
});

describe('a claimed state folder', () => {
  const file = join(folder, 'one', 'gate.pid');

  it('is refused to the next, who is told whom to stop and what to remove where that is not Gate', () => {
    const release = claimStateFolder(file, '/there');
    expect(() => claimStateFolder(file, '/there')).toThrow(
      `Gate already runs over /there (process ${process.pid}); stop it, or set GATE_STATE_DIR to another folder. ` +
        `If process ${process.pid} is not Gate, remove ${file}`,
    );
    release();
    expect(existsSync(file)).toBe(false);
  });

  it('is let go of by its owner alone', () => {
    const release = claimStateFolder(file, '/there');
    const others = `${process.ppid} ${bornAt(process.ppid)}`;
    writeFileSync(file, others);
    release();
    expect(readFileSync(file, 'utf8')).toBe(others);
    expect(runningGate(file)).toBe(process.ppid);
    rmSync(file);
    release();
  });

  it('is not one by a pid that another program got after a new start of the machine', () => {
    writeFileSync(file, `${process.ppid} an-earlier-boot/17`);
    expect(runningGate(file)).toBeNull();
    claimStateFolder(file, '/there')();
  });
});
