import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../scripts/project-root.js';

/** The built program: what a start bundles is built code. */
const bundled = (cache: string): string =>
  execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `const { bundleWorkflows } = await import(${JSON.stringify(join(PROJECT_ROOT, 'dist', 'engine', 'bundle.js'))});
       process.stdout.write((await bundleWorkflows(${JSON.stringify(cache)})).code);`,
    ],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'gate-bundle-'));
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

it('the workflow bundle is kept under a digest of what it is made of, and one of other sources goes', () => {
  writeFileSync(join(cache, 'of-an-older-gate.js'), 'old');
  const code = bundled(cache);
  expect(code).toMatch(/toolCall[^]*reconcile/);
  const [name, ...more] = readdirSync(cache);
  expect(more).toEqual([]);
  expect(name).toMatch(/^[0-9a-f]{64}\.js$/);
  // What is kept is what is used.
  writeFileSync(join(cache, name ?? ''), `${readFileSync(join(cache, name ?? ''), 'utf8')}//kept`);
  expect(bundled(cache)).toBe(`${code}//kept`);
}, 60_000);
