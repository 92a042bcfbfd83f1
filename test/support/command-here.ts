import { join } from 'node:path';
import { type Commands, runCommand } from '../../cli/program.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { CommandLine } from './command.js';

/** Below the limit of a test: one that hangs is told, and leaves this process as it was. */
const LIMIT_MS = 25_000;
let isUnderWay = false;

/** Fails where the command does not end. */
async function ended(running: Promise<number>, args: readonly string[]): Promise<number> {
  let limit: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, fail) => {
    limit = setTimeout(
      () => fail(new Error(`gate ${args.join(' ')}: not done within ${LIMIT_MS / 1_000} s`)),
      LIMIT_MS,
    );
  });
  return Promise.race([running, late]).finally(() => clearTimeout(limit));
}

/** What runs a command in this process, in a folder and with these variables alone. One at a time. */
async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  folder: string,
  commands: Commands,
): Promise<{ code: number; out: string }> {
  if (isUnderWay) throw new Error('another command runs in this process');
  isUnderWay = true;
  const { env: variables, argv, exitCode } = process;
  const cwd = process.cwd();
  const streams = [process.stdout, process.stderr].map((stream) => ({
    stream,
    write: stream.write,
    listeners: stream.listeners('error'),
  }));
  let out = '';
  const write = (text: string | Uint8Array, ...rest: unknown[]): boolean => {
    out += typeof text === 'string' ? text : Buffer.from(text).toString();
    const done = rest.at(-1);
    if (typeof done === 'function') done();
    return true;
  };
  try {
    process.chdir(folder);
    process.env = { PATH: variables['PATH'] ?? '', ...env };
    process.argv = [process.execPath, join(PROJECT_ROOT, 'bin', 'gate.mjs'), ...args];
    process.exitCode = undefined;
    for (const { stream } of streams) stream.write = write;
    const code = await ended(runCommand(process.argv, commands), args);
    return { code, out };
  } finally {
    for (const { stream, write: before, listeners } of streams) {
      stream.write = before;
      for (const listener of stream.listeners('error'))
        if (!listeners.includes(listener)) stream.off('error', listener as () => void);
    }
    process.chdir(cwd);
    Object.assign(process, { env: variables, argv, exitCode });
    isUnderWay = false;
  }
}

/**
 * Commands as they are typed, without a process for each: a command, by its first word, is started as one where a test file types it for the first
 * time, and from then on runs in this process, over the same files and services. Not for one that serves, or that waits for a signal.
 */
export function typedInFolder(
  line: Pick<CommandLine, 'done'>,
  folder: () => string,
  commands: Commands,
): CommandLine['done'] {
  const started = new Set<string>();
  return (args, env = {}) => {
    const [name = ''] = args;
    if (started.has(name)) return runHere(args, env, folder(), commands);
    started.add(name);
    return line.done(args, env);
  };
}
