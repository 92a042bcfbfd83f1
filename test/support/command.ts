import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { timePasses } from './waiting.js';

const GATE = fileURLToPath(new URL('../../bin/gate.mjs', import.meta.url));
const START_LIMIT_MS = 120_000;

export interface Command {
  readonly process: ChildProcess;
  /** What it wrote so far, both streams. */
  readonly out: () => string;
  readonly ended: Promise<number | null>;
}
export interface RunningLite extends Command {
  readonly url: string;
}

/** The command itself, in a folder, as somebody types it. */
export interface CommandLine {
  run(args: readonly string[], env?: Record<string, string>): Command;
  /** Runs to the end. */
  done(args: readonly string[], env?: Record<string, string>): Promise<{ code: number | null; out: string }>;
  /** `gate lite` on a free port, ready. Throws with what it said when it ends instead. */
  lite(args?: readonly string[], env?: Record<string, string>): Promise<RunningLite>;
  /** Ends what was started and still runs. */
  stop(): Promise<void>;
}

/** `user` runs everything as somebody else; only root can. */
export function commandLine(
  folder: () => string,
  { user = null, program = GATE }: { user?: { uid: number; gid: number } | null; program?: string } = {},
): CommandLine {
  const started: Command[] = [];
  const line: CommandLine = {
    run(args, env = {}) {
      const child = spawn(process.execPath, [program, ...args], {
        cwd: folder(),
        env: { PATH: process.env['PATH'] ?? '', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        ...user,
      });
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const command = {
        process: child,
        out: () => text,
        ended: new Promise<number | null>((resolve) => {
          child.on('close', resolve);
          child.on('error', (error) => {
            text += error.message;
            resolve(null);
          });
        }),
      };
      started.push(command);
      return command;
    },
    async done(args, env) {
      const command = line.run(args, env);
      return { code: await command.ended, out: command.out() };
    },
    async lite(args = [], env) {
      const command = line.run(['lite', '--port', '0', ...args], env);
      const limit = Date.now() + START_LIMIT_MS;
      for (;;) {
        const url = /ready at (\S+)/.exec(command.out())?.[1];
        if (url !== undefined) return { ...command, url };
        if (command.process.exitCode !== null || Date.now() > limit) throw new Error(command.out());
        await timePasses(25, 'until the next look');
      }
    },
    async stop() {
      for (const { process: child } of started)
        if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await Promise.all(started.splice(0).map(({ ended }) => ended));
    },
  };
  return line;
}
