import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../config/project-root.js';

/** The built program: what a start bundles is built code. */
const bundled = (cache: string, root = PROJECT_ROOT): string =>
  execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `const { bundleWorkflows } = await import(${JSON.stringify(join(root, 'dist', 'workers', 'bundle.js'))});
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

describe('what the bundle is kept under', () => {
  /** A copy of the program whose files may be changed; packages and most of the code are the same. */
  const copied = (): string => {
    const root = join(cache, 'copy');
    mkdirSync(root);
    for (const name of ['package.json', 'package-lock.json', 'dist'])
      cpSync(join(PROJECT_ROOT, name), join(root, name), { recursive: true });
    symlinkSync(join(PROJECT_ROOT, 'node_modules'), join(root, 'node_modules'));
    return root;
  };
  const kept = (root: string): string => {
    bundled(join(cache, 'kept'), root);
    const [name = '', ...more] = readdirSync(join(cache, 'kept'));
    expect(more).toEqual([]);
    return name;
  };

  it('another lock file, another workflow source and another package file make another bundle; tests do not', () => {
    const root = copied();
    const first = kept(root);
    expect(kept(root)).toBe(first);
    const seen = new Set([first]);
    for (const file of ['package-lock.json', 'package.json', 'dist/workflows/warm-up/workflow.js']) {
      appendFileSync(join(root, file), '\n');
      seen.add(kept(root));
    }
    expect(seen.size).toBe(4);
    const last = kept(root);
    writeFileSync(join(root, 'dist/workflows/warm-up/more.test.js'), '');
    expect(kept(root)).toBe(last);
    // An image without a lock file starts too.
    rmSync(join(root, 'package-lock.json'));
    expect(kept(root)).not.toBe(last);
  }, 120_000);
});
