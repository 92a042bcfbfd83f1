import { spawn } from 'node:child_process';

/**
 * A test run that ends early, however it ends, must not leave a process behind: a shell holds the reading end of a pipe whose writing end only
 * this process has, and ends that process when it closes. SIGTERM, so that it ends its own children tidily.
 */
export function endsWithThisProcess(pid: number, exited: Promise<unknown>): void {
  const watch = spawn('/bin/sh', ['-c', 'cat >/dev/null; kill -TERM "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watch.unref();
  (watch.stdin as unknown as { unref(): void }).unref();
  void exited.then(() => {
    if (watch.pid !== undefined && watch.exitCode === null) process.kill(-watch.pid, 'SIGKILL');
  });
}
