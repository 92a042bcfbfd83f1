import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from './parts.js';

/**
 * Two stacks over one state folder would fight over its files and its engine. The file holds the pid of the one that runs; a pid that is
 * gone, or that another program got meanwhile, does not count. Throws StartError naming the other process. Returns the release.
 */
export function claimStateFolder(file: string, stateDir: string): () => void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  for (let attempt = 1; ; attempt += 1) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt > 3) throw error;
      const pid = Number(readFileSync(file, 'utf8'));
      if (isGate(pid))
        throw new StartError(
          `Gate already runs over ${stateDir} (process ${pid}); stop it, or set GATE_STATE_DIR to another folder`,
        );
      rmSync(file, { force: true });
    }
  }
}

/** The process that runs over a state folder by its pid file, or `null`. */
export function runningGate(file: string): number | null {
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  return isGate(pid) ? pid : null;
}

function isGate(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is alive and another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    return /gate|jest|node/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  } catch {
    return true;
  }
}
