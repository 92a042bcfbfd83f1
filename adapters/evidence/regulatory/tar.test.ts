import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type TarFile, tarStream } from './tar.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-tar-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const archive = (files: TarFile[]) => buffer(Readable.from(tarStream(files, 1_767_323_045)));

describe('an archive', () => {
  it('is what tar itself unpacks: names, sizes at the borders of a block, bytes', async () => {
    const long = join(folder, 'long');
    writeFileSync(long, 'x'.repeat(100_000));
    writeFileSync(
      join(folder, 'a.tar'),
      await archive([
        { name: 'empty', bytes: Buffer.alloc(0) },
        { name: 'block', bytes: Buffer.alloc(512, 1) },
        { name: 'more', bytes: Buffer.alloc(513, 2) },
        { name: 'long.txt', path: long, size: 100_000 },
      ]),
    );
    const listing = execFileSync('tar', ['--utc', '-tvf', 'a.tar'], { cwd: folder, encoding: 'utf8' });
    const sizes = listing
      .trim()
      .split('\n')
      .map((line) => [line.split(/\s+/)[2], line.split(/\s+/).at(-1), line.slice(0, 10)]);
    expect(sizes).toEqual([
      ['0', 'empty', '-rw-r--r--'],
      ['512', 'block', '-rw-r--r--'],
      ['513', 'more', '-rw-r--r--'],
      ['100000', 'long.txt', '-rw-r--r--'],
    ]);
    expect(listing).toContain('2026-01-02 03:04');
  });

  it('refuses a name or a size it cannot write, and a file that changed meanwhile', async () => {
    await expect(archive([{ name: 'x'.repeat(101), bytes: Buffer.alloc(0) }])).rejects.toThrow('longer than 100 bytes');
    await expect(archive([{ name: 'x', path: join(folder, 'none'), size: 8 ** 11 }])).rejects.toThrow('larger than');
    writeFileSync(join(folder, 'short'), 'x');
    await expect(archive([{ name: 'x', path: join(folder, 'short'), size: 2 }])).rejects.toThrow('changed while');
  });
});
