import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../config/project-root.js';

const MODULE = JSON.stringify(`file://${join(PROJECT_ROOT, 'dist', 'cli', 'stop-signals.js')}`);
/** A process that listens for signals and has left something open. */
const run = (program: string) =>
  new Promise<number | string>((resolve) => {
    const script = `import { begun, stopSignals } from ${MODULE}; setInterval(() => undefined, 1000); stopSignals(); ${program}`;
    execFile(
      process.execPath,
      ['--input-type=module', '-e', script],
      { timeout: 20_000, killSignal: 'SIGKILL' },
      (error) => resolve(error === null ? 0 : (error.code ?? error.signal ?? 'unknown')),
    );
  });

describe('a start that fails', () => {
  it('ends its process, whatever it left open', async () => {
    const failing = "await begun(Promise.reject(new Error('broken'))).catch(() => (process.exitCode = 1));";
    expect(await run(failing)).toBe(1);
  }, 60_000);
});
