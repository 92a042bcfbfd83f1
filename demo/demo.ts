import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent } from 'undici';
import type { JsonObject } from '../contracts/json.js';
import type { LedgerEntry, VerifyResult } from '../contracts/ledger.js';
import type { PendingRequest } from '../contracts/review.js';
import { predictionOf } from '../domain/sandbox/told.js';
import { errorText } from '../domain/errors.js';
import { FREE_PORTS } from '../stack/process-settings.js';
import type { DevelopmentFile } from '../stack/development-file.js';
import { PROJECT_ROOT } from '../config/project-root.js';

/**
 * `npm run demo`: the story of Gate in a terminal, against a stack of its own on free ports in a temporary folder, or with `--here`
 * against the one that runs over `.gate` (or GATE_STATE_DIR). Exit code 0 only when everything came out as told.
 */

/** How long the demonstration's parked calls wait for a decision. */
const TTL_SECS = 8;
const START_LIMIT_MS = 15 * 60_000;
const WAIT_LIMIT_MS = 30_000;
/** If calls of the stack wait longer than this, the demonstration skips the expiry. */
const PATIENCE_SECS = 30;

const colours = process.stdout.isTTY && process.env.NO_COLOR === undefined;
const paint = (code: number) => (text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = paint(1);
const dim = paint(2);
const red = paint(31);
const green = paint(32);
const yellow = paint(33);
const say = (line = '') => void process.stdout.write(`${line}\n`);

/** Steps whose result was not the expected one. */
const faults: string[] = [];
function told(what: string, holds: boolean): void {
  if (holds) return say(`   ${green('✓')} ${what}`);
  faults.push(what);
  say(`   ${red('✗')} ${what}`);
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly body: JsonObject;
}
interface ToolsState {
  readonly counts: Readonly<Record<string, number>>;
  readonly balances: Readonly<Record<string, number>>;
}

/** Everybody's view of one stack: the agent at the door, the operator, the reader of the ledger, and what the tools really did. */
function participants(stack: DevelopmentFile) {
  const ca = readFileSync(stack.proxy.ca, 'utf8');
  const as = ({ cert, key }: { cert: string; key: string }) =>
    new Agent({
      connect: { ca, cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') },
      keepAliveTimeout: 1_000,
    });
  const agent = as(stack.proxy);
  const console_ = as(stack.console_workload);
  const send = async (
    dispatcher: Agent,
    url: string,
    method: string,
    headers: Record<string, string>,
    body?: JsonObject,
  ): Promise<Answer> => {
    const { origin, pathname, search } = new URL(url);
    const reply = await dispatcher.request({
      origin,
      path: pathname + search,
      method: method as 'GET',
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await reply.body.text();
    return { status: reply.statusCode, headers: reply.headers, text, body: JSON.parse(text) as JsonObject };
  };
  const asOperator = (url: string, method = 'GET', body?: JsonObject) =>
    send(console_, url, method, { authorization: `Bearer ${stack.operator_token}` }, body);
  return {
    async call(tool: string, args: JsonObject, idempotencyId: string = randomUUID()): Promise<Answer> {
      say(`   ${dim('agent')}     ${tool} ${JSON.stringify(args)}`);
      const answer = await send(
        agent,
        `${stack.proxy.url}/mcp`,
        'POST',
        { 'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1', 'X-Gate-Idempotency-Id': idempotencyId },
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } },
      );
      say(`   ${dim('gate')}      ${statusOf(answer)}`);
      return answer;
    },
    view: (correlationId: string) => send(agent, `${stack.proxy.url}/pending/${correlationId}`, 'GET', {}),
    async rowOf(correlationId: string): Promise<PendingRequest> {
      return JSON.parse(
        (await asOperator(`${stack.hil.url}/pending/by-correlation/${correlationId}`)).text,
      ) as PendingRequest;
    },
    decide: (id: string, decision: 'approve' | 'deny', reason: string) =>
      asOperator(`${stack.hil.url}/decide/${id}`, 'POST', { decision, reason }),
    async rows(correlationId: string, last: string): Promise<LedgerEntry[]> {
      return eventually(`the ledger row ${last}`, async () => {
        const rows = JSON.parse(
          (await asOperator(`${stack.ledger.url}/audit/correlation/${correlationId}`)).text,
        ) as LedgerEntry[];
        return rows.some((row) => row.event_kind === last) ? rows : null;
      });
    },
    async uncertain(): Promise<readonly string[]> {
      const { calls } = JSON.parse((await asOperator(`${stack.proxy.url}/uncertain`)).text) as {
        calls: { correlation_id: string }[];
      };
      return calls.map(({ correlation_id: id }) => id);
    },
    verify: async () => JSON.parse((await asOperator(`${stack.ledger.url}/verify`)).text) as VerifyResult,
    async tools(): Promise<ToolsState> {
      const reply = await fetch(new URL('/state', stack.upstream.url));
      if (!reply.ok)
        throw new Error(`${stack.upstream.url} is not the demonstration tools; start Gate without GATE_UPSTREAM_URL`);
      return (await reply.json()) as ToolsState;
    },
    close: () => Promise.all([agent.destroy(), console_.destroy()]),
  };
}
type Participants = ReturnType<typeof participants>;

function statusOf({ status, body }: Answer): string {
  const paintStatus = status < 300 ? (status === 202 ? yellow : green) : red;
  const { result, error, reasoning, status: state, ttl_secs } = body;
  const [first] = ((result as JsonObject | undefined)?.content ?? []) as { text?: string }[];
  const what =
    first?.text !== undefined
      ? first.text.replaceAll('\n', ', ')
      : state === 'pending'
        ? `pending: a person has ${String(ttl_secs as number)} s to decide`
        : `${String(error as string)}: ${String(reasoning as string)}`;
  return `${paintStatus(String(status))} ${what}`;
}

async function showRows(gate: Participants, correlationId: string, last: string): Promise<readonly string[]> {
  const rows = await gate.rows(correlationId, last);
  // The rows of one call repeat its reasons; once is enough for a reader.
  const seen = new Set<string>();
  for (const row of rows) {
    const { stage, decided_by } = row.policy_decision ?? {};
    const parts = [
      typeof stage === 'string' && stage,
      typeof decided_by === 'string' && `by ${decided_by}`,
      !seen.has(row.reasoning) && row.reasoning,
    ];
    seen.add(row.reasoning);
    const story = parts.filter(Boolean).join(' · ');
    const kind = (row.event_kind ?? row.method).padEnd(17);
    const mark = row.authorized ? green('authorized    ') : yellow('not authorized');
    say(`   ${dim('ledger')}    ${String(row.seq).padStart(3)}  ${kind} ${mark}  ${dim(shortened(story))}`.trimEnd());
  }
  return rows.map((row) => row.event_kind ?? row.method);
}

const shortened = (text: string): string => (text.length > 90 ? `${text.slice(0, 89)}…` : text);
const cents = (amount: number): string => (amount / 100).toFixed(2);
const correlationOf = ({ body, headers }: Answer): string =>
  String((body.correlation_id ?? headers['x-gate-correlation-id']) as string);

async function story(gate: Participants): Promise<void> {
  const chapter = (number: number, title: string) => say(`\n${bold(`${number}. ${title}`)}`);
  const vendor = async () => (await gate.tools()).balances.vendor ?? 0;
  const ran = async (tool: string) => (await gate.tools()).counts[tool] ?? 0;
  const same = (seen: readonly string[], expected: string) => seen.join(' ') === expected;

  chapter(1, 'An ordinary call is allowed, and Gate executes it');
  const allowed = await gate.call('list_files', {});
  const allowedRows = await showRows(gate, correlationOf(allowed), 'upstream.outcome');
  told('the answer of the tool came back', allowed.status === 200);
  told(
    'verdict and outcome stand in the ledger, in order',
    same(allowedRows, 'proxy.verdict brain.inspection policy.evaluated upstream.outcome'),
  );

  chapter(2, 'A destructive call is denied');
  const deletions = await ran('delete_file');
  const denied = await gate.call('delete_file', { path: 'README.txt' });
  const deniedRows = await showRows(gate, correlationOf(denied), 'policy.evaluated');
  told('the agent is told why', denied.status === 403 && denied.body.error === 'policy_denied');
  told(
    'the tool was never called',
    (await ran('delete_file')) === deletions && !deniedRows.includes('upstream.outcome'),
  );

  chapter(3, 'Money waits for a person; after the approval Gate executes the call itself');
  const id = randomUUID();
  const transfer = { from: 'operating', to: 'vendor', amount: 25 };
  const before = await vendor();
  const parked = await gate.call('wire_transfer', transfer, id);
  const correlationId = correlationOf(parked);
  told(
    `the call is parked, and vendor still holds ${cents(before)}`,
    parked.status === 202 && (await vendor()) === before,
  );
  const row = await gate.rowOf(correlationId);
  say(`   ${dim('operator')}  sees: ${row.risk_summary}`);
  say(`   ${dim('sandbox')}   predicts: ${predictionOf(row)}`);
  told('the sandbox says what the call would do', row.sandbox_report?.severity === 'risky');
  const decided = await gate.decide(row.id, 'approve', 'invoice 7, checked with finance');
  say(`   ${dim('operator')}  ${green('approves')}, as ${String(decided.body.decided_by as string)}`);
  const view = await eventually('the approved call ran', async () => {
    const { body } = await gate.view(correlationId);
    return (body.execution as JsonObject | null)?.state === 'completed' ? body : null;
  });
  await showRows(gate, correlationId, 'upstream.outcome');
  told(
    `the transfer ran: vendor held ${cents(before)} and holds ${cents(await vendor())}`,
    (await vendor()) === before + 2_500,
  );
  told(
    'the agent finds the decision and the result by the id of its call',
    view.decision === 'allow' && view.status === 'approved',
  );

  chapter(4, 'The agent asks again under the same id: the same answer, and no second effect');
  const replay = await gate.call('wire_transfer', transfer, id);
  told(
    'the answer is the retained one',
    replay.status === 200 && replay.headers['x-gate-server-execution-replayed'] === 'true',
  );
  told(`vendor still holds ${cents(before + 2_500)}`, (await vendor()) === before + 2_500);
  const changed = await gate.call('wire_transfer', { ...transfer, amount: 9_000 }, id);
  told('another amount under that id is a conflict', changed.status === 409 && (await vendor()) === before + 2_500);

  chapter(5, 'Nobody decides: the call expires, and nothing runs');
  const forgottenId = randomUUID();
  const forgotten = await gate.call('wire_transfer', { ...transfer, amount: 900 }, forgottenId);
  const ttlSecs = Number(forgotten.body.ttl_secs);
  if (ttlSecs > PATIENCE_SECS) {
    say(`   ${dim(`(this stack waits ${ttlSecs} s; the operator denies the call instead)`)}`);
    await gate.decide((await gate.rowOf(correlationOf(forgotten))).id, 'deny', 'only a demonstration');
    await showRows(gate, correlationOf(forgotten), 'hil.denied');
  } else {
    say(`   ${dim(`… ${ttlSecs} s pass …`)}`);
    await showRows(gate, correlationOf(forgotten), 'hil.expired');
  }
  const closed = await gate.call('wire_transfer', { ...transfer, amount: 900 }, forgottenId);
  told(
    'the call is closed to everybody',
    closed.status === 403 && /^review_(expired|denied)$/.test(String(closed.body.error as string)),
  );
  told(`vendor still holds ${cents(before + 2_500)}`, (await vendor()) === before + 2_500);

  chapter(6, 'A tool acts and hangs up: nobody knows what became of it, so it is never tried again');
  const drops = await ran('drop_connection');
  const uncertainId = randomUUID();
  const uncertain = await gate.call('drop_connection', {}, uncertainId);
  await showRows(gate, correlationOf(uncertain), 'upstream.outcome');
  const again = await gate.call('drop_connection', {}, uncertainId);
  told('the outcome is uncertain, now and at every replay', uncertain.status === 409 && again.status === 409);
  told('the tool ran once', (await ran('drop_connection')) === drops + 1);

  chapter(7, 'A tool that can be asked: Gate looks for the effect itself, and still runs nothing twice');
  const reference = `order-${randomUUID().slice(0, 8)}`;
  const lostId = randomUUID();
  const lost = await gate.call('drop_connection', { reference }, lostId);
  told('at first nobody knows', lost.status === 409);
  const found = await eventually('the probe found the effect', async () => {
    const rows = await gate.rows(correlationOf(lost), 'upstream.outcome');
    return rows.some(({ policy_decision: said }) => said?.reconciled === 'probe') ? rows : null;
  });
  await showRows(gate, correlationOf(lost), 'upstream.outcome');
  told(
    'a look is a row, and so is what it proved',
    found.some(({ policy_decision: said }) => said?.stage === 'probed' && said.said === 'completed'),
  );
  const after = await gate.call('drop_connection', { reference }, lostId);
  told('the agent is told that it ran, and not to ask again', after.status === 200);
  told('the tool ran once', (await ran('drop_connection')) === drops + 2);
  const unasked = await gate.uncertain();
  told(
    'what no probe can tell waits for a person: gate uncertain',
    unasked.some((id) => id === correlationOf(uncertain)) && !unasked.some((id) => id === correlationOf(lost)),
  );

  chapter(8, 'The proof');
  const result = await gate.verify();
  say(
    `   ${dim('ledger')}    ${result.entries_checked} entries, head ${result.commitment?.head_hash.slice(0, 16) ?? '-'}…`,
  );
  told('every entry hashes to the next: the chain holds', result.valid);
}

async function eventually<Found>(what: string, look: () => Promise<Found | null>): Promise<Found> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > deadline) throw new Error(`not within ${WAIT_LIMIT_MS / 1000} s: ${what}`);
    await sleep(100);
  }
}

interface OwnStack {
  readonly development: DevelopmentFile;
  stop(): Promise<void>;
}

/** A stack of the demonstration's own; nothing of it is left when it stops. */
async function startOwn(): Promise<OwnStack> {
  const stateDir = await mkdtemp(join(tmpdir(), 'gate-demo-'));
  const inherited = Object.entries(process.env).filter(([name]) => !/^GATE_(?!.*_BIN$|CACHE_DIR$)/.test(name));
  const child = spawn(process.execPath, [join(PROJECT_ROOT, 'bin', 'gate.mjs'), 'start', '--quiet'], {
    cwd: PROJECT_ROOT,
    env: {
      ...Object.fromEntries(inherited),
      ...FREE_PORTS,
      GATE_STATE_DIR: stateDir,
      GATE_REVIEW_TTL_STANDARD_SECS: String(TTL_SECS),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const stop = async () => {
    await ended(child);
    await rm(stateDir, { recursive: true, force: true });
  };
  process.once('SIGINT', () => void stop().then(() => process.exit(130)));
  const file = join(stateDir, 'dev.json');
  const deadline = Date.now() + START_LIMIT_MS;
  while (!existsSync(file)) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error('the stack did not start');
    }
    await sleep(100);
  }
  return { development: JSON.parse(readFileSync(file, 'utf8')) as DevelopmentFile, stop };
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve_) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve_();
    child.once('exit', () => resolve_());
    child.kill('SIGTERM');
  });

function running(): OwnStack {
  const file = join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'dev.json');
  if (!existsSync(file))
    throw new Error(
      `no running stack is known here (${file} is missing); start one with npm start, or leave --here out`,
    );
  return { development: JSON.parse(readFileSync(file, 'utf8')) as DevelopmentFile, stop: () => Promise.resolve() };
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { here: { type: 'boolean', default: false } } });
  const started = Date.now();
  say(bold('Gate stands between AI agents and their tools'));
  if (!values.here) say(dim('starting a stack of its own, on free ports, in a temporary folder …'));
  const stack = values.here ? running() : await startOwn();
  const gate = participants(stack.development);
  try {
    if (!values.here) say(dim(`ready after ${((Date.now() - started) / 1000).toFixed(1)} s`));
    await story(gate);
  } finally {
    await gate.close();
    await stack.stop();
  }
  say(
    `\n${((Date.now() - started) / 1000).toFixed(0)} s. ${faults.length === 0 ? green('Everything came out as told.') : red(`Not as told: ${faults.join('; ')}`)}`,
  );
  return faults.length === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`demo: ${errorText(error)}\n`);
  process.exitCode = 1;
}
