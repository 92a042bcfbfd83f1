import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';

const OPENER = fileURLToPath(new URL('../../dist/test/support/store-opener.js', import.meta.url));
const PROCESSES = 4;
const folder = await mkdtemp(join(tmpdir(), 'gate-opened-at-once-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a file that several processes open first, at once', () => {
  it('is migrated and sealed by one of them, and opened by all', async () => {
    for (let round = 0; round < 2; round += 1) {
      const file = join(folder, `${round}.db`);
      const openers = Array.from({ length: PROCESSES }, () =>
        spawn(process.execPath, [OPENER, file], { stdio: ['pipe', 'pipe', 'inherit'] }),
      );
      await Promise.all(openers.map(({ stdout }) => once(stdout, 'readable')));
      for (const { stdin } of openers) stdin.end();
      const said = await Promise.all(openers.map(({ stdout }) => text(stdout)));
      expect(said).toEqual(openers.map(() => 'ready\nopened\n'));
    }
  }, 120_000);
});
