import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-ci-run-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** `.ci/run` on a machine where all that it looks for is there, and `npm test` ends so. */
function run(npmTest: string) {
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  const program = (name: string, text = '') => {
    writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(programs, name), 0o755);
  };
  for (const name of ['initdb', 'openssl', 'schemathesis', 'python3', 'go', 'apt-get', 'sudo']) program(name);
  program('npm', `[ "$1" = test ] || exit 0\nfor argument; do results="\${argument#--outputFile=}"; done\n${npmTest}`);
  return spawnSync('bash', ['.ci/run'], {
    cwd: PROJECT_ROOT,
    encoding: 'utf8',
    env: {
      PATH: [programs, dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
      HOME: folder,
      GATE_CACHE_DIR: join(folder, 'cache', 'bin'),
      GATE_TEST_CHROMIUM: join(programs, 'initdb'),
      TMPDIR: folder,
    },
  });
}
const counted = (change: object) =>
  `echo '${JSON.stringify({ numPassedTests: 3, numFailedTests: 0, numRuntimeErrorTestSuites: 0, numPendingTests: 1, ...change })}' > "$results"`;

describe('.ci/run', () => {
  it('counts what passed, failed and was skipped, and ends well where nothing failed', () => {
    expect(run(counted({}))).toMatchObject({ status: 0, stdout: '3 passed, 0 failed, 1 skipped\n' });
  });

  it('counts a suite that could not run as a failure, and ends as one', () => {
    const ended = run(`${counted({ numRuntimeErrorTestSuites: 1 })}\nexit 1`);
    expect(ended).toMatchObject({ status: 1, stdout: '3 passed, 1 failed, 1 skipped\n' });
  });

  it('ends as npm test did where that failed after tests that all passed', () => {
    expect(run(`${counted({})}\nexit 7`)).toMatchObject({ status: 7, stdout: '3 passed, 0 failed, 1 skipped\n' });
  });

  it.each([
    ['failed before Jest', 'exit 2', 2],
    ['was ended in the middle', 'kill -9 $$', 137],
  ])('says how npm test ended where it %s, and so left no results', (_how, npmTest, status) => {
    const ended = run(npmTest);
    expect(ended).toMatchObject({ status: 1, stdout: '' });
    expect(ended.stderr).toContain(`npm test left no results, and ended with exit status ${status}:`);
  });
});
