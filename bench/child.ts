import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errorText } from '../domain/errors.js';

/** What a process of the benchmark can be asked. Arguments and results travel as structured clones. */
export type Questions = Readonly<Record<string, (argument: never) => Promise<unknown>>>;

type Asked<Q extends Questions> = {
  readonly [Name in keyof Q]: (...argument: Parameters<Q[Name]>) => ReturnType<Q[Name]>;
};

/** A process of the benchmark: each side of a comparison, and the load, has one of its own. */
export interface Child<Q extends Questions> {
  readonly pid: number;
  readonly ask: Asked<Q>;
  /** Asks it to end by itself, and ends it when it does not. */
  stop(): Promise<void>;
}

interface Message {
  readonly id: number;
  readonly question?: string;
  readonly argument?: unknown;
  readonly result?: unknown;
  readonly error?: string;
}

const STOP_LIMIT_MS = 20_000;

/** For the process that is measured: writes a CPU profile when it ends, into the folder that `GATE_BENCH_PROFILE` names. */
export const profiled = (): string[] =>
  process.env.GATE_BENCH_PROFILE
    ? ['--cpu-prof', '--cpu-prof-interval', '500', '--cpu-prof-dir', process.env.GATE_BENCH_PROFILE]
    : [];

/** Starts `module` (a compiled file beside this one) and talks to it over the process channel. A question rejects when the child ends. */
export function startChildProcess<Q extends Questions>(
  module: string,
  { env = {}, execArgv = [], directory }: { env?: NodeJS.ProcessEnv; execArgv?: string[]; directory?: string } = {},
): Child<Q> {
  const folder =
    directory === undefined ? new URL('.', import.meta.url) : pathToFileURL(`${resolve(directory)}/dist/bench/`);
  const child: ChildProcess = fork(fileURLToPath(new URL(module, folder)), [], {
    env: { ...process.env, ...env },
    execArgv,
    // Another copy finds its rules and personas where it lies.
    ...(directory !== undefined && { cwd: directory }),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let next = 0;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  void exited.then(() => {
    for (const { reject } of waiting.values())
      reject(new Error(`${module} ended (${child.signalCode ?? child.exitCode})`));
    waiting.clear();
  });
  child.on('message', ({ id, result, error }: Message) => {
    const asker = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asker?.resolve(result);
    else asker?.reject(new Error(`${module}: ${error}`));
  });
  const put = (question: string, argument: unknown) =>
    new Promise<unknown>((resolve, reject) => {
      next += 1;
      waiting.set(next, { resolve, reject });
      child.send({ id: next, question, argument } satisfies Message, (error) => error && reject(error));
    });
  return {
    pid: child.pid as number,
    ask: new Proxy({} as Asked<Q>, {
      get: (_, question) => (argument: unknown) => put(String(question), argument),
    }),
    async stop() {
      if (child.connected) child.disconnect();
      const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await exited;
      clearTimeout(limit);
    },
  };
}

/** The child's end: answers questions until the parent lets go, then cleans up and ends. */
export function answerQuestions<Q extends Questions>(answers: Q, cleanUp: () => Promise<void> = async () => undefined) {
  process.on('message', ({ id, question, argument }: Message) => {
    const answer = answers[question ?? ''];
    Promise.resolve()
      .then(() => {
        if (!answer) throw new Error(`no answer to ${question}`);
        return answer(argument as never);
      })
      .then(
        (result) => process.send?.({ id, result }),
        (error: unknown) => process.send?.({ id, error: errorText(error) }),
      );
  });
  process.once('disconnect', () => {
    cleanUp().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}

/** What this process holds once its garbage is collected: of its heap and its buffers, and the pages that it has. */
export function ownMemory(): OwnMemory {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // What is finalized by the first is freed by the second.
  collect();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { liveKib: (heapUsed + external) / 1024, residentKib: rss / 1024 };
}
export interface OwnMemory {
  readonly liveKib: number;
  readonly residentKib: number;
}

/** CPU time of this process since it began, milliseconds, threads included. */
export const ownCpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
