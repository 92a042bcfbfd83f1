import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { claimFile, holderOf, releaseFile } from './file-lock.js';
import { bornAt } from './programs/managed-child.js';
import { StartError } from '../config/start-error.js';

/**
 * Two stacks over one state folder would conflict over its files and its engine. The file names the running process by its pid and start
 * time; one that is gone, or whose pid belongs to another program by now, does not count. Of any number of concurrent attempts one
 * succeeds. Throws StartError naming the other process. Returns the release function.
 */
export function claimStateFolder(file: string, stateDir: string): () => void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const mark = `${process.pid} ${bornAt(process.pid) ?? ''}`;
  const holder = claimFile(file, mark, (_file, other) => gateOf(other) !== null);
  if (holder === null) return () => releaseFile(file, mark);
  throw runsAlready(pidOf(holder), file, stateDir);
}

const runsAlready = (pid: number, file: string, stateDir: string): StartError =>
  new StartError(
    `Gate already runs over ${stateDir} (process ${pid}); stop it, or set GATE_STATE_DIR to another folder. ` +
      `If process ${pid} is not Gate, remove ${file}`,
  );

/** Where a Gate that runs over a state folder says so. */
export const pidFileOf = (stateDir: string): string => join(stateDir, 'run', 'gate.pid');

/** The same refusal, for whoever is not to claim the folder yet. */
export function assertNobodyRuns(stateDir: string): void {
  const file = pidFileOf(stateDir);
  const pid = runningGate(file);
  if (pid !== null) throw runsAlready(pid, file, stateDir);
}

/** The process that runs over a state folder by its pid file, or `null`. */
export function runningGate(file: string): number | null {
  const holder = existsSync(file) ? holderOf(file) : null;
  return holder === null ? null : gateOf(holder);
}

const pidOf = (holder: string): number => Number(holder.split(' ')[0]);

function gateOf(holder: string): number | null {
  const pid = pidOf(holder);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  const born = holder.slice(holder.indexOf(' ') + 1);
  const lives = holder.includes(' ') && born !== '' ? bornAt(pid) === born : mayBeGate(pid);
  return lives ? pid : null;
}

/** An earlier version wrote only the pid; then the command line distinguishes Gate from a later owner of that pid. */
function mayBeGate(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is alive and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    return /gate|node/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  } catch {
    return true;
  }
}
