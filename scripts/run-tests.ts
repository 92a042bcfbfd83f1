import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { errorText } from '../domain/errors.js';
import { findOpa, findTemporal } from '../stack/programs/find-program.js';
import { PROJECT_ROOT } from '../config/project-root.js';

/** `npm test`: every test, with the two programs that tests run. What is missing is built first, which takes minutes once on a machine. */
const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);
let env: NodeJS.ProcessEnv = process.env;
try {
  env = { ...env, GATE_TEMPORAL_BIN: await findTemporal({ onProgress }), GATE_OPA_BIN: await findOpa({ onProgress }) };
} catch (error) {
  process.stderr.write(`${errorText(error)}\n`);
  process.exit(1);
}
const jest = spawn(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--no-warnings',
    join(PROJECT_ROOT, 'node_modules', 'jest', 'bin', 'jest.js'),
    ...process.argv.slice(2),
  ],
  { cwd: PROJECT_ROOT, env, stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => jest.kill(signal));
jest.once('close', (code) => process.exit(code ?? 1));
