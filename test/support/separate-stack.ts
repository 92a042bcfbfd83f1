import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import type { ServiceDeclaration } from '../../api/plugins/declaration.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { DevelopmentFile } from '../../stack/development-file.js';
import { defaultPort } from '../../stack/process-settings.js';
import { findTemporal } from '../../stack/programs/find-program.js';
import { freePort } from '../../stack/programs/free-port.js';
import { startTemporal, type TemporalServer } from '../../stack/programs/temporal-server.js';
import { SERVICES } from '../../stack/services.js';
import { type ClaimsEngine, startClaimsEngine } from './claims-engine.js';
import { type ComposeService, filesOf, readCompose } from './compose.js';
import { endsWithThisProcess } from './ends-with-this-process.js';
import { hasGo } from './go-program.js';
import { startPostgres, type TestPostgres } from './postgres.js';
import { bareEnvironment, type ToolsState } from './stack.js';
import { timePasses } from './waiting.js';

export interface RunningProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<number | string>;
  output(): string;
}

/**
 * The services of docker-compose.yml, command and environment as they stand there, as processes of this machine: only addresses, ports and
 * folders are this machine's. A real Postgres, and the engine of deploy/temporal; where no Go builds that, the development server behind mutual TLS.
 */
export interface SeparateStack {
  readonly folder: string;
  readonly postgres: TestPostgres;
  /** What the operator's container has of the stack. */
  readonly development: DevelopmentFile;
  /** By service. */
  readonly running: Map<string, RunningProcess>;
  /** Of a name of the container network, `proxy:8443`. */
  portOf(name: string): Promise<number>;
  /** The same of a name that is known. */
  port(name: string): number;
  /** On which a service answers probes. */
  healthPort(name: string): number;
  /** A file of a container: a certificate, a secret. */
  file(container: string, name: string): string;
  environmentOf(name: string): NodeJS.ProcessEnv;
  start(name: string, more?: NodeJS.ProcessEnv): RunningProcess;
  /** Waits for 200 on /readyz; a process that ended meanwhile says why. */
  ready(name: string): Promise<void>;
  /** kill -9. */
  killed(name: string): Promise<void>;
  /** Starts it again, and waits until it is ready. */
  back(name: string, more?: NodeJS.ProcessEnv): Promise<void>;
  /** A command of a person; gives the JSON that it printed. */
  operator<T>(...args: string[]): Promise<T>;
  tools(): Promise<ToolsState>;
  stop(): Promise<void>;
}

const compose = readCompose();
const afterItsNeighbours = ({ name, neighbours }: Pick<ServiceDeclaration, 'name' | 'neighbours'>): number =>
  name === 'identity' ? 0 : Math.max(1, ...neighbours.map((neighbour) => 1 + afterItsNeighbours(neighbour)));
/** Whoever asks another stands behind it, and everybody behind identity. */
export const CONTAINERS: readonly string[] = [
  'tools',
  ...SERVICES.toSorted((one, other) => afterItsNeighbours(one) - afterItsNeighbours(other)).map(({ name }) => name),
];

/** Its listeners move to the free ports that its neighbours are told. */
const listensOn: Readonly<Record<string, { variable: string; port: number; health: number }>> = Object.fromEntries(
  SERVICES.map((service) => {
    const health = new URL(String(compose.services[service.name]?.environment?.['GATE_HEALTHCHECK_URL'])).port;
    return [service.name, { variable: service.prefix, port: defaultPort(service) ?? 0, health: Number(health) }];
  }),
);

/** `settings` are more of them for single services. */
export async function startSeparateStack(
  settings: Readonly<Record<string, NodeJS.ProcessEnv>> = {},
): Promise<SeparateStack> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-separate-'));
  const ports = new Map<string, number>();
  const running = new Map<string, RunningProcess>();
  let postgres: TestPostgres | null = null;
  let engine: TemporalServer | ClaimsEngine | null = null;
  let engineDoor: Server | null = null;

  async function portOf(name: string): Promise<number> {
    const known = ports.get(name);
    if (known !== undefined) return known;
    const port = await freePort();
    ports.set(name, port);
    return port;
  }
  const port = (name: string): number => {
    const known = ports.get(name);
    if (known === undefined) throw new Error(`no port is known of ${name}`);
    return known;
  };
  const healthPort = (name: string) => port(`${name}:${listensOn[name]?.health}`);
  const file = (container: string, name: string) => readFileSync(join(folder, 'out', container, name), 'utf8');

  /** What a container would find, said for this machine. */
  function here(service: ComposeService, text: string, database: string): string {
    const files = filesOf(service) ?? '';
    let said = text
      .replaceAll('/run/gate', join(folder, 'out', files))
      .replace(/^\/app\//, `${PROJECT_ROOT}/`)
      .replace('0.0.0.0', '127.0.0.1')
      .replace('--owner=1000:1000', `--owner=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`)
      .replace('--database=postgres:5432/gate', `--database=${database}`)
      .replace('=/out', `=${join(folder, 'out')}`)
      .replace('=/data', `=${join(folder, 'tools')}`)
      .replace(/^\/state$/, join(folder, 'state'))
      .replace(/^\/state\/certificate$/, join(folder, 'certificates', files));
    for (const [name, moved] of ports) said = said.replaceAll(name, `localhost:${moved}`);
    return said.replace('--port=9000', `--port=${ports.get('tools:9000')}`);
  }
  const databaseHere = (): string => {
    const { host, pathname, search } = new URL(postgres!.url);
    return `${host}${pathname}${search}`;
  };

  function environmentOf(name: string): NodeJS.ProcessEnv {
    const service = compose.services[name] as ComposeService;
    const listener = listensOn[name];
    const own = Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([variable, value]) => [
        variable,
        here(service, String(value), databaseHere()),
      ]),
    );
    return {
      ...bareEnvironment(),
      ...own,
      GATE_LOG_LEVEL: 'warn',
      // The demonstration tools stand elsewhere here than where the shipped data classes them.
      ...(service.environment?.['GATE_UPSTREAM_URL'] && { GATE_UPSTREAM_NAME: 'demo' }),
      ...(listener && {
        ...(listener.port > 0 && { [`${listener.variable}_PORT`]: String(ports.get(`${name}:${listener.port}`)) }),
        [`${listener.variable}_HEALTH_PORT`]: String(ports.get(`${name}:${listener.health}`)),
      }),
      ...settings[name],
    };
  }

  function start(name: string, more: NodeJS.ProcessEnv = {}, args: readonly string[] | null = null): RunningProcess {
    const service = compose.services[name] as ComposeService;
    const [program, ...first] = service.entrypoint ?? ['node', '/app/bin/gate.mjs'];
    const child = spawn(
      program === 'node' ? process.execPath : (program as string),
      [...first, ...(args ?? service.command ?? [])].map((part) => here(service, part, databaseHere())),
      { cwd: PROJECT_ROOT, env: { ...environmentOf(name), ...more }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number | string>((resolve) => {
      child.once('close', (code, signal) => resolve(code ?? signal ?? 'nothing'));
    });
    if (child.pid !== undefined) endsWithThisProcess(child.pid, ended);
    return { child, ended, output: () => output };
  }

  /** A job, or a command of a person: runs to its end. Gives what it printed. */
  async function finish(name: string, more: NodeJS.ProcessEnv = {}, args: readonly string[] | null = null) {
    const job = start(name, more, args);
    const code = await job.ended;
    if (code !== 0) throw new Error(`${name} ended with ${code}: ${job.output()}`);
    return job.output();
  }

  async function ready(name: string): Promise<void> {
    const process_ = running.get(name) as RunningProcess;
    const address = `http://localhost:${healthPort(name)}/readyz`;
    let last = 'no answer';
    const deadline = Date.now() + 120_000;
    for (;;) {
      if (process_.child.exitCode !== null) throw new Error(`${name} ended: ${process_.output()}`);
      try {
        const reply = await fetch(address);
        last = await reply.text();
        if (reply.status === 200) return;
      } catch {
        // It does not listen yet.
      }
      if (Date.now() > deadline) throw new Error(`${name} is not ready: ${last}\n${process_.output()}`);
      await timePasses(100, 'until the next look');
    }
  }

  async function killed(name: string): Promise<void> {
    const { child, ended } = running.get(name) as RunningProcess;
    child.kill('SIGKILL');
    await ended;
  }

  async function back(name: string, more: NodeJS.ProcessEnv = {}): Promise<void> {
    running.set(name, start(name, more));
    await ready(name);
  }

  /** The engine's listener as the containers meet it: mutual TLS, certificates of the engine's CA only. */
  function openEngineDoor(address: string): Promise<Server> {
    const [host, at] = address.split(':') as [string, string];
    const door = createTlsServer(
      {
        ca: file('temporal', 'engine-ca.crt'),
        cert: file('temporal', 'engine.crt'),
        key: file('temporal', 'engine.key'),
        requestCert: true,
        rejectUnauthorized: true,
        ALPNProtocols: ['h2'],
      },
      (socket) => {
        const through = connect(Number(at), host);
        socket.pipe(through).pipe(socket);
        socket.on('error', () => through.destroy());
        through.on('error', () => socket.destroy());
      },
    );
    return new Promise((open) => door.listen(ports.get('temporal:7233'), '127.0.0.1', () => open(door)));
  }

  async function stop(): Promise<void> {
    for (const { child, ended } of [...running.values()].reverse())
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await ended;
      }
    engineDoor?.close();
    await engine?.stop();
    await postgres?.stop();
    await rm(folder, { recursive: true, force: true });
  }

  try {
    postgres = await startPostgres();
    for (const [name, { port: own, health }] of Object.entries(listensOn))
      for (const each of [own, health]) if (each > 0) await portOf(`${name}:${each}`);
    for (const name of ['tools:9000', 'temporal:7233']) await portOf(name);

    await finish('certificates');
    // The test's Postgres has no second database for an engine that is not kept there.
    await finish('prepare-database', {
      GATE_ADMIN_DATABASE_URL_FILE: '',
      GATE_ADMIN_DATABASE_URL: postgres.url,
      GATE_DATABASE_ROLES_FILE: '',
      GATE_DATABASE_ROLES: file('prepare', 'database-roles')
        .split(',')
        .filter((role) => !role.startsWith('temporal:'))
        .join(','),
    });
    if (await hasGo())
      engine = await startClaimsEngine({
        folder: join(folder, 'engine'),
        files: join(folder, 'out', 'temporal'),
        port: port('temporal:7233'),
      });
    else {
      engine = await startTemporal({
        binary: await findTemporal({ onProgress: () => undefined }),
        stateDir: join(folder, 'engine'),
        port: await freePort(),
        uiPort: null,
        namespace: 'unused',
        dbFile: null,
      });
      engineDoor = await openEngineDoor(engine.address);
    }
    await finish('prepare-engine');

    for (const name of CONTAINERS) running.set(name, start(name));
    const view = join(folder, 'out', 'operator', 'dev.json');
    const said = here(compose.services['operator'] as ComposeService, file('operator', 'dev.json'), databaseHere());
    rmSync(view);
    writeFileSync(view, said);
    await Promise.all(Object.keys(listensOn).map((name) => ready(name)));
    return {
      folder,
      postgres,
      development: JSON.parse(said) as DevelopmentFile,
      running,
      portOf,
      port,
      healthPort,
      file,
      environmentOf,
      start,
      ready,
      killed,
      back,
      operator: async <T>(...args: string[]): Promise<T> =>
        JSON.parse(await finish('operator', {}, [...args, '--json'])) as T,
      tools: async () => (await (await fetch(`http://localhost:${port('tools:9000')}/state`)).json()) as ToolsState,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
