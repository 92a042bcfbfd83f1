import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, readSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIVATE_FILE, readIfPresent, replaceFile } from '../../adapters/store/durable-file.js';

/** A program that survives when its parent is killed: it runs in its own process group and is found again by its pid file. */
export interface ChildSpec {
  /** For messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly pidFile: string;
  /** Both output streams are appended here; kept to two generations. */
  readonly logFile: string;
  /** Whatever else makes a running process a different one, such as the version of its code. */
  readonly version?: string;
}

export interface ManagedChild {
  readonly pid: number;
  /** It was already running when it was asked for. */
  readonly adopted: boolean;
  /** Resolves when it has ended, with a description: `exit code 1`, `SIGKILL`. */
  readonly exited: Promise<string>;
  /** SIGTERM, then SIGKILL after `limitMs`; resolves when the process is gone. May be called again. */
  stop(limitMs?: number): Promise<void>;
}

interface PidRecord {
  readonly pid: number;
  /** Distinguishes the process from a later one with the same pid. */
  readonly born: string;
  readonly fingerprint: string;
}

const STOP_LIMIT_MS = 10_000;
const LOG_LIMIT_BYTES = 32 * 1024 * 1024;
const WATCH_EVERY_MS = 1_000;

/**
 * The child that an earlier parent process left running: adopted when it is the same program with the same arguments, otherwise ended.
 * `null` when none runs. A process that merely got the same pid is never touched.
 */
export async function adoptOrEnd(spec: ChildSpec): Promise<ManagedChild | null> {
  const record = readRecord(spec.pidFile);
  if (!record) return null;
  if (bornAt(record.pid) !== record.born) {
    rmSync(spec.pidFile, { force: true });
    return null;
  }
  const child = watched(spec, record);
  if (record.fingerprint === fingerprintOf(spec)) return child;
  await child.stop();
  return null;
}

/** Starts the program. Its pid file is on disk when this returns; the caller finds out whether it works. */
export async function startChild(spec: ChildSpec): Promise<ManagedChild> {
  mkdirSync(dirname(spec.logFile), { recursive: true, mode: 0o700 });
  if ((statSync(spec.logFile, { throwIfNoEntry: false })?.size ?? 0) > LOG_LIMIT_BYTES)
    renameSync(spec.logFile, `${spec.logFile}.1`);
  const log = openSync(spec.logFile, 'a', PRIVATE_FILE);
  try {
    // The files that the program creates, above all its database, are readable only by the owner from the start. A child inherits the
    // umask.
    const umask = process.umask(0o077);
    const child = spawn(spec.command, [...spec.args], {
      detached: true,
      stdio: ['ignore', log, log],
      env: spec.env ?? process.env,
    });
    process.umask(umask);
    const exited = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
      child.once('error', (error) => resolve(error.message));
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${spec.name} does not start: ${await exited}`);
    child.unref();
    const record = { pid, born: bornAt(pid) ?? 'gone', fingerprint: fingerprintOf(spec) };
    replaceFile(spec.pidFile, JSON.stringify(record), PRIVATE_FILE);
    return {
      pid,
      adopted: false,
      exited,
      stop: (limitMs = STOP_LIMIT_MS) => end(spec, record, exited, limitMs),
    };
  } finally {
    closeSync(log);
  }
}

/** The last `bytes` of a log, for a message about why its program ended. */
export function tailOf(file: string, bytes = 2_000): string {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return '';
  const descriptor = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(size, bytes));
    readSync(descriptor, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}

function watched(spec: ChildSpec, record: PidRecord): ManagedChild {
  const gone = (): boolean => bornAt(record.pid) !== record.born;
  let settle: (how: string) => void = () => {};
  const exited = new Promise<string>((resolve) => {
    settle = resolve;
  });
  const watch = setInterval(() => {
    if (gone()) leave();
  }, WATCH_EVERY_MS).unref();
  function leave(): void {
    clearInterval(watch);
    settle('ended');
  }
  return {
    pid: record.pid,
    adopted: true,
    exited,
    async stop(limitMs = STOP_LIMIT_MS) {
      await end(spec, record, exited, limitMs);
      leave();
    },
  };
}

async function end(spec: ChildSpec, record: PidRecord, exited: Promise<string>, limitMs: number): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGTERM', limitMs],
    ['SIGKILL', STOP_LIMIT_MS],
  ] as const) {
    if (bornAt(record.pid) !== record.born) break;
    try {
      process.kill(record.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    const deadline = Date.now() + patienceMs;
    while (bornAt(record.pid) === record.born && Date.now() < deadline)
      await Promise.race([exited, sleep(50, undefined, { ref: true })]);
  }
  if (bornAt(record.pid) === record.born) throw new Error(`${spec.name} (pid ${record.pid}) does not end`);
  if (readRecord(spec.pidFile)?.pid === record.pid) rmSync(spec.pidFile, { force: true });
}

function readRecord(pidFile: string): PidRecord | null {
  const text = readIfPresent(pidFile, PRIVATE_FILE);
  if (text === null) return null;
  try {
    const record = JSON.parse(text) as Partial<PidRecord>;
    return typeof record.pid === 'number' && record.pid > 1 && record.born && record.fingerprint
      ? (record as PidRecord)
      : null;
  } catch {
    return null;
  }
}

function fingerprintOf(spec: ChildSpec): string {
  const program = statSync(spec.command, { throwIfNoEntry: false });
  return createHash('sha256')
    .update(JSON.stringify([spec.command, program?.size, program?.mtimeMs, spec.args, spec.version]))
    .digest('hex');
}

/** When the process with this pid began, as opaque text; `null` when there is none, or only a zombie. */
export function bornAt(pid: number): string | null {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The second field is the name in brackets and may contain anything, so fields are counted from behind it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z' || fields[0] === 'X') return null;
      return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[19]}`;
    } catch {
      return null;
    }
  }
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}
