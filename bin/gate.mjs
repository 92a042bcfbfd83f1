#!/usr/bin/env -S node --
// Behind `--` Node leaves alone what looks like an option of its own: `--env-file` is Gate's.
// The `gate` command. Runs the built program and builds it first where a fresh clone has none yet.
import { existsSync, statSync } from 'node:fs';
import module from 'node:module';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const main = new URL('../dist/cli/main.js', import.meta.url);
/** What the compiler writes last. */
const built = new URL('../dist/.tsbuildinfo', import.meta.url);
if (!existsSync(fileURLToPath(built))) {
  const { oneBuildAtATime } = await import('./one-build.mjs');
  const status = await oneBuildAtATime(() => {
    // Somebody else may have built it meanwhile.
    if (existsSync(fileURLToPath(built))) return 0;
    process.stderr.write(
      'gate: building it first, as the first run of a fresh clone does; that takes half a minute, more on a busy machine\n',
    );
    const root = fileURLToPath(new URL('..', import.meta.url));
    return spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-b'], { cwd: root, stdio: 'inherit' })
      .status;
  });
  if (status !== 0) process.exit(status ?? 1);
}
// The build makes few files of the command's many modules. Modules that were compiled after that are the newer program.
const bundled = new URL('../dist/program/main.js', import.meta.url);
const time = (path) => statSync(new URL(path, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0;
const program = time(bundled) > 0 && time(bundled) >= time('../dist/.tsbuildinfo') ? bundled : main;
// Compiled code is kept from start to start, where Node can (22.1 and later).
module.enableCompileCache?.();
await import(program.href);
