// `npm start`: builds what changed, then `gate start`. A second start is refused before it builds, by what an earlier start built.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { oneBuildAtATime } from './one-build.mjs';

const refusal = new URL('../dist/stack/second-start.js', import.meta.url);
if (existsSync(fileURLToPath(refusal))) {
  // What cannot be loaded, half built or of an earlier version, says nothing about a second start.
  const { refuseSecondStart } = await import(refusal.href).catch(() => ({}));
  try {
    await refuseSecondStart?.(process.env);
  } catch (error) {
    // Faults in the settings are told by the start itself.
    if (error?.name === 'StartError') {
      process.stderr.write(`gate: ${error.message}\n`);
      process.exit(1);
    }
  }
}
const status = await oneBuildAtATime(() => {
  // Of sources that were never built, or of many that changed, it takes minutes.
  process.stderr.write('gate: building what changed …\n');
  const root = fileURLToPath(new URL('..', import.meta.url));
  return spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' }).status;
});
if (status !== 0) process.exit(status ?? 1);
process.argv = [
  process.argv[0],
  fileURLToPath(new URL('gate.mjs', import.meta.url)),
  'start',
  ...process.argv.slice(2),
];
await import('./gate.mjs');
