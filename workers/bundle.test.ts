import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../config/project-root.js';
import { SOURCES, workflowSourcesDigest } from './bundle.js';

/** The built program: what a start bundles is built code. */
const bundled = (cache: string): string =>
  execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `const { bundleWorkflows } = await import(${JSON.stringify(join(PROJECT_ROOT, 'dist', 'workers', 'bundle.js'))});
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
  expect(name).toBe(`${workflowSourcesDigest(PROJECT_ROOT, join(PROJECT_ROOT, 'dist'))}.js`);
  // What is kept is what is used.
  writeFileSync(join(cache, name ?? ''), `${readFileSync(join(cache, name ?? ''), 'utf8')}//kept`);
  expect(bundled(cache)).toBe(`${code}//kept`);
}, 60_000);

describe('what the bundle is kept under', () => {
  /** A copy of the program whose files may be changed. */
  const copied = (): string => {
    const root = join(cache, 'copy');
    mkdirSync(root);
    for (const name of ['package.json', 'package-lock.json', ...SOURCES.map((folder) => join('dist', folder))])
      cpSync(join(PROJECT_ROOT, name), join(root, name), { recursive: true });
    return root;
  };
  const kept = (root: string): string => workflowSourcesDigest(root, join(root, 'dist'));

  it('another lock file, another workflow source and another package file make another bundle; tests do not', () => {
    const root = copied();
    const first = kept(root);
    expect(kept(root)).toBe(first);
    const seen = new Set([first]);
    for (const file of [
      'package-lock.json',
      'package.json',
      'dist/workflows/warm-up/workflow.js',
      ...SOURCES.map((folder) => `dist/${folder}/one-more.js`),
    ]) {
      appendFileSync(join(root, file), '\n');
      seen.add(kept(root));
    }
    expect(seen.size).toBe(4 + SOURCES.length);
    const last = kept(root);
    writeFileSync(join(root, 'dist/workflows/warm-up/more.test.js'), '');
    expect(kept(root)).toBe(last);
    // An image may have no lock file.
    rmSync(join(root, 'package-lock.json'));
    expect(kept(root)).not.toBe(last);
  });
});
