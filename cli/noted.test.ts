import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openLedger } from '../test/support/whole-ledger.js';
import { commandLine } from '../test/support/command.js';
import { testKeys, testRow } from '../test/support/ledger.js';

describe('gate verify, compared with what was noted', () => {
  let folder: string;
  const sidecarKeys = testKeys();
  const { done } = commandLine(() => folder);
  const verify = (...args: string[]) => done(['verify', '--ledger', 'ledger.db', ...args]);
  const append = async (count: number) => {
    const ledger = await openLedger({ target: { file: join(folder, 'ledger.db') }, sidecarKeys });
    await ledger.append(Array.from({ length: count }, () => testRow()));
    const { commitment } = await ledger.verify();
    await ledger.close();
    return { head: commitment?.head_hash ?? '', length: String(commitment?.length ?? 0) };
  };
  let noted: { head: string; length: string };
  let now: { head: string; length: string };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-noted-'));
    noted = await append(3);
    now = await append(2);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('a chain that has grown since is as noted, by head, by length and by both', async () => {
    for (const args of [
      ['--expect-head', noted.head],
      ['--expect-head', noted.head.toUpperCase()],
      ['--expect-length', noted.length],
      ['--expect-head', noted.head, '--expect-length', noted.length],
    ])
      expect(await verify(...args)).toEqual({
        code: 0,
        out: expect.stringContaining('as noted: grown from 3 entries to 5\n'),
      });
    expect(await verify('--expect-head', now.head, '--expect-length', now.length)).toEqual({
      code: 0,
      out: expect.stringContaining('as noted: 5 entries\n'),
    });
  });

  it('says that it is not as noted, and accuses no row, where it is shorter or another chain', async () => {
    const other = 'a'.repeat(64);
    for (const [args, words] of [
      [['--expect-length', '6'], 'NOT AS NOTED: 6 entries were noted and 5 are there: the newest are missing'],
      [['--expect-head', other], 'NOT AS NOTED: no entry has the noted hash'],
      [['--expect-head', other, '--expect-length', '3'], `NOT AS NOTED: entry 3 has the hash ${noted.head}`],
      // A hash of the chain, at another place than was noted.
      [['--expect-head', now.head, '--expect-length', '3'], 'NOT AS NOTED: entry 3 has the hash'],
      [['--expect-head', noted.head, '--expect-length', '0'], 'NOT AS NOTED: entry 0 has the hash'],
    ] as const) {
      const { code, out } = await verify(...args);
      expect({ code, out }).toEqual({ code: 2, out: expect.stringContaining(words) });
      expect(out).not.toContain('tamper');
    }
    const { code, out } = await verify('--expect-length', '6', '--json');
    expect({ code, result: JSON.parse(out) }).toMatchObject({
      code: 2,
      result: { valid: false, first_invalid_reason: 'expected_head', noted: { holds: false } },
    });
  });

  it('an invalid hash or number is wrong usage, and no alarm', async () => {
    for (const [args, words] of [
      [['--expect-length', 'abc'], '--expect-length is the number'],
      [['--expect-length', '-1'], '--expect-length is the number'],
      [['--expect-length', '2.5'], '--expect-length is the number'],
      [['--expect-head', 'abc'], '--expect-head is the 64 hex digits'],
      [['--expect-length', '3', '--bundle', 'row.json'], 'cannot be used with'],
    ] as const)
      expect(await verify(...args)).toEqual({ code: 2, out: expect.stringContaining(words) });
  });
});
