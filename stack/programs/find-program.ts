import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  createReadStream,
  createWriteStream,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { Env } from '../../config/env.js';
import { errorText } from '../../domain/errors.js';
import { PUBLIC_FILE, replaceFile } from '../../adapters/store/durable-file.js';
import { buildProgress } from './build-progress.js';
import { withFileLock } from '../file-lock.js';
import { PROJECT_ROOT } from '../../config/project-root.js';

export interface FindOptions {
  /** Called with one line each while something takes long. */
  readonly onProgress: (line: string) => void;
  readonly env?: Env;
  /** The last resort; tests replace it. */
  readonly download?: (url: string, headers: Record<string, string>) => Promise<DownloadReply>;
}

/** The part of a fetch answer that a download needs. */
export interface DownloadReply {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: Parameters<typeof Readable.fromWeb>[0] | null;
  text(): Promise<string>;
}

interface Program {
  readonly name: 'temporal' | 'opa';
  /** As whoever installs it finds it. */
  readonly fullName: string;
  readonly variable: string;
  readonly goPackage: string;
  readonly buildTime: string;
  /** How many Go packages it is made of at the pinned version (`go list -deps`). */
  readonly packages: number;
  readonly versionArgs: readonly string[];
  /** Captures major and minor; `null` match: it is another program of that name. */
  readonly versionPattern: RegExp;
  readonly minimum: readonly [number, number];
  readonly minimumText: string;
  readonly downloadFrom: string;
  /** Downloads the program to `target`. */
  readonly fetchInto: (target: string, tools: DownloadTools) => Promise<void>;
}

interface DownloadTools {
  readonly readJson: (url: string) => Promise<unknown>;
  readonly readText: (url: string) => Promise<string>;
  /** Resumes where an earlier, interrupted download of the same `key` ended. */
  readonly readFile: (url: string, key: string) => Promise<string>;
}

const TEMPORAL_VERSION = 'v1.5.1';
export const OPA_VERSION = 'v1.22.0';
const CHECK_LIMIT_MS = 20_000;
const PROGRESS_EVERY_MS = 5_000;
const BUILD_LIMIT_MS = 30 * 60_000;
const run = promisify(execFile);

const PROGRAMS: Readonly<Record<Program['name'], Program>> = {
  temporal: {
    name: 'temporal',
    fullName: 'the Temporal CLI',
    variable: 'GATE_TEMPORAL_BIN',
    goPackage: `github.com/temporalio/cli/cmd/temporal@${TEMPORAL_VERSION}`,
    buildTime: 'the first build takes 3 to 4 minutes on two cores',
    packages: 1_298,
    versionArgs: ['--version'],
    versionPattern: /^temporal version .*\(Server (\d+)\.(\d+)/m,
    // Update-with-start, which every call uses, is generally available from here on.
    minimum: [1, 28],
    minimumText: 'server 1.28',
    downloadFrom: 'temporal.download',
    fetchInto: downloadTemporal,
  },
  opa: {
    name: 'opa',
    fullName: 'the Open Policy Agent',
    variable: 'GATE_OPA_BIN',
    goPackage: `github.com/open-policy-agent/opa@${OPA_VERSION}`,
    buildTime: 'the first build takes about a minute on two cores',
    packages: 768,
    versionArgs: ['version'],
    versionPattern: /^Version: (\d+)\.(\d+)/m,
    minimum: [1, 0],
    minimumText: 'version 1.0',
    downloadFrom: 'the OPA release page',
    fetchInto: downloadOpa,
  },
};

/**
 * The path of a Temporal CLI that can run the development server. Looks in `GATE_TEMPORAL_BIN`, PATH and the cache folder
 * (`GATE_CACHE_DIR`, default `.cache/bin`); otherwise builds it there with `go install`, or downloads it there. Safe to run in two
 * processes at once and to interrupt: the next run continues. Throws one line that lists what was tried. A variable that is set and does
 * not work is an error, never skipped.
 */
export const findTemporal = (options: FindOptions): Promise<string> => find(PROGRAMS.temporal, options);

/** The path of the OPA compiler, for editing the rules that ship and for tests; found like `findTemporal`, by `GATE_OPA_BIN`. */
export const findOpa = (options: FindOptions): Promise<string> => find(PROGRAMS.opa, options);

/**
 * Where a Temporal CLI already is on this machine, or `null`; nothing is built or downloaded. Throws like `findTemporal` for a variable
 * that does not work.
 */
export const presentTemporal = async (env: Env): Promise<string | null> => (await present(PROGRAMS.temporal, env)).path;

/** Where the OPA compiler already is, or `null`, like `presentTemporal`. */
export const presentOpa = async (env: Env): Promise<string | null> => (await present(PROGRAMS.opa, env)).path;

export const cacheFolder = (env: Env): string => resolve(PROJECT_ROOT, env['GATE_CACHE_DIR'] || join('.cache', 'bin'));

/** The program that was found, or where it was looked for. */
async function present(program: Program, env: Env): Promise<{ path: string | null; tried: string[] }> {
  const configured = env[program.variable];
  if (configured) {
    const fault = await faultOf(program, configured, env);
    if (fault) throw new Error(`${program.variable} is ${configured}, which ${fault}`);
    return { path: configured, tried: [] };
  }
  const tried = [`${program.variable} (not set)`];
  const onPath = await firstOnPath(program, env);
  if (onPath.path) return { path: onPath.path, tried };
  tried.push(`PATH (${onPath.fault})`);
  const cached = join(cacheFolder(env), executable(program.name));
  return { path: (await faultOf(program, cached, env)) === null ? cached : null, tried };
}

async function find(program: Program, options: FindOptions): Promise<string> {
  const env = options.env ?? process.env;
  const { path, tried } = await present(program, env);
  if (path !== null) return path;
  const cache = cacheFolder(env);
  const cached = join(cache, executable(program.name));
  return withFileLock(
    join(cache, `${program.name}.lock`),
    {
      timeoutMs: 2 * BUILD_LIMIT_MS,
      onWait: (holder, waitedMs) => {
        if (Math.round(waitedMs / 1_000) % 5 === 0)
          options.onProgress(
            `${program.name}: process ${holder} is fetching it already, waiting (${seconds(waitedMs)})`,
          );
      },
    },
    async () => {
      const fault = await faultOf(program, cached, env);
      if (!fault) return cached;
      tried.push(`${cache} (${fault})`);
      for (const [source, obtain] of [
        [`go install ${program.goPackage}`, () => goInstall(program, cache, env, options.onProgress)],
        [`download from ${program.downloadFrom}`, () => download(program, cache, options)],
      ] as const) {
        try {
          const fresh = await obtain();
          const broken = await faultOf(program, fresh, env);
          if (broken) throw new Error(`what it made ${broken}`);
          renameSync(fresh, cached);
          options.onProgress(`${program.name}: ready in ${cached}`);
          return cached;
        } catch (error) {
          options.onProgress(`${program.name}: ${source} did not work: ${oneLine(errorText(error))}`);
          tried.push(`${source} (${oneLine(errorText(error))})`);
        }
      }
      throw new Error(
        `${program.name} was not found and could not be made; tried ${tried.join(', ')}. Install ${program.fullName} (\`${program.name}\`, ${program.minimumText} or newer) and set ${program.variable} to its path.`,
      );
    },
  );
}

/** What is wrong with the program at `path`, as the end of a sentence; `null` when it works. */
async function faultOf(program: Program, path: string, env: Env): Promise<string | null> {
  let stamp: string;
  try {
    const found = statSync(path);
    if (!found.isFile()) return 'is not a file';
    stamp = [path, found.size, found.mtimeMs, found.ctimeMs, found.ino].join(' ');
    accessSync(path, constants.X_OK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'may not be executed';
  }
  const note = join(cacheFolder(env), `${program.name}.version.json`);
  let text = notedText(note, stamp);
  if (text === null) {
    try {
      text = (await run(path, [...program.versionArgs], { timeout: CHECK_LIMIT_MS })).stdout;
    } catch (error) {
      return `does not run: ${oneLine(errorText(error))}`;
    }
    keepNote(note, { stamp, text });
  }
  const version = program.versionPattern.exec(text);
  if (!version) return `is not ${program.name}`;
  const [major, minor] = [Number(version[1]), Number(version[2])];
  const [wantMajor, wantMinor] = program.minimum;
  if (major < wantMajor || (major === wantMajor && minor < wantMinor))
    return `is too old (${major}.${minor}); ${program.minimumText} or newer is needed`;
  return null;
}

/** What the same file reported as its version before, so that a start need not run it again. */
function notedText(note: string, stamp: string): string | null {
  try {
    const noted = JSON.parse(readFileSync(note, 'utf8')) as { stamp?: unknown; text?: unknown };
    return noted.stamp === stamp && typeof noted.text === 'string' ? noted.text : null;
  } catch {
    return null;
  }
}

function keepNote(note: string, noted: { readonly stamp: string; readonly text: string }): void {
  try {
    replaceFile(note, JSON.stringify(noted), PUBLIC_FILE);
  } catch {
    // In a folder that cannot be written, the program is asked each time.
  }
}

async function firstOnPath(program: Program, env: Env): Promise<{ path: string | null; fault: string }> {
  let fault = 'none there';
  for (const folder of (env['PATH'] ?? '').split(delimiter).filter((entry) => entry !== '')) {
    const path = join(folder, executable(program.name));
    const problem = await faultOf(program, path, env);
    if (problem === null) return { path, fault: '' };
    if (problem !== 'does not exist') fault = `${path} ${problem}`;
  }
  return { path: null, fault };
}

/** Builds into a folder of its own, so that a half-built program is never taken for a whole one. Go's caches make a second try short. */
async function goInstall(
  program: Program,
  cache: string,
  env: Env,
  onProgress: (line: string) => void,
): Promise<string> {
  const folder = join(cache, `${program.name}.building`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const started = Date.now();
  const progress = buildProgress(program.packages);
  let unfinished = '';
  const child = spawn('go', ['install', '-v', '-ldflags=-s -w', program.goPackage], {
    env: { ...env, GOBIN: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000);
    const lines = (unfinished + text).split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) progress.read(line.trim(), Date.now() - started);
  });
  onProgress(`${program.name}: building ${program.goPackage} with go install; ${program.buildTime}`);
  const ticker = setInterval(
    () => onProgress(`${program.name}: ${progress.line(Date.now() - started)}`),
    PROGRESS_EVERY_MS,
  );
  const limit = setTimeout(() => child.kill(), BUILD_LIMIT_MS);
  try {
    const code = await exitOf(child);
    if (code !== 0) throw new Error(`go ended with ${code}: ${lastLines(complaint)}`);
    const built = join(cache, `${program.name}.built`);
    renameSync(join(folder, executable(program.name)), built);
    return built;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === 'spawn go')
      throw new Error('go is not installed', { cause: error });
    throw error;
  } finally {
    clearInterval(ticker);
    clearTimeout(limit);
    rmSync(folder, { recursive: true, force: true });
  }
}

const exitOf = (child: ChildProcess): Promise<number | string> =>
  new Promise((settle, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => settle(code ?? signal ?? 'nothing'));
  });

async function download(program: Program, cache: string, options: FindOptions): Promise<string> {
  const get = options.download ?? proxiedFetch();
  const request = async (url: string, headers: Record<string, string> = {}): Promise<DownloadReply> => {
    const reply = await get(url, headers);
    if (reply.status !== 200 && reply.status !== 206) throw new Error(`${new URL(url).host} answered ${reply.status}`);
    return reply;
  };
  mkdirSync(cache, { recursive: true });
  const target = join(cache, `${program.name}.downloaded`);
  await program.fetchInto(target, {
    readJson: async (url) => JSON.parse(await (await request(url)).text()) as unknown,
    readText: async (url) => (await request(url)).text(),
    readFile: async (url, key) => {
      const part = join(cache, `${key}.part`);
      const have = statSync(part, { throwIfNoEntry: false })?.size ?? 0;
      const reply = await request(url, have > 0 ? { range: `bytes=${have}-` } : {});
      const resumed = reply.status === 206;
      if (!reply.body) throw new Error(`${new URL(url).host} sent no body`);
      const total = Number(reply.headers.get('content-length') ?? 0) + (resumed ? have : 0);
      options.onProgress(`${program.name}: downloading ${url}${resumed ? `, going on at ${megabytes(have)}` : ''}`);
      let received = resumed ? have : 0;
      const ticker = setInterval(
        () =>
          options.onProgress(`${program.name}: ${megabytes(received)}${total > 0 ? ` of ${megabytes(total)}` : ''}`),
        PROGRESS_EVERY_MS,
      );
      try {
        const counted = Readable.fromWeb(reply.body).on('data', (chunk: Buffer) => {
          received += chunk.length;
        });
        await pipeline(counted, createWriteStream(part, { flags: resumed ? 'a' : 'w' }));
      } finally {
        clearInterval(ticker);
      }
      return part;
    },
  });
  chmodSync(target, 0o755);
  return target;
}

function proxiedFetch(): NonNullable<FindOptions['download']> {
  return async (url, headers) => {
    // Loaded for a download alone: every start looks for the program, and nearly all find it.
    const { EnvHttpProxyAgent, fetch } = await import('undici');
    const dispatcher = new EnvHttpProxyAgent();
    try {
      return (await fetch(url, { headers, dispatcher })) as unknown as DownloadReply;
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      throw new Error(`${new URL(url).host} cannot be reached: ${errorText(cause ?? error)}`, { cause: error });
    }
  };
}

/** Asks the service that Temporal's own testing package uses for the archive of this platform, then unpacks the one program. */
async function downloadTemporal(target: string, { readJson, readFile }: DownloadTools): Promise<void> {
  const { platform, arch } = machine();
  const info = await readJson(
    `https://temporal.download/cli/${TEMPORAL_VERSION}?${new URLSearchParams({ arch, platform, format: 'tar.gz' }).toString()}`,
  );
  const { archiveUrl, fileToExtract } = info as { archiveUrl?: unknown; fileToExtract?: unknown };
  if (typeof archiveUrl !== 'string' || typeof fileToExtract !== 'string' || !archiveUrl.startsWith('https://'))
    throw new Error('the download service named no archive');
  const archive = await readFile(archiveUrl, `temporal-${TEMPORAL_VERSION}-${platform}-${arch}.tar.gz`);
  const folder = `${target}.${randomUUID()}`;
  mkdirSync(folder);
  try {
    await run('tar', ['-xzf', archive, '-C', folder, fileToExtract]);
    renameSync(join(folder, fileToExtract), target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    // A damaged archive is not resumed but fetched anew.
    rmSync(archive, { force: true });
  }
}

async function downloadOpa(target: string, { readText, readFile }: DownloadTools): Promise<void> {
  const { platform, arch } = machine();
  const file =
    platform === 'windows'
      ? `opa_windows_${arch}.exe`
      : `opa_${platform}_${arch}${platform === 'darwin' && arch === 'amd64' ? '' : '_static'}`;
  const url = `https://github.com/open-policy-agent/opa/releases/download/${OPA_VERSION}/${file}`;
  const expected = (await readText(`${url}.sha256`)).trim().split(/\s+/)[0];
  const part = await readFile(url, `opa-${OPA_VERSION}-${file}`);
  const hash = createHash('sha256');
  await pipeline(createReadStream(part), hash);
  const actual = hash.digest('hex');
  if (actual !== expected) {
    rmSync(part, { force: true });
    throw new Error(`the digest of ${file} is ${actual}, not the published ${expected}`);
  }
  renameSync(part, target);
}

function machine(): { platform: 'linux' | 'darwin' | 'windows'; arch: 'amd64' | 'arm64' } {
  const platform = ({ linux: 'linux', darwin: 'darwin', win32: 'windows' } as const)[process.platform as string];
  const arch = ({ x64: 'amd64', arm64: 'arm64' } as const)[process.arch as string];
  if (!platform || !arch) throw new Error(`there is no build for ${process.platform} on ${process.arch}`);
  return { platform, arch };
}

const executable = (name: string): string => (process.platform === 'win32' ? `${name}.exe` : name);
const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
const megabytes = (bytes: number): string => `${Math.round(bytes / 1_000_000)} MB`;
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 300);
const lastLines = (text: string): string => oneLine(text.trim().split('\n').slice(-3).join(' '));
