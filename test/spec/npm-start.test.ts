import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { FREE_PORTS } from '../../stack/process-settings.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-npm-start-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('npm start', () => {
  it('says that it builds, which may take minutes, and ends as a build ends that fails', () => {
    writeFileSync(join(folder, 'npm'), '#!/bin/sh\necho "$@" >&2\nexit 3\n', { mode: 0o755 });
    const { status, stderr } = spawnSync(process.execPath, [join(PROJECT_ROOT, 'bin', 'start.mjs')], {
      env: {
        ...FREE_PORTS,
        PATH: `${folder}${delimiter}${process.env['PATH']}`,
        GATE_STATE_DIR: join(folder, 'state'),
      },
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([3, 'gate: building what changed …\nrun --silent build\n']);
  });
});
