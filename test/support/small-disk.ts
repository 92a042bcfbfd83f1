import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const run = (command: string, ...args: string[]): void => void execFileSync(command, args, { stdio: 'ignore' });

/** A file system of its own over a folder that is there; only root can make one. `size` as tmpfs reads it (`64m`). */
export const mountSmall = (at: string, size: string): void =>
  run('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'gate-test', at);
export const unmount = (at: string): void => run('umount', '-l', at);

function tried(attempt: (at: string) => void): boolean {
  const at = mkdtempSync(join(tmpdir(), 'gate-mount-'));
  try {
    attempt(at);
    unmount(at);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(at, { recursive: true, force: true });
  }
}

/** Whether this machine lets the tests make one. */
export const canMountSmall = (): boolean =>
  process.platform === 'linux' && process.getuid?.() === 0 && tried((at) => mountSmall(at, '1m'));

/** Whether it mounts an ext4 image as well, which can then be broken on purpose. */
export const canMountImage = (): boolean =>
  canMountSmall() &&
  tried((at) => {
    mountSmall(at, '48m');
    try {
      const image = join(at, 'image');
      run('truncate', '-s', '32m', image);
      run('mkfs.ext4', '-q', '-F', image);
      const inside = join(at, 'inside');
      run('mkdir', inside);
      run('mount', '-o', 'loop', image, inside);
      unmount(inside);
    } catch (error) {
      unmount(at);
      throw error;
    }
  });
