import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ConfigError, type Env, readGroups } from '../config/env.js';
import { readUpstreams } from '../config/upstreams.js';
import { START_SETTINGS } from './process-settings.js';
import { errorText } from '../domain/errors.js';
import { diskFault, nearestThere, writeIn } from '../adapters/store/writable.js';
import { presentTemporal } from './programs/find-program.js';
import { listenFault, portsOf } from './ports.js';
import { runningGate } from './single-instance.js';
import { unknownSettings } from './unknown-settings.js';

/** One thing that a start needs, as found on this machine. A `fault` prevents a start, a `warning` does not. */
export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warning' | 'fault';
  /** What was found, and what to do if it is not in order. */
  readonly detail: string;
}

const NODE_AT_LEAST = [20, 19] as const;
const MEGABYTE = 1024 * 1024;
/** A day of development writes some megabytes, and the engine's store needs room to grow; a full disk stops everything. */
const DISK_NEEDED = 200 * MEGABYTE;
const DISK_COMFORTABLE = 1024 * MEGABYTE;
/** What Go needs while it builds the engine, including sources and caches. */
const DISK_TO_BUILD = 3 * 1024 * MEGABYTE;
const LIMIT_MS = 3_000;
/** Files dated slightly after this clock are those of another machine over a shared folder. */
const CLOCK_SLACK_MS = 60_000;
/** No release is older than this; certificates made with a clock that was never set would be worthless. */
const CLOCK_AT_LEAST = Date.parse('2026-01-01T00:00:00Z');

/**
 * Checks everything that `gate start` needs, in the order in which a start would meet it, and changes nothing: Node, settings, the state
 * folder, disk, clock, the workflow engine's program, ports, and the database and tools that settings name.
 */
export async function examine(env: Env, nowMs = Date.now()): Promise<readonly Finding[]> {
  const stateDir = resolve(env['GATE_STATE_DIR'] || '.gate');
  const running = runningGate(join(stateDir, 'run', 'gate.pid'));
  const engine = await engineProgram(env);
  return [
    node(),
    settings(env),
    await stateFolder(stateDir, running),
    disk(stateDir, engine.building ? DISK_TO_BUILD : DISK_NEEDED),
    clock(stateDir, nowMs),
    engine.finding,
    ...(running === null ? await ports(env) : []),
    ...(await elsewhere(env)),
  ];
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const enough = major > NODE_AT_LEAST[0] || (major === NODE_AT_LEAST[0] && minor >= NODE_AT_LEAST[1]);
  return enough
    ? { what: 'Node', state: 'ok', detail: process.versions.node }
    : { what: 'Node', state: 'fault', detail: `${process.versions.node} is too old; install 20.19 or newer` };
}

/** What is set must be right; what is not set is created at the first start or has a default. */
function settings(env: Env): Finding {
  try {
    readGroups('gate start', START_SETTINGS, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const faults = error.faults.filter((fault) => !fault.endsWith(': is not set'));
    if (faults.length > 0)
      return {
        what: 'settings',
        state: 'fault',
        detail: `${faults.join('; ')}; \`gate config\` tells what each takes`,
      };
  }
  const unknown = unknownSettings(env);
  return unknown.length > 0
    ? { what: 'settings', state: 'warning', detail: unknown.join('; ') }
    : { what: 'settings', state: 'ok', detail: 'what is set can be read' };
}

async function stateFolder(stateDir: string, running: number | null): Promise<Finding> {
  const what = 'state folder';
  if (running !== null)
    return {
      what,
      state: 'fault',
      detail: `Gate runs over ${stateDir} already (process ${running}); a second one needs another GATE_STATE_DIR and other ports`,
    };
  const existing = nearestThere(stateDir);
  if (!statSync(existing).isDirectory())
    return { what, state: 'fault', detail: `${existing} is a file; set GATE_STATE_DIR to a folder` };
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
  } catch {
    return { what, state: 'fault', detail: `${existing} cannot be written by this user; set GATE_STATE_DIR elsewhere` };
  }
  try {
    await writeIn(existing);
  } catch (error) {
    return {
      what,
      state: 'fault',
      detail: `${existing} cannot be written: ${diskFault(error) ?? errorText(error)}; mend that, or set GATE_STATE_DIR elsewhere`,
    };
  }
  return {
    what,
    state: 'ok',
    detail: existsSync(stateDir) ? `${stateDir}, from an earlier start` : `${stateDir}, made at the first start`,
  };
}

const megabytes = (bytes: number): string => `${Math.floor(bytes / MEGABYTE)} MB`;

function disk(stateDir: string, needed: number): Finding {
  const what = 'disk';
  const { bavail, bsize } = statfsSync(nearestThere(stateDir));
  const free = bavail * bsize;
  const said = `${megabytes(free)} free at ${stateDir}`;
  if (free < needed)
    return {
      what,
      state: 'fault',
      detail: `${said}; ${megabytes(needed)} are needed: make room, or set GATE_STATE_DIR elsewhere`,
    };
  if (free < DISK_COMFORTABLE) return { what, state: 'warning', detail: `${said}; that does not last long` };
  return { what, state: 'ok', detail: said };
}

/** A clock that was set back would make new certificates, deadlines and rows older than the existing ones. */
function clock(stateDir: string, nowMs: number): Finding {
  const what = 'clock';
  const said = new Date(nowMs).toISOString();
  if (nowMs < CLOCK_AT_LEAST) return { what, state: 'fault', detail: `${said} cannot be: set this machine's clock` };
  const data = join(stateDir, 'data');
  const newest = existsSync(data)
    ? Math.max(0, ...readdirSync(data).map((name) => statSync(join(data, name)).mtimeMs))
    : 0;
  if (newest > nowMs + CLOCK_SLACK_MS)
    return {
      what,
      state: 'warning',
      detail: `${said}, but ${data} was written at ${new Date(newest).toISOString()}: was the clock put back?`,
    };
  return { what, state: 'ok', detail: said };
}

async function engineProgram(env: Env): Promise<{ finding: Finding; building: boolean }> {
  const what = 'workflow engine';
  if (env['GATE_TEMPORAL_ADDRESS'])
    return {
      finding: await reachable(what, env['GATE_TEMPORAL_ADDRESS'], 'GATE_TEMPORAL_ADDRESS'),
      building: false,
    };
  let path: string | null;
  try {
    path = await presentTemporal(env);
  } catch (error) {
    return { finding: { what, state: 'fault', detail: errorText(error) }, building: false };
  }
  if (path !== null) return { finding: { what, state: 'ok', detail: path }, building: false };
  const go = await goVersion(env);
  return {
    building: go !== null,
    finding: {
      what,
      state: 'warning',
      detail:
        go === null
          ? 'not here yet, and neither is Go: the first start downloads it, or set GATE_TEMPORAL_BIN to a Temporal CLI'
          : `not here yet: the first start builds it with ${go}, once, in 3 to 4 minutes; or set GATE_TEMPORAL_BIN to a Temporal CLI`,
    },
  };
}

async function goVersion(env: Env): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)('go', ['version'], { timeout: LIMIT_MS, env });
    return stdout.trim().replace(/^go version /, '');
  } catch {
    return null;
  }
}

/** Every port that `gate start` will listen on. One that is in use is reported with the setting that changes it. */
async function ports(env: Env): Promise<readonly Finding[]> {
  const wanted = portsOf(env);
  const taken: Finding[] = [];
  for (const { variable, port, host } of wanted) {
    const fault = await listenFault(host, port);
    if (fault !== null)
      taken.push({
        what: `port ${port}`,
        state: 'fault',
        detail: `${fault}; ${variable} moves it (0 takes a free one)`,
      });
  }
  if (taken.length > 0) return taken;
  const numbers = wanted.map(({ port }) => port).join(' ');
  return [
    {
      what: 'ports',
      state: 'ok',
      detail: wanted.length === 0 ? 'each is any free one' : `${wanted.length} free: ${numbers}`,
    },
  ];
}

type Named = readonly [what: 'database' | 'tools', variable: string, port: number, text: string | undefined];

/** What settings name on other machines; nothing is sent to it. */
async function elsewhere(env: Env): Promise<readonly Finding[]> {
  const named: readonly Named[] = [
    ['database', 'GATE_DATABASE_URL', 5432, env.GATE_DATABASE_URL],
    ['tools', 'GATE_UPSTREAM_URL', 80, env.GATE_UPSTREAM_URL],
    ...severalTools(env),
  ];
  const found: Finding[] = [];
  for (const [what, variable, port, text] of named) {
    // An invalid address is a fault of the settings and reported there.
    if (!text || !URL.canParse(text) || !/^(https?|postgres(ql)?):$/.test(new URL(text).protocol)) continue;
    const url = new URL(text);
    const finding = await reachable(
      what,
      `${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : port)}`,
      variable,
    );
    // A start without reachable tools succeeds too; their calls are answered with 502 until they are up.
    found.push(
      what === 'tools' && finding.state === 'fault'
        ? {
            ...finding,
            state: 'warning',
            detail: `${finding.detail}; Gate starts all the same, and calls to tools fail until then`,
          }
        : finding,
    );
  }
  return found;
}

/** The addresses in the file of several upstreams; a file with a fault is a fault of the settings. */
function severalTools({ GATE_UPSTREAMS: file }: Env): readonly Named[] {
  if (!file) return [];
  try {
    return readUpstreams(file).flatMap((entry) =>
      'url' in entry ? [['tools', `GATE_UPSTREAMS: ${entry.name}`, 80, entry.url]] : [],
    );
  } catch {
    return [];
  }
}

async function reachable(what: string, address: string, variable: string): Promise<Finding> {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(address.slice(at + 1)) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(LIMIT_MS) });
    return { what, state: 'ok', detail: `${address} answers` };
  } catch (error) {
    const { code = 'no answer' } = error as NodeJS.ErrnoException;
    return {
      what,
      state: 'fault',
      detail: `${address} (${variable}) cannot be reached: ${code === 'ABORT_ERR' ? 'no answer' : code}`,
    };
  } finally {
    socket.destroy();
  }
}
