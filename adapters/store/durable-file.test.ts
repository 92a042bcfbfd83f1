import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { needs } from '../../test/support/needs.js';
import { canMountSmall, mountSmall, unmount } from '../../test/support/small-disk.js';
import { PRIVATE_FILE, replaceFile } from './durable-file.js';

const mountable = canMountSmall();

(mountable ? describe : describe.skip)(
  `a file that is replaced on a disk that is almost full${needs('small-disk', mountable)}`,
  () => {
    const OLD = 'old\n'.repeat(2_048);
    const NEW = 'new\n'.repeat(2_560);
    let at: string;
    beforeEach(() => {
      at = mkdtempSync(join(tmpdir(), 'gate-durable-'));
      mountSmall(at, '256k');
    });
    afterEach(() => {
      unmount(at);
      rmSync(at, { recursive: true });
    });

    it('stays as it was where the new one does not fit, and that is said', () => {
      const file = join(at, 'file');
      replaceFile(file, OLD, PRIVATE_FILE);
      const { bavail, bsize } = statfsSync(at);
      // Room is left for a part of it.
      writeFileSync(join(at, 'filler'), Buffer.alloc((bavail - 1) * bsize));
      expect(() => replaceFile(file, NEW, PRIVATE_FILE)).toThrow('ENOSPC');
      expect(readFileSync(file, 'utf8')).toBe(OLD);
      rmSync(join(at, 'filler'));
      replaceFile(file, NEW, PRIVATE_FILE);
      expect(readFileSync(file, 'utf8')).toBe(NEW);
      expect(readdirSync(at)).toEqual(['file']);
    });
  },
);
