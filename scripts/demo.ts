import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import type { JsonObject } from '../contracts/json.js';
import type { LedgerEntry, VerifyResult } from '../contracts/ledger.js';
import type { PendingRequest } from '../contracts/review.js';
import { startDevelopment, type DevelopmentFile } from '../stack/development.js';

/** `npm run demo`: the story of Gate, told by a stack of its own on free ports. Exits 0 only if everything came out as told. */

const REVIEW_TTL_SECS = 6;
const FREE_PORTS = ['PROXY', 'BRAIN', 'POLICY', 'HIL', 'LEDGER'].flatMap((name) => [
  `GATE_${name}_PORT`,
  `GATE_${name}_HEALTH_PORT`,
]);

const bold = (text: string) => (process.stdout.isTTY ? `\u001b[1m${text}\u001b[0m` : text);
const say = (text = '') => void process.stdout.write(`${text}\n`);

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
  readonly correlationId: string;
  readonly replayed: boolean;
}

/** What was told and did not happen; the demo goes on and ends with a failure. */
const untrue: string[] = [];
function told(holds: boolean, claim: string): void {
  say(`   ${holds ? '✓' : '✗'} ${claim}`);
  if (!holds) untrue.push(claim);
}

function participants(stack: DevelopmentFile) {
  const ca = readFileSync(stack.proxy.ca, 'utf8');
  const end = (cert: string, key: string) =>
    new Agent({
      connect: { ca, cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') },
      headersTimeout: 60_000,
    });
  const support = end(stack.proxy.cert, stack.proxy.key);
  const consoleEnd = end(stack.console_workload.cert, stack.console_workload.key);
  const asConsole = async <T>(base: string, method: 'GET' | 'POST', path: string, body?: JsonObject): Promise<T> => {
    const reply = await consoleEnd.request({
      origin: base,
      path,
      method,
      headers: { authorization: `Bearer ${stack.operator_token}`, ...(body && { 'content-type': 'application/json' }) },
      body: body ? JSON.stringify(body) : null,
    });
    return (await reply.body.json()) as T;
  };
  return {
    async call(tool: string, args: JsonObject, idempotencyId: string = randomUUID()): Promise<Answer> {
      const reply = await support.request({
        origin: stack.proxy.url,
        path: '/mcp',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gate-server-execution-contract': 'gate.server-execution/v1',
          'x-gate-idempotency-id': idempotencyId,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } }),
      });
      const body = (await reply.body.json()) as JsonObject;
      say(`   agent  ${tool} ${JSON.stringify(args)}`);
      say(`   gate   ${reply.statusCode} ${summary(body)}`);
      return {
        status: reply.statusCode,
        body,
        correlationId: String(reply.headers['x-gate-correlation-id']),
        replayed: reply.headers['x-gate-server-execution-replayed'] === 'true',
      };
    },
    rowOf: (correlationId: string) =>
      asConsole<PendingRequest>(stack.hil.url, 'GET', `/pending/by-correlation/${correlationId}`),
    decide: (id: string, decision: 'approve' | 'deny', reason: string) =>
      asConsole<PendingRequest>(stack.hil.url, 'POST', `/decide/${id}`, { decision, reason, decided_via: 'console' }),
    rows: (correlationId: string) =>
      asConsole<LedgerEntry[]>(stack.ledger.url, 'GET', `/audit/correlation/${correlationId}`),
    verify: () => asConsole<VerifyResult>(stack.ledger.url, 'GET', '/verify'),
    close: () => Promise.all([support.close(), consoleEnd.close()]),
  };
}

function summary(body: JsonObject): string {
  const { error, reasoning, status, tier, ttl_secs, result } = body;
  if (typeof error === 'string') return `${error}: ${typeof reasoning === 'string' ? reasoning : ''}`;
  if (typeof status === 'string') return `${status}, tier ${String(tier)}, ${String(ttl_secs)} s to decide`;
  const { content } = (result ?? {}) as { content?: { text?: string }[] };
  return content?.[0]?.text?.replaceAll('\n', ' · ') ?? JSON.stringify(body).slice(0, 120);
}

async function until(holds: () => Promise<boolean>, limitMs = 15_000): Promise<boolean> {
  for (const deadline = Date.now() + limitMs; Date.now() < deadline; await sleep(100)) if (await holds()) return true;
  return false;
}

async function story(stack: DevelopmentFile): Promise<void> {
  const gate = participants(stack);
  const kinds = async (correlationId: string) =>
    (await gate.rows(correlationId)).map((row) => row.event_kind ?? row.method);
  const showRows = async (correlationId: string, last: string) => {
    await until(async () => (await kinds(correlationId)).includes(last));
    say(`   ledger ${(await kinds(correlationId)).join(' → ')}`);
  };
  const vendor = async () =>
    /[\d.]+/.exec(summary((await gate.call('get_balance', { account: 'vendor' })).body))?.[0] ?? '?';

  say(bold('\n1. An allow that runs'));
  const idempotencyId = randomUUID();
  const listed = await gate.call('list_files', {}, idempotencyId);
  told(listed.status === 200, 'the tool ran');
  await showRows(listed.correlationId, 'upstream.outcome');

  say(bold('\n2. The same request again'));
  const again = await gate.call('list_files', {}, idempotencyId);
  told(
    again.replayed && again.correlationId === listed.correlationId,
    'answered from the record; the tool did not run again',
  );
  const otherBody = await gate.call('list_files', { path: 'notes' }, idempotencyId);
  told(otherBody.status === 409, 'another request under the same id is a conflict');

  say(bold('\n3. A deny'));
  const denied = await gate.call('delete_file', { path: 'README.txt' });
  told(denied.status === 403, 'nothing was deleted');
  await showRows(denied.correlationId, 'policy.evaluated');

  say(bold('\n4. Money waits for a person'));
  const before = await vendor();
  const parked = await gate.call('wire_transfer', { from: 'operating', to: 'vendor', amount: 25 });
  told(parked.status === 202, 'parked');
  const row = await gate.rowOf(parked.correlationId);
  const decided = await gate.decide(row.id, 'approve', 'invoice checked');
  say(`   person approves: ${decided.decided_by}, "${decided.decision_reason}"`);
  await until(async () => (await kinds(parked.correlationId)).includes('upstream.outcome'));
  const after = await vendor();
  told(Number(after) - Number(before) === 25, `Gate executed it, once: ${before} → ${after}`);
  await showRows(parked.correlationId, 'upstream.outcome');
  const late = (await gate.decide(row.id, 'deny', 'too late')) as unknown as { error?: string };
  told(late.error === 'already_decided', 'a second decision is refused; the first stands');

  say(bold(`\n5. Nobody decides for ${REVIEW_TTL_SECS} seconds`));
  const forgotten = await gate.call('wire_transfer', { from: 'operating', to: 'vendor', amount: 40 });
  told(await until(async () => (await kinds(forgotten.correlationId)).includes('hil.expired'), 30_000), 'expired');
  await showRows(forgotten.correlationId, 'hil.expired');
  told((await vendor()) === after, 'and nothing was executed');

  say(bold('\n6. A tool whose answer is lost'));
  const lostId = randomUUID();
  const lost = await gate.call('drop_connection', {}, lostId);
  told(
    lost.status === 409 && lost.body.error === 'server_execution_uncertain',
    'nobody knows whether it ran, and Gate says so',
  );
  const lostAgain = await gate.call('drop_connection', {}, lostId);
  told(lostAgain.status === 409, 'asked again, it is not sent a second time');
  await showRows(lost.correlationId, 'upstream.outcome');

  say(bold('\n7. The proof'));
  const verified = await gate.verify();
  told(
    verified.valid,
    `the chain holds: ${verified.entries_checked} entries, head ${verified.commitment?.head_hash.slice(0, 16)}…`,
  );
  await gate.close();
}

const stateDir = await mkdtemp(join(tmpdir(), 'gate-demo-'));
const started = Date.now();
say('starting a stack of its own on free ports …');
const stack = await startDevelopment({
  env: {
    ...process.env,
    ...Object.fromEntries(FREE_PORTS.map((variable) => [variable, '0'])),
    GATE_TEMPORAL_PORT: '0',
    GATE_TEMPORAL_UI_PORT: '0',
    GATE_DEMO_UPSTREAM_PORT: '0',
    GATE_REVIEW_TTL_STANDARD_SECS: String(REVIEW_TTL_SECS),
    GATE_MODE: 'enforce',
    GATE_UPSTREAM_URL: undefined,
    GATE_DATABASE_URL: undefined,
    GATE_STATE_DIR: stateDir,
  },
  progress: (line) => say(`  ${line}`),
});
try {
  await story(stack.development);
} finally {
  await stack.stop();
  await rm(stateDir, { recursive: true, force: true });
}
say(
  untrue.length === 0
    ? `\ntold in ${Math.round((Date.now() - started) / 1000)} s; everything came out as told`
    : `\nnot as told: ${untrue.join('; ')}`,
);
process.exit(untrue.length === 0 ? 0 : 1);
