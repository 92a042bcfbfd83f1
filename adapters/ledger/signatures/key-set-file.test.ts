import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { keySetFile } from './key-set-file.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-key-set-'));
  path = join(folder, 'keys.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

it('is read once while it stays as it is, and again once it was put in place anew', async () => {
  writeFileSync(path, '{"sequence":1}');
  const source = keySetFile(path);
  const first = await source();
  expect(first).toEqual({ sequence: 1 });
  expect(await source()).toBe(first);
  writeFileSync(`${path}.new`, '{"sequence":2}');
  renameSync(`${path}.new`, path);
  expect(await source()).toEqual({ sequence: 2 });
});

it('throws for a file that is not there or no JSON, and goes on when it is', async () => {
  const source = keySetFile(path);
  await expect(source()).rejects.toThrow('ENOENT');
  writeFileSync(path, '{');
  await expect(source()).rejects.toThrow('JSON');
  writeFileSync(path, '{"sequence":3}');
  expect(await source()).toEqual({ sequence: 3 });
  rmSync(path);
  await expect(source()).rejects.toThrow('ENOENT');
});
