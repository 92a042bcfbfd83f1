import { accessSync, constants, readFileSync, statSync } from 'node:fs';

/** Why data in `folder` does not outlive this container, or `null`. */
export function volumeFault(folder: string): string | null {
  let device: number;
  try {
    device = statSync(folder).dev;
  } catch {
    return 'does not exist';
  }
  if (!isMountPoint(folder, device)) return 'is not a mount point: what is written there would go with the container';
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    return 'is not writable by this user';
  }
  return null;
}

/** By the kernel's mount list if there is one (a bind mount has the device of what it shows), otherwise by the device. */
function isMountPoint(folder: string, device: number): boolean {
  try {
    // proc(5): the fifth field of a line is the mount point, blanks as \040.
    return readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .some((line) => line.split(' ')[4] === folder.replaceAll(' ', '\\040'));
  } catch {
    return statSync('/').dev !== device;
  }
}
