import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { median } from './numbers.js';

/** Where a number was measured; without it the number says nothing. */
export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memory_gib: number;
  readonly node: string;
  readonly arch: string;
  /** Median of one 4 KiB write and fdatasync in the folder of the stores, milliseconds. */
  readonly fdatasync_ms: number;
  /** One-minute load average when the run began: other work on the machine. */
  readonly load_before: number;
}

export function describeMachine(folder: string): Machine {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memory_gib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    arch: arch(),
    fdatasync_ms: Math.round(fdatasyncMs(folder) * 1000) / 1000,
    load_before: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

const SYNCS = 50;

function fdatasyncMs(folder: string): number {
  const file = join(folder, 'fdatasync.probe');
  const descriptor = openSync(file, 'w');
  try {
    const page = Buffer.alloc(4_096, 1);
    return median(
      Array.from({ length: SYNCS }, () => {
        const begun = performance.now();
        writeSync(descriptor, page);
        fdatasyncSync(descriptor);
        return performance.now() - begun;
      }),
    );
  } finally {
    closeSync(descriptor);
    rmSync(file);
  }
}

/** Clock ticks per second of /proc; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** CPU time of another process since it began, milliseconds; 0 where there is no /proc. */
export const cpuMsOf = (pid: number): number => cpuMsIn(`/proc/${pid}/stat`);

/** CPU time of the main thread of this process since it began, milliseconds; 0 where there is no /proc. */
export const mainThreadCpuMs = (): number => cpuMsIn(`/proc/self/task/${process.pid}/stat`);

function cpuMsIn(file: string): number {
  try {
    const stat = readFileSync(file, 'utf8');
    // The second field is the name in brackets and may hold anything; fields are counted from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

/** Resident memory of another process, MiB; 0 where there is no /proc. */
export function residentMibOf(pid: number): number {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    return Math.round((pages * 4_096) / 2 ** 20);
  } catch {
    return 0;
  }
}

/** Size of a SQLite file with its log, MiB. */
export const fileMib = (file: string): number =>
  Math.round(
    ['', '-wal'].reduce((sum, suffix) => sum + (statSync(file + suffix, { throwIfNoEntry: false })?.size ?? 0), 0) /
      2 ** 20,
  );
