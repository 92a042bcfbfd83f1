import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import pg from 'pg';
import type { ServiceDeclaration } from '../../api/plugins/declaration.js';
import { enrollment, issuedSvid } from '../../contracts/identity.js';
import type { JsonObject } from '../../contracts/json.js';
import { uuidFromDigest } from '../../domain/crypto/digest.js';
import type { LedgerEntry, VerifyResult } from '../../contracts/ledger.js';
import type { PendingRequest } from '../../contracts/review.js';
import { findTemporal } from '../../stack/programs/find-program.js';
import { freePort } from '../../stack/programs/free-port.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { defaultPort } from '../../stack/process-settings.js';
import { SERVICES } from '../../stack/services.js';
import { startTemporal, type TemporalServer } from '../../stack/programs/temporal-server.js';
import { type AgentClient, createAgentClient, createHttp, type Http, type Reply } from '../support/agent.js';
import { certificateRequest } from '../support/certificate-request.js';
import { filesOf, gateServices, readCompose, type ComposeService } from '../support/compose.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { bareEnvironment, STACK_START_LIMIT_MS, type ToolsState } from '../support/stack.js';
import { eventually, timePasses } from '../support/waiting.js';

/**
 * The services of docker-compose.yml, command and environment as they stand there, as processes of this machine: only addresses, ports and
 * folders are this machine's. A real Postgres, and a real engine behind mutual TLS.
 */
const compose = readCompose();
const afterItsNeighbours = ({ name, neighbours }: Pick<ServiceDeclaration, 'name' | 'neighbours'>): number =>
  name === 'identity' ? 0 : Math.max(1, ...neighbours.map((neighbour) => 1 + afterItsNeighbours(neighbour)));
/** Whoever asks another stands behind it, and everybody behind identity. */
const CONTAINERS: readonly string[] = [
  'tools',
  ...SERVICES.toSorted((one, other) => afterItsNeighbours(one) - afterItsNeighbours(other)).map(({ name }) => name),
];

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<number | string>;
  output(): string;
}

let folder: string;
let postgres: TestPostgres;
let engine: TemporalServer;
let engineDoor: Server;
let agent: AgentClient;
/** A worker that shows the engine its certificate of the data plane. */
let refused: Running;
const ports = new Map<string, number>();
const running = new Map<string, Running>();

/** A port per name of the container network. */
async function portOf(name: string): Promise<number> {
  const known = ports.get(name);
  if (known !== undefined) return known;
  const port = await freePort();
  ports.set(name, port);
  return port;
}

/** What a container would find, said for this machine. */
function here(service: ComposeService, text: string): string {
  const files = filesOf(service);
  let said = text
    .replaceAll('/run/gate', join(folder, 'out', files ?? ''))
    .replace(/^\/app\//, `${PROJECT_ROOT}/`)
    .replace('0.0.0.0', '127.0.0.1')
    .replace('--owner=1000:1000', `--owner=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`)
    .replace('--database=postgres:5432/gate', `--database=${databaseHere()}`)
    .replace('=/out', `=${join(folder, 'out')}`)
    .replace('=/data', `=${join(folder, 'tools')}`)
    .replace(/^\/state$/, join(folder, 'state'))
    .replace(/^\/state\/certificate$/, join(folder, 'certificates', files ?? ''));
  for (const [name, port] of ports) said = said.replaceAll(name, `localhost:${port}`);
  return said.replace('--port=9000', `--port=${ports.get('tools:9000')}`);
}

const databaseHere = (): string => {
  const { host, pathname, search } = new URL(postgres.url);
  return `${host}${pathname}${search}`;
};

/** Its listeners move to the free ports that its neighbours are told. */
const listensOn: Readonly<Record<string, { variable: string; port: number; health: number }>> = Object.fromEntries(
  SERVICES.map((service) => {
    const health = new URL(String(compose.services[service.name]?.environment?.['GATE_HEALTHCHECK_URL'])).port;
    return [service.name, { variable: service.prefix, port: defaultPort(service) ?? 0, health: Number(health) }];
  }),
);

function environmentOf(name: string): NodeJS.ProcessEnv {
  const service = compose.services[name] as ComposeService;
  const listener = listensOn[name];
  const own = Object.fromEntries(
    Object.entries(service.environment ?? {}).map(([variable, value]) => [variable, here(service, String(value))]),
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
  };
}

function start(name: string, more: NodeJS.ProcessEnv = {}, args: readonly string[] | null = null): Running {
  const service = compose.services[name] as ComposeService;
  const [program, ...first] = service.entrypoint ?? ['node', '/app/bin/gate.mjs'];
  const child = spawn(
    program === 'node' ? process.execPath : (program as string),
    [...first, ...(args ?? service.command ?? [])].map((part) => here(service, part)),
    { cwd: PROJECT_ROOT, env: { ...environmentOf(name), ...more }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'nothing'));
  });
  return { child, ended, output: () => output };
}

/** A job, or a command of a person: runs to its end. Gives what it printed. */
async function finish(name: string, more: NodeJS.ProcessEnv = {}, args: readonly string[] | null = null) {
  const job = start(name, more, args);
  const code = await job.ended;
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${job.output()}`);
  return job.output();
}

const operator = async <T>(...args: string[]): Promise<T> =>
  JSON.parse(await finish('operator', {}, [...args, '--json'])) as T;

const tools = async (): Promise<ToolsState> =>
  (await (await fetch(`http://localhost:${ports.get('tools:9000')}/state`)).json()) as ToolsState;

/** The engine's listener as the containers meet it: mutual TLS, certificates of the engine's CA only. */
function openEngineDoor(address: string): Promise<Server> {
  const file = (name: string) => readFileSync(join(folder, 'out', 'temporal', name));
  const [host, port] = address.split(':') as [string, string];
  const door = createTlsServer(
    {
      ca: file('engine-ca.crt'),
      cert: file('engine.crt'),
      key: file('engine.key'),
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['h2'],
    },
    (socket) => {
      const through = connect(Number(port), host);
      socket.pipe(through).pipe(socket);
      socket.on('error', () => through.destroy());
      through.on('error', () => socket.destroy());
    },
  );
  return new Promise((open) => door.listen(ports.get('temporal:7233'), '127.0.0.1', () => open(door)));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-separate-'));
  postgres = await startPostgres();
  for (const [name, { port, health }] of Object.entries(listensOn))
    for (const each of [port, health]) if (each > 0) await portOf(`${name}:${each}`);
  for (const name of ['tools:9000', 'temporal:7233']) await portOf(name);

  await finish('certificates');
  // The test's Postgres has no second database for an engine that is not kept there.
  const roles = readFileSync(join(folder, 'out', 'prepare', 'database-roles'), 'utf8');
  await finish('prepare-database', {
    GATE_ADMIN_DATABASE_URL_FILE: '',
    GATE_ADMIN_DATABASE_URL: postgres.url,
    GATE_DATABASE_ROLES_FILE: '',
    GATE_DATABASE_ROLES: roles
      .split(',')
      .filter((role) => !role.startsWith('temporal:'))
      .join(','),
  });
  engine = await startTemporal({
    binary: await findTemporal({ onProgress: () => undefined }),
    stateDir: join(folder, 'engine'),
    port: await portOf('engine'),
    uiPort: null,
    namespace: 'unused',
    dbFile: null,
  });
  ports.delete('engine');
  engineDoor = await openEngineDoor(engine.address);
  await finish('prepare-engine');

  for (const name of CONTAINERS) running.set(name, start(name));
  const view = join(folder, 'out', 'operator', 'dev.json');
  const said = here(compose.services['operator'] as ComposeService, readFileSync(view, 'utf8'));
  rmSync(view);
  writeFileSync(view, said);
  const pem = (name: string) => readFileSync(join(folder, 'out', 'operator', name), 'utf8');
  agent = createAgentClient(`https://localhost:${ports.get('proxy:8443')}`, {
    ca: pem('ca.crt'),
    cert: pem('support-bot.crt'),
    key: pem('support-bot.key'),
  });
  await Promise.all(Object.keys(listensOn).map((name) => ready(name)));
  // With the certificate that the worker got meanwhile.
  const { GATE_TLS_CERT_FILE, GATE_TLS_KEY_FILE } = environmentOf('worker');
  refused = start('worker', {
    GATE_TEMPORAL_TLS_CERT_FILE: GATE_TLS_CERT_FILE,
    GATE_TEMPORAL_TLS_KEY_FILE: GATE_TLS_KEY_FILE,
    GATE_WORKER_HEALTH_PORT: '0',
  });
}, STACK_START_LIMIT_MS);

/** Waits for 200 on /readyz; a process that ended meanwhile says why. */
async function ready(name: string): Promise<void> {
  const process_ = running.get(name) as Running;
  const address = `http://localhost:${ports.get(`${name}:${listensOn[name]?.health}`)}/readyz`;
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

afterAll(async () => {
  await agent?.close();
  for (const { child, ended } of [refused, ...running.values()].filter(Boolean).reverse())
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await ended;
    }
  engineDoor?.close();
  await engine?.stop();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

describe('docker-compose.yml, its services as separate processes', () => {
  it('runs every Gate service that stands in the file', () => {
    const long = gateServices(compose).filter(([, { restart }]) => restart !== 'no');
    expect(long.map(([name]) => name).sort()).toEqual([...CONTAINERS].sort());
  });

  it('executes an allowed call once', async () => {
    const idempotencyId = randomUUID();
    const first = await agent.call('list_files', {}, { idempotencyId });
    expect([first.status, first.text]).toEqual([200, expect.stringContaining('result')]);
    const again = await agent.call('list_files', {}, { idempotencyId });
    expect(again.status).toBe(200);
    expect(await tools()).toMatchObject({ sessions: 1, counts: { list_files: 1 } });
  });

  it('is one client to the tools for each agent, whichever process talks to them', async () => {
    for (const reply of await Promise.all([
      agent.control('tools/list'),
      agent.call('list_files'),
      agent.control('tools/list'),
      agent.call('list_files'),
    ]))
      expect(reply.status).toBe(200);
    expect((await tools()).sessions).toBe(1);
  });

  it('refuses a denied call, and nothing runs', async () => {
    const denied = await agent.call('delete_file', { path: 'notes.txt' });
    expect([denied.status, denied.body['error']]).toEqual([403, 'policy_denied']);
    expect((await tools()).counts['delete_file']).toBeUndefined();
  });

  it('parks a call, and executes it exactly once after an operator approved it', async () => {
    const idempotencyId = randomUUID();
    const transfer = () =>
      agent.call('wire_transfer', { from: 'operating', to: 'payroll', amount: 25 }, { idempotencyId });
    const parked = await transfer();
    expect(parked.status).toBe(202);
    const waiting = await operator<PendingRequest[]>('pending');
    expect(waiting.map((row) => row.correlation_id)).toEqual([parked.correlationId]);
    const decided = await operator<PendingRequest>('decide', parked.correlationId, 'approve', '--reason', 'expected');
    expect([decided.status, decided.decided_by]).toEqual(['approved', 'operator:dev']);
    const done = await eventually('the result of the approved call', async () => {
      const reply = await transfer();
      return reply.status === 200 && reply;
    });
    expect(done.text).toContain('result');
    expect((await tools()).counts['wire_transfer']).toBe(1);

    const rows = await eventually('the rows of the call', async () => {
      const found = await operator<LedgerEntry[]>('audit', parked.correlationId);
      return found.some((row) => row.event_kind === 'upstream.outcome') && found;
    });
    expect(rows.map((row) => row.event_kind)).toEqual(
      expect.arrayContaining(['proxy.verdict', 'hil.created', 'hil.approved', 'upstream.outcome']),
    );
  }, 60_000);

  it('verifies the whole chain over HTTP', async () => {
    const result = await operator<VerifyResult>('verify');
    expect(result.valid).toBe(true);
    expect(result.entries_checked).toBeGreaterThan(5);
  });

  it('keeps a certificate of the data plane out of the engine', async () => {
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain('the workflow engine at');
  }, 30_000);

  describe('while a neighbour is away', () => {
    const stopped = async (name: string): Promise<void> => {
      const { child, ended } = running.get(name) as Running;
      child.kill('SIGKILL');
      await ended;
    };
    const back = async (name: string): Promise<void> => {
      running.set(name, start(name));
      await ready(name);
    };
    const transfer = { from: 'operating', to: 'payroll', amount: 26 };

    it.each([
      ['brain', 'brain', 'list_files', {}],
      ['policy-engine', 'policy', 'list_files', {}],
      ['hil', 'hil', 'wire_transfer', transfer],
    ])(
      'without %s: 503 that names the layer and no address, nothing runs, and the same id goes through once it is back',
      async (name, layer, tool, args) => {
        const before = (await tools()).counts[tool] ?? 0;
        await stopped(name);
        const idempotencyId = randomUUID();
        const refusal = await agent.call(tool, args, { idempotencyId });
        expect([refusal.status, refusal.body]).toMatchObject([503, { error: 'pipeline_unavailable', layer }]);
        expect(refusal.headers['retry-after']).toBe('2');
        expect(refusal.text).not.toMatch(/localhost|127\.0\.0\.1|:\d{2,5}\b|ECONN/);
        expect((await tools()).counts[tool] ?? 0).toBe(before);
        await back(name);
        const answer = await eventually('the same id is judged', async () => {
          const reply = await agent.call(tool, args, { idempotencyId });
          return reply.status !== 503 && reply;
        });
        expect(answer.status).toBe(tool === 'list_files' ? 200 : 202);
      },
      90_000,
    );

    it('without brain policy is still heard: what it denies is denied', async () => {
      await stopped('brain');
      const denied = await agent.call('delete_file', { path: 'notes.txt' });
      expect([denied.status, denied.body['layer']]).toEqual([403, 'policy']);
      await back('brain');
    }, 90_000);

    it('without the sandbox a call waits all the same, without a report; with it, its row has one', async () => {
      const reportOn = async (amount: number) => {
        const parked = await agent.call('wire_transfer', { ...transfer, amount });
        expect(parked.status).toBe(202);
        const rows = await operator<PendingRequest[]>('pending');
        return rows.find(({ correlation_id }) => correlation_id === parked.body['correlation_id'])?.sandbox_report;
      };
      await stopped('sandbox');
      expect(await reportOn(27)).toBeNull();
      await back('sandbox');
      expect(await eventually('a report', () => reportOn(28))).toEqual({
        operation_class: 'write',
        severity: 'risky',
        reversible: 'no',
        summary: 'move 28 to `payroll`',
      });
    }, 90_000);

    it('without the ledger calls go on, and their rows are there once it is back', async () => {
      await stopped('ledger');
      const done = await agent.call('list_files');
      expect(done.status).toBe(200);
      await back('ledger');
      const rows = await eventually('the rows of the call', async () => {
        const found = await operator<LedgerEntry[]>('audit', done.correlationId);
        return found.some((row) => row.event_kind === 'upstream.outcome') && found;
      });
      expect(rows.map((row) => row.event_kind)).toEqual([
        'proxy.verdict',
        'brain.inspection',
        'policy.evaluated',
        'upstream.outcome',
      ]);
    }, 120_000);

    it('without a worker the proxy is not ready while calls wait, and ready again once one polls', async () => {
      const worker = async (): Promise<string> => {
        const probe = await fetch(`http://localhost:${ports.get(`proxy:${listensOn['proxy']?.health}`)}/readyz`);
        const { checks, details } = (await probe.json()) as Record<'checks' | 'details', Record<string, string>>;
        return `${probe.status} ${checks['worker']} ${details['worker'] ?? ''}`;
      };
      const seen: string[] = [];
      let busy = true;
      const watching = (async () => {
        while (busy) seen.push(await worker());
      })();
      // On a slow machine a neighbour may be too late for one of them. Its id goes through again, and a new one where nothing was executed.
      const done = (): Promise<Reply> => {
        let idempotencyId = randomUUID();
        return eventually('the call is done', async () => {
          const reply = await agent.call('list_files', {}, { idempotencyId });
          const { error } = reply.body;
          if (error === 'call_abandoned' || error === 'attempt_not_begun') idempotencyId = randomUUID();
          else if (error !== 'pipeline_unavailable') return reply;
          return false;
        });
      };
      const burst = await Promise.all(Array.from({ length: 24 }, done));
      busy = false;
      await watching;
      expect(burst.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
      expect(seen.length).toBeGreaterThan(5);
      expect(seen.filter((said) => !said.includes(' ok '))).toEqual([]);

      await stopped('worker');
      const begunMs = Date.now();
      const lost = agent.call('list_files');
      const said = await eventually('the proxy is not ready', async () => {
        const now = await worker();
        return now.startsWith('503 failed') && now;
      });
      expect(said).toContain('no worker takes what has waited for');
      // Five seconds, and as long as the engine remembers its count.
      expect(Date.now() - begunMs).toBeLessThan(15_000);
      expect((await lost).status).toBe(503);
      await back('worker');
      await eventually('the proxy is ready', async () => (await worker()).startsWith('200 ok'));
      expect((await agent.call('list_files')).status).toBe(200);
    }, 120_000);

    it('without the upstream: 502 that says what happened and not where, and nothing is left open', async () => {
      await stopped('tools');
      const lost = await agent.call('list_files');
      expect([lost.status, lost.body]).toMatchObject([502, { error: 'upstream_unreachable', layer: 'upstream' }]);
      expect(lost.text).not.toMatch(/localhost|127\.0\.0\.1|https?:/);
      running.set('tools', start('tools'));
      await eventually('the tools answer', async () => {
        const reply = await agent.call('list_files');
        return reply.status === 200;
      });
      expect((await agent.control('tools/list')).status).toBe(200);
      expect((await tools()).sessions).toBe(1);
    }, 90_000);
  });

  describe('a certificate that identity issued', () => {
    /** So that the test sees the end of each. */
    const SOON_OVER = { GATE_IDENTITY_REVOCATION_SECS: '10', GATE_IDENTITY_SUPERSEDED_SECS: '5' };
    const second = ['proxy-2:8443', 'proxy-2:8080'] as const;
    const file = (container: string, name: string) => readFileSync(join(folder, 'out', container, name), 'utf8');
    const ca = () => file('operator', 'ca.crt');
    const opened: Http[] = [];
    const at = <Client extends Http>(client: Client): Client => {
      opened.push(client);
      return client;
    };
    const askIdentity = async (path: string, body: JsonObject, token: string, credential = {}) => {
      const reply = await at(
        createHttp(`https://localhost:${ports.get('identity:8086')}`, { ca: ca(), ...credential }),
      ).request('POST', path, { headers: { authorization: `Bearer ${token}` }, body });
      return { status: reply.status, body: reply.body };
    };
    const asConsole = (path: string, body: JsonObject) =>
      askIdentity(path, body, file('identity', 'identity-admin-token').trim(), {
        cert: file('operator', 'console.crt'),
        key: file('operator', 'console.key'),
      });
    /** An agent with its first certificate, as each of the two proxies sees it. */
    async function enrolled(name: string) {
      const { token, agent_id: agentId } = enrollment.parse(
        (await asConsole('/enrollments', { tenant: 'acme', agent_name: name })).body,
      );
      const { pem, keyPem } = await certificateRequest();
      const answer = await askIdentity('/enrollments/svid', { csr_pem: pem }, token);
      expect(answer.status).toBe(200);
      const { id, cert_pem: cert } = issuedSvid.parse(answer.body);
      const clients = atBoth({ cert, key: keyPem });
      return { id, agentId, clients, credential: { cert, key: keyPem } };
    }
    const atBoth = (credential: { readonly cert: string; readonly key: string }) =>
      [ports.get('proxy:8443'), ports.get(second[0])].map((port) =>
        at(createAgentClient(`https://localhost:${port}`, { ca: ca(), ...credential })),
      );
    const errors = (clients: readonly AgentClient[]) =>
      Promise.all(
        clients.map(async (client) => {
          try {
            const { status, text } = await client.call('list_files');
            return status === 200 ? 200 : `${status} ${(JSON.parse(text) as { error: string }).error}`;
          } catch {
            // The connection ended as the certificate did.
            return 'ended';
          }
        }),
      );
    const bothSay = (clients: readonly AgentClient[], what: string | number) =>
      eventually(`both proxies say ${what}`, async () => (await errors(clients)).every((said) => said === what));
    const identityEnds = async () => {
      const { child, ended } = running.get('identity') as Running;
      child.kill('SIGKILL');
      await ended;
    };

    beforeAll(async () => {
      for (const name of second) await portOf(name);
      running.set(
        'proxy-2',
        start('proxy', {
          GATE_PROXY_PORT: String(ports.get(second[0])),
          GATE_PROXY_HEALTH_PORT: String(ports.get(second[1])),
        }),
      );
      await identityEnds();
      running.set('identity', start('identity', SOON_OVER));
      await ready('identity');
    }, 90_000);
    afterAll(async () => {
      await Promise.all(opened.map((client) => client.close()));
      const { child, ended } = running.get('proxy-2') as Running;
      running.delete('proxy-2');
      child.kill('SIGKILL');
      await ended;
    });

    it('is refused by every proxy once it is revoked, and another one of the same agent too', async () => {
      const { id, clients } = await enrolled('revoked-bot');
      const { agentId, clients: others } = await enrolled('other-bot');
      await bothSay(clients, 200);
      expect((await asConsole('/revoke', { kind: 'svid', svid_id: id })).status).toBe(200);
      await bothSay(clients, '401 certificate_revoked');
      expect(await errors(others)).toEqual([200, 200]);
      expect((await asConsole('/revoke', { kind: 'agent', agent_id: agentId })).status).toBe(200);
      await bothSay(others, '401 certificate_revoked');
    }, 90_000);

    it('is refused too where identity was killed when it had stored that, before anybody heard of it', async () => {
      const { id, clients } = await enrolled('unheard-bot');
      await bothSay(clients, 200);
      const lost = asConsole('/revoke', { kind: 'svid', svid_id: id }).then(
        ({ status }) => status,
        () => 'no answer',
      );
      const database = new pg.Client({ connectionString: postgres.url });
      await database.connect();
      await eventually('it is stored', async () => {
        const { rows } = await database.query('select revoked_ms from gate_identity.identity_svids where id = $1', [
          id,
        ]);
        return (rows as { revoked_ms: string | null }[])[0]?.revoked_ms;
      });
      await identityEnds();
      await database.end();
      // It may have been heard of just before.
      expect([200, 'no answer']).toContain(await lost);
      running.set('identity', start('identity', SOON_OVER));
      await bothSay(clients, '401 certificate_revoked');
    }, 90_000);

    it('is renewed at the proxy, in the ledger with who did it, and counts a while beside the next one', async () => {
      const { id, agentId, clients } = await enrolled('renewing-bot');
      const { pem, keyPem } = await certificateRequest();
      const renewed = await clients[0]?.request('POST', '/svid/renew', { body: { csr_pem: pem } });
      expect(renewed?.status).toBe(200);
      const next = issuedSvid.parse(renewed?.body);
      const nexts = atBoth({ cert: next.cert_pem, key: keyPem });
      await bothSay(nexts, 200);
      expect((await clients[1]?.request('POST', '/svid/renew', { body: { csr_pem: pem } }))?.body).toMatchObject({
        id: next.id,
      });
      await bothSay(clients, '401 certificate_superseded');
      expect(await errors(nexts)).toEqual([200, 200]);
      const rows = await eventually('the rows of its certificates', async () => {
        const found = await operator<LedgerEntry[]>('audit', uuidFromDigest('gate.identity-agent', agentId));
        return found.length === 2 && found;
      });
      expect(rows.map(({ event_kind: kind, policy_decision: what }) => [kind, what?.['svid_id']])).toEqual([
        ['identity.svid_issued', id],
        ['identity.svid_renewed', next.id],
      ]);
      const refused = await nexts[0]?.request('POST', '/svid/renew', { body: { csr_pem: pem, agent_spiffe: 'x' } });
      expect([refused?.status, refused?.body['error']]).toEqual([400, 'invalid_request']);
      const used = await nexts[0]?.request('POST', '/svid/renew', { body: { csr_pem: pem } });
      expect([used?.status, used?.body['error']]).toEqual([409, 'issuance_replay']);
    }, 90_000);

    it('is one or none where identity was killed before it answered, which the same request asked again tells', async () => {
      const { clients } = await enrolled('killed-bot');
      const [client] = clients as [AgentClient];
      const { pem } = await certificateRequest();
      const renew = (csr: string) => client.request('POST', '/svid/renew', { body: { csr_pem: csr } });
      const lost = renew(pem);
      await identityEnds();
      const first = await lost;
      if (first.status !== 200) expect([first.status, first.body['error']]).toEqual([503, 'ca_unavailable']);
      running.set('identity', start('identity', { ...SOON_OVER, GATE_IDENTITY_SUPERSEDED_SECS: '60' }));
      await ready('identity');
      // Until a proxy has heard identity again it may let nobody in; nothing is asked of identity then.
      const again = await eventually('identity is heard', async () => {
        const reply = await renew(pem);
        return reply.status !== 503 && reply;
      });
      if (first.status === 200) expect([again.status, again.body]).toEqual([200, first.body]);
      else if (again.status !== 200) {
        expect([again.status, again.body['error']]).toEqual([409, 'issuance_replay']);
        expect((await renew((await certificateRequest()).pem)).status).toBe(200);
      }
    }, 90_000);

    it('counts without identity until the list is over, then does not, and again once identity is back', async () => {
      const { clients } = await enrolled('waiting-bot');
      await bothSay(clients, 200);
      await identityEnds();
      expect(await errors(clients)).toEqual([200, 200]);
      await bothSay(clients, '503 control_state_unavailable');
      const probe = await fetch(`http://localhost:${ports.get(second[1])}/readyz`);
      expect([probe.status, ((await probe.json()) as { checks: JsonObject }).checks['revocations']]).toEqual([
        503,
        'failed',
      ]);
      running.set('identity', start('identity'));
      await bothSay(clients, 200);
    }, 120_000);
  });

  it('stops tidily on SIGTERM: the proxy refuses and drains, and every process ends with 0', async () => {
    const proxy = running.get('proxy') as Running;
    const slow = agent.call('slow_task', { seconds: 5 });
    await eventually('the slow tool runs', async () => (await tools()).counts['slow_task'] === 1);
    proxy.child.kill('SIGTERM');
    expect((await slow).status).toBe(200);
    expect(await proxy.ended).toBe(0);
    await expect(agent.call('list_files')).rejects.toThrow();
    for (const name of [...CONTAINERS].reverse()) {
      const { child, ended } = running.get(name) as Running;
      child.kill('SIGTERM');
      expect([name, await ended]).toEqual([name, 0]);
    }
  }, 60_000);
});
