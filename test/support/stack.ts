import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../contracts/json.js';
import type { LedgerEntry, VerifyResult } from '../../contracts/ledger.js';
import type { PendingRequest } from '../../contracts/review.js';
import { issueAgent } from '../../stack/certificates/dev-pki.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { FREE_PORTS } from '../../stack/process-settings.js';
import type { DevelopmentFile } from '../../stack/development-file.js';
import { type AgentClient, createAgentClient, createHttp, type Http, type Reply } from './agent.js';
import { endsWithThisProcess } from './ends-with-this-process.js';
import { timePasses } from './waiting.js';

/** The whole of Gate as a user runs it: `gate start` in a process of its own, over a folder and ports of its own. */
export interface TestStack {
  readonly development: DevelopmentFile;
  readonly stateDir: string;
  /** An agent of tenant `acme` with a certificate of its own; a name not met before is a new agent. */
  agent(name?: string, tenant?: string): Promise<AgentClient>;
  /** Somebody at the proxy's door with this certificate, or with none. */
  stranger(credential?: { cert: string; key: string }): AgentClient;
  /** The proxy as the console's workload reaches it; an operator's token is the caller's to add. */
  consoleAtProxy(): Http;
  /** HIL as the console reaches it, with the operator's token. */
  readonly operator: {
    request(method: string, path: string, body?: JsonObject, headers?: Record<string, string>): Promise<Reply>;
    pending(status?: string): Promise<PendingRequest[]>;
    rowOf(correlationId: string): Promise<PendingRequest>;
    decide(correlationId: string, decision: 'approve' | 'deny', reason?: string): Promise<Reply>;
  };
  /** The ledger rows of a call, in order, once `complete` holds for their kinds. Rows may follow the answer by a moment. */
  rows(correlationId: string, complete?: (kinds: readonly (string | null)[]) => boolean): Promise<LedgerEntry[]>;
  kinds(correlationId: string, last: string): Promise<(string | null)[]>;
  verify(): Promise<VerifyResult>;
  /** GET on the plain listener of a service. */
  health(service: string, path: string): Promise<{ status: number; text: string }>;
  /** What the demonstration tools did. */
  tools(): Promise<ToolsState>;
  readonly process: ChildProcess;
  output(): string;
  stop(): Promise<void>;
}

export interface ToolsState {
  readonly sessions: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly balances: Readonly<Record<string, number>>;
  readonly effects: readonly { tool: string; arguments: JsonObject }[];
}

/** Time for `beforeAll`: the first run on a machine builds the engine. */
export const STACK_START_LIMIT_MS = 15 * 60_000;
const STOP_LIMIT_MS = 120_000;
const WAIT_LIMIT_MS = 60_000;

/** The environment without what a developer's shell says about Gate. */
export const bareEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith('GATE_') || /^GATE_(TEMPORAL_BIN|OPA_BIN|CACHE_DIR)$/.test(name),
    ),
  );

/** The `gate` command. */
export const GATE_PROGRAM = join(PROJECT_ROOT, 'bin', 'gate.mjs');

export interface StackOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Goes on over this folder, and leaves it behind. */
  readonly stateDir?: string;
  readonly quiet?: boolean;
}

/** Starts the built stack (`npm run build` first; `npm test` does) and returns when it is ready. Throws with what it said when it ended. */
export async function startStack({ env = {}, stateDir: given, quiet = true }: StackOptions = {}): Promise<TestStack> {
  const stateDir = given ?? (await mkdtemp(join(tmpdir(), 'gate-stack-')));
  const file = join(stateDir, 'dev.json');
  rmSync(file, { force: true });
  const child = spawn(process.execPath, [GATE_PROGRAM, 'start', ...(quiet ? ['--quiet'] : [])], {
    cwd: PROJECT_ROOT,
    env: { ...bareEnvironment(), ...FREE_PORTS, GATE_LOG_LEVEL: 'warn', ...env, GATE_STATE_DIR: stateDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  if (child.pid !== undefined) endsWithThisProcess(child.pid, ended);
  const up = await Promise.race([ended, appears(file, child)]);
  if (up !== true) {
    const why = `gate start: ${up}\n${output}${logTail(stateDir)}`;
    if (given === undefined) await rm(stateDir, { recursive: true, force: true });
    throw new Error(why);
  }
  const development = JSON.parse(readFileSync(file, 'utf8')) as DevelopmentFile;
  const ca = readFileSync(development.proxy.ca, 'utf8');
  const open: Http[] = [];
  const kept = <Client extends Http>(client: Client): Client => {
    open.push(client);
    return client;
  };
  const credential = ({ cert, key }: { cert: string; key: string }) => ({
    ca,
    cert: readFileSync(cert, 'utf8'),
    key: readFileSync(key, 'utf8'),
  });
  const console_ = credential(development.console_workload);
  const hil = kept(createHttp(development.hil.url, console_));
  const ledger = kept(createHttp(development.ledger.url, console_));
  const authorization = `Bearer ${development.operator_token}`;
  const agents = new Map<string, Promise<AgentClient>>();

  const operator: TestStack['operator'] = {
    request: (method, path, body, headers) =>
      hil.request(method, path, { headers: { authorization, ...headers }, ...(body && { body }) }),
    pending: async (status = 'pending') =>
      JSON.parse((await operator.request('GET', `/pending?status=${status}`)).text) as PendingRequest[],
    async rowOf(correlationId) {
      const reply = await operator.request('GET', `/pending/by-correlation/${correlationId}`);
      if (reply.status !== 200) throw new Error(`no review row of ${correlationId}: ${reply.text}`);
      return JSON.parse(reply.text) as PendingRequest;
    },
    decide: async (correlationId, decision, reason) =>
      operator.request('POST', `/decide/${(await operator.rowOf(correlationId)).id}`, {
        decision,
        ...(reason !== undefined && { reason }),
      }),
  };

  const rows: TestStack['rows'] = async (correlationId, complete = () => true) => {
    const deadline = Date.now() + WAIT_LIMIT_MS;
    for (;;) {
      const reply = await ledger.request('GET', `/audit/correlation/${correlationId}`, { headers: { authorization } });
      const found = JSON.parse(reply.text) as LedgerEntry[];
      const kinds = found.map((row) => row.event_kind);
      if (complete(kinds)) return found;
      if (Date.now() > deadline)
        throw new Error(`the ledger holds only ${kinds.join(', ') || 'nothing'} of ${correlationId}`);
      await timePasses(50, 'until the next look');
    }
  };

  return {
    development,
    stateDir,
    agent(name = 'support-bot', tenant = 'acme') {
      const known = agents.get(`${tenant}/${name}`);
      if (known) return known;
      const opened = issueAgent({ stateDir, trustDomain: 'gate.local' }, tenant, name).then((leaf) =>
        kept(createAgentClient(development.proxy.url, leaf)),
      );
      agents.set(`${tenant}/${name}`, opened);
      return opened;
    },
    consoleAtProxy: () => kept(createHttp(development.proxy.url, console_)),
    stranger: (shown) => kept(createAgentClient(development.proxy.url, { ca, ...shown })),
    operator,
    rows,
    kinds: async (correlationId, last) =>
      (await rows(correlationId, (kinds) => kinds.includes(last))).map((row) => row.event_kind),
    verify: async () =>
      JSON.parse((await ledger.request('GET', '/verify', { headers: { authorization } })).text) as VerifyResult,
    async health(service, path) {
      const reply = await fetch(`${development.health[service]}${path}`);
      return { status: reply.status, text: await reply.text() };
    },
    async tools() {
      return (await (await fetch(new URL('/state', development.upstream.url))).json()) as ToolsState;
    },
    process: child,
    output: () => output,
    async stop() {
      await Promise.all(open.map((client) => client.close()));
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        const late = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
        await ended;
        clearTimeout(late);
      }
      if (given === undefined) await rm(stateDir, { recursive: true, force: true });
    },
  };
}

async function appears(file: string, child: ChildProcess): Promise<true> {
  const deadline = Date.now() + STACK_START_LIMIT_MS;
  while (!existsSync(file)) {
    if (Date.now() > deadline) throw new Error('gate start did not become ready');
    if (child.exitCode !== null) return new Promise(() => undefined);
    await timePasses(50, 'until the next look');
  }
  return true;
}

const logTail = (stateDir: string): string => {
  const file = join(stateDir, 'logs', 'gate.log');
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-4_000) : '';
};
