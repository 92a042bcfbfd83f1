import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Table from 'cli-table3';
import { Option, type Command } from 'commander';
import { createMtlsFetch } from '../activities/clients/mtls-fetch.js';
import type { LedgerEntry, VerifyResult } from '../contracts/ledger.js';
import { type Narrative, type NarrativeWindow, narrativeWindow } from '../contracts/ledger-reports.js';
import { type PendingRequest, type ReviewOrder, reviewOrder, toolOf } from '../contracts/review.js';
import type { LedgerReader } from '../domain/ledger/ledger-reader.js';
import { openLedgerReadOnly } from '../domain/ledger/read-only.js';
import { serviceSpiffe } from '../domain/identity/spiffe.js';
import { keysBeside } from '../lite/keys.js';
import {
  type EvidenceTrust,
  type FileLogOptions,
  proveEntry,
  proverOver,
  readEvidence,
  verdictText,
  verifyEvidence,
  withLogOfFile,
} from './evidence.js';
import { narrativePage } from './narrative.js';
import { oneLine, printable } from '../domain/printable.js';
import { CliError, developmentFile, UUID } from './target.js';

const json = () => new Option('--json', 'print JSON instead of a table');

/** What an operator does without curl: look at what waits, decide, read a call's rows, verify the ledger. */
export function registerOperatorCommands(program: Command): void {
  program
    .command('pending')
    .description('list the calls that wait for a decision, or show one with its arguments')
    .argument('[id]', 'a call, by the id of its row or its correlation id')
    .addOption(
      new Option('--status <status>', 'which rows')
        .choices(['pending', 'approved', 'denied', 'expired'])
        .default('pending'),
    )
    .addOption(new Option('--limit <n>', 'at most so many rows').default(200).argParser(Number))
    .addOption(
      new Option('--sort <order>', 'by when they were parked; without it what waits is listed oldest first').choices(
        reviewOrder.options,
      ),
    )
    .addOption(endpoint())
    .addOption(decideToken())
    .addOption(json())
    .action(async (id: string | undefined, { status, limit, sort, json: asJson, ...given }: PendingOptions) => {
      const target = located(given);
      if (!Number.isInteger(limit) || limit < 1 || limit > 500)
        throw new CliError('--limit is a number from 1 to 500', 2);
      if (id !== undefined) {
        if (!UUID.test(id)) throw new CliError(`${id} is not an id; \`gate pending\` lists them`, 2);
        const row = target.endpoint ? await rowOfLite(target, id) : await pendingRow(id);
        return asJson ? print(row) : void process.stdout.write(details(row));
      }
      const order = sort ?? (status === 'pending' ? 'oldest' : 'newest');
      const query = `/pending?status=${status}&limit=${limit}&sort=${order}`;
      const rows = await asOperator<PendingRequest[]>(target, 'GET', query);
      if (asJson) return print(rows);
      if (rows.length === 0) return void process.stdout.write(`(nothing is ${status})\n`);
      const table = new Table({
        head: ['id', 'agent', 'tool', 'why', 'expires', 'status'],
        style: { head: [], border: [] },
        wordWrap: true,
      });
      for (const row of rows)
        table.push(
          [row.id, row.agent_id, toolOf(row), row.risk_summary.slice(0, 60), expiry(row), row.status].map(oneLine),
        );
      process.stdout.write(`${table.toString()}\n`);
      const where = target.endpoint ? ` --endpoint ${target.endpoint}` : '';
      if (status === 'pending')
        process.stdout.write(
          `\nlook at one: gate pending <id>${where}\ndecide with: gate decide <id> approve|deny --reason "…"${where}\n`,
        );
    });

  program
    .command('decide')
    .description('approve or deny a call that waits; the first decision stands')
    .argument('<id>', 'id of the pending row, or the correlation id of the call')
    .argument('<decision>', 'approve or deny')
    .option('--reason <text>', 'recorded with the decision and told to the agent')
    .addOption(endpoint())
    .addOption(decideToken())
    .addOption(json())
    .action(
      async (
        id: string,
        decision: string,
        { reason, json: asJson, ...given }: { reason?: string; json?: boolean } & LiteTarget,
      ) => {
        const target = located(given);
        if (!UUID.test(id)) throw new CliError(`${id} is not an id; \`gate pending\` lists them`, 2);
        if (decision !== 'approve' && decision !== 'deny')
          throw new CliError(`a decision is approve or deny, not ${decision}`, 2);
        // Lite finds a row by either id itself.
        const rowId = target.endpoint ? id : (await pendingRow(id)).id;
        const decided = await asOperator<PendingRequest>(target, 'POST', `/decide/${rowId}`, {
          decision,
          ...(reason && { reason }),
          decided_via: 'console',
        });
        if (asJson) return print(decided);
        process.stdout.write(
          `${decided.status}: ${oneLine(`${toolOf(decided)} for ${decided.agent_id}, by ${decided.decided_by}`)}\n`,
        );
        if (decided.status === 'approved')
          process.stdout.write(
            `Gate executes it now, unless its agent only asked for a decision; see \`gate audit ${decided.correlation_id}\`\n`,
          );
      },
    );

  program
    .command('audit')
    .description('print the ledger rows of one call, in order; on a file also those of an agent, or the newest')
    .argument('[agent | correlation id]', 'the X-Gate-Correlation-Id of a call, or the name of an agent')
    .addOption(ledgerFile())
    .addOption(new Option('--limit <n>', 'at most so many rows, the newest').default(50).argParser(Number))
    .addOption(json())
    .action(
      async (
        id: string | undefined,
        { ledger: given, limit, json: asJson }: { ledger?: string; limit: number; json?: boolean },
      ) => {
        const ledger = fileTarget(given);
        if (!Number.isInteger(limit) || limit < 1) throw new CliError('--limit is a number from 1', 2);
        if (!ledger && (id === undefined || !UUID.test(id)))
          throw new CliError('the running stack is asked by correlation id; give one, or --ledger FILE', 2);
        const rows = ledger
          ? await withLedgerFile(ledger, (opened) => rowsOfFile(opened, id, limit))
          : await asConsole<LedgerEntry[]>('ledger', 'GET', `/audit/correlation/${id ?? ''}`);
        if (asJson) return print(rows);
        if (rows.length === 0) throw new CliError(`the ledger has no rows${id === undefined ? '' : ` of ${id}`}`);
        const ofCall = id !== undefined && UUID.test(id);
        const table = new Table({
          head: [
            'seq',
            'time',
            ...(ofCall ? [] : ['agent', 'tool', 'correlation id']),
            'event',
            'authorized',
            'why',
            'entry hash',
          ],
          style: { head: [], border: [] },
          wordWrap: true,
        });
        for (const row of rows)
          table.push(
            [
              String(row.seq),
              row.timestamp,
              ...(ofCall ? [] : [row.agent_id, row.tool_type ?? '', row.correlation_id ?? '']),
              row.event_kind ?? row.method,
              String(row.authorized),
              story(row),
              row.entry_hash.slice(0, 16),
            ].map(oneLine),
          );
        process.stdout.write(`${table.toString()}\n`);
      },
    );

  program
    .command('narrative')
    .description('tell what an agent did lately, with the rows the story rests on')
    .argument('<agent>', 'the name of the agent')
    .addOption(
      new Option('--window <window>', 'how far back').choices(narrativeWindow.options).default('7d' as NarrativeWindow),
    )
    .addOption(ledgerFile())
    .addOption(json())
    .action(
      async (
        agentId: string,
        { ledger: given, window, json: asJson }: { ledger?: string; window: NarrativeWindow; json?: boolean },
      ) => {
        const ledger = fileTarget(given);
        const told = ledger
          ? await withLedgerFile(ledger, (opened) => opened.narrative({ agentId, window }))
          : await asConsole<Narrative>(
              'ledger',
              'GET',
              `/audit/agents/${encodeURIComponent(agentId)}/narrative?window=${window}`,
            );
        if (asJson) print(told);
        else process.stdout.write(narrativePage(told));
      },
    );

  program
    .command('checkpoint')
    .description('print the signed checkpoint of the ledger; who keeps it can prove later that the log only grew')
    .option('--out <file>', 'write it to a file instead')
    .addOption(ledgerFile())
    .addOption(logKey())
    .addOption(logOrigin())
    .action(async ({ out, ledger: given, ...by }: FileLogOptions & { out?: string; ledger?: string }) => {
      const ledger = ledgerOf(given, by);
      const checkpoint = ledger
        ? await withLedgerFile(ledger, (opened) => withLogOfFile(opened, ledger, by, (log) => log.checkpoint()))
        : await textAsConsole('ledger', 'GET', '/checkpoint');
      if (out === undefined) process.stdout.write(checkpoint);
      else writeFileSync(out, checkpoint);
    });

  program
    .command('prove')
    .description('write a proof bundle of one ledger row: `gate verify --bundle` checks it without Gate')
    .argument('<seq | entry id>', 'the row')
    .requiredOption('--out <file>', 'where to; overwritten')
    .option('--since <file>', 'a checkpoint that was kept: the bundle then proves that the log only grew since')
    .addOption(ledgerFile())
    .addOption(logKey())
    .addOption(logOrigin())
    .action(async (row: string, { out, since, ledger: given, ...by }: ProveOptions) => {
      const seq = /^[1-9][0-9]{0,15}$/.test(row) ? Number(row) : null;
      if (seq === null && !UUID.test(row)) throw new CliError(`${row} is neither a seq nor the id of an entry`, 2);
      const entry = seq === null ? { id: row } : { seq };
      const kept = since === undefined ? undefined : readEvidence(since).toString('utf8');
      const ledger = ledgerOf(given, by);
      const bundle = ledger
        ? await withLedgerFile(ledger, (opened) =>
            withLogOfFile(opened, ledger, by, (log) => proveEntry(log, entry, kept)),
          )
        : await proveEntry(
            proverOver((path) => asConsole('ledger', 'GET', path)),
            entry,
            kept,
          );
      writeFileSync(out, `${JSON.stringify(bundle, null, 2)}\n`);
      process.stdout.write(`${out}: entry ${bundle.inclusion.seq} in a log of ${bundle.inclusion.tree_size} entries\n`);
    });

  program
    .command('verify')
    .description('walk the whole ledger chain; exits 2 where it does not hold')
    .addOption(ledgerFile())
    .option('--bundle <file>', 'check this file of evidence offline instead: a proof bundle of `gate prove`')
    .option('--key <vkey>', "the log's verifier key, or a file with it; without it the bundle's own is taken")
    .addOption(
      new Option('--witness <vkey...>', 'verifier keys of witnesses, or files with them').implies({ witnesses: 1 }),
    )
    .option('--witnesses <n>', 'how many of them must have cosigned', Number)
    .option('--expect-head <hash>', 'the head that was noted elsewhere; another one is an invalid chain')
    .option('--expect-length <n>', 'the length that was noted elsewhere', Number)
    .addOption(json())
    .action(async ({ ledger: given, expectHead, expectLength, bundle, json: asJson, ...trust }: VerifyOptions) => {
      if (bundle !== undefined) {
        const verdict = await verifyEvidence(bundle, trust);
        if (asJson) print(verdict);
        else process.stdout.write(verdictText(verdict));
        if (!verdict.valid) process.exitCode = 2;
        return;
      }
      const ledger = fileTarget(given);
      const walked = ledger
        ? await withLedgerFile(ledger, (opened) => opened.verify())
        : await asConsole<VerifyResult>('ledger', 'GET', '/verify');
      const result = compared(walked, expectHead, expectLength);
      if (asJson) print(result);
      else if (result.valid)
        process.stdout.write(
          `the chain holds: ${result.entries_checked} entries\nhead ${result.commitment?.head_hash ?? '-'} length ${result.commitment?.length ?? 0}\n`,
        );
      else if (result.unsupported_chain_version !== undefined)
        process.stdout.write(`UNSUPPORTED chain version ${result.unsupported_chain_version}: upgrade this verifier\n`);
      else
        process.stdout.write(
          `INVALID: tamper detected at seq ${result.first_invalid_seq} (${result.entries_checked} valid entries before it)\n`,
        );
      if (!result.valid) process.exitCode = 2;
    });
}

interface PendingOptions extends LiteTarget {
  readonly status: string;
  readonly limit: number;
  readonly sort?: ReviewOrder;
  readonly json?: boolean;
}

interface ProveOptions extends FileLogOptions {
  readonly out: string;
  readonly since?: string;
  readonly ledger?: string;
}

interface VerifyOptions extends EvidenceTrust {
  readonly bundle?: string;
  readonly ledger?: string;
  readonly expectHead?: string;
  readonly expectLength?: number;
  readonly json?: boolean;
}

/** A lite process by its address. Without one the running stack of this folder is meant. */
interface LiteTarget {
  readonly endpoint?: string;
  readonly decideToken?: string;
}
const DEFAULT_LITE = 'http://127.0.0.1:8088';
const endpoint = () =>
  new Option(
    '--endpoint <url>',
    `a lite process; without it the running stack of this folder, or ${DEFAULT_LITE} where none is known`,
  ).env('GATE_LITE_URL');
const decideToken = () =>
  new Option('--decide-token <token>', 'its decide token; better given as a variable').env('GATE_LITE_DECIDE_TOKEN');
const ledgerFile = () =>
  new Option('--ledger <file>', 'this ledger file instead of the running stack').env('GATE_LITE_LEDGER');

const logKey = () =>
  new Option(
    '--key <file>',
    'for a ledger file: the Ed25519 key (PEM) that signs its checkpoint, or the public or verifier key of the log whose newest one is taken',
  );
const logOrigin = () =>
  new Option('--origin <name>', 'for a ledger file: the name of the log that --key signs for').env(
    'GATE_LEDGER_ORIGIN',
  );

/** The file that proofs are to be made from; the running stack signs with a key of its own. */
function ledgerOf(given: string | undefined, { key }: FileLogOptions): string | null {
  const ledger = fileTarget(given);
  if (ledger === null && key !== undefined) throw new CliError('--key is for a ledger file: give --ledger, too', 2);
  return ledger;
}

const stackIsKnown = () => existsSync(join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'dev.json'));

/** Lite where it listens by default, when nothing else can be meant. */
const located = (target: LiteTarget): LiteTarget =>
  target.endpoint === undefined && !process.env.GATE_STATE_DIR && !stackIsKnown()
    ? { ...target, endpoint: DEFAULT_LITE }
    : target;

/** The file that is named; `gate-lite.db` where it lies here and no stack is known; else the running stack is meant. */
function fileTarget(given: string | undefined): string | null {
  if (given !== undefined) return given;
  return !stackIsKnown() && existsSync('gate-lite.db') ? 'gate-lite.db' : null;
}

/** Oldest first: one call's rows, an agent's newest, or the newest of all. */
async function rowsOfFile(ledger: LedgerReader, id: string | undefined, limit: number): Promise<LedgerEntry[]> {
  if (id === undefined) return (await ledger.newest(limit)).toReversed();
  return UUID.test(id) ? ledger.byCorrelation(id) : (await ledger.byAgent(id, { limit })).toReversed();
}

/** A chain cut off at its end is a valid shorter chain; only what was noted elsewhere tells. */
function compared(result: VerifyResult, head: string | undefined, length: number | undefined): VerifyResult {
  if (!result.valid || !result.commitment) return result;
  const { head_hash, length: found } = result.commitment;
  if ((head === undefined || head === head_hash) && (length === undefined || length === found)) return result;
  return {
    ...result,
    valid: false,
    first_invalid_seq: Math.min(found, length ?? found) + 1,
    first_invalid_reason: 'expected_head',
  };
}

function asOperator<T>(
  { endpoint: url, decideToken: token }: LiteTarget,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  return url === undefined
    ? asConsole<T>('hil', method, path, body)
    : asLiteOperator<T>(url, token, method, path, body);
}

async function asLiteOperator<T>(
  url: string,
  token: string | undefined,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  let response: Response;
  try {
    response = await fetch(new URL(path, url), {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
  } catch (error) {
    throw new CliError(
      url === DEFAULT_LITE && !stackIsKnown()
        ? `no gate lite answers at ${url}, and no running stack is known here; start \`npx gate lite\` or \`npm start\``
        : `no gate lite answers at ${url}; is it running? (${error instanceof Error ? error.message : 'no reason given'})`,
      5,
    );
  }
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  throw new CliError(refusalText(response.status, text), LITE_EXIT[response.status] ?? (response.status < 500 ? 2 : 5));
}
/** Lite sheet 16. */
const LITE_EXIT: Readonly<Record<number, number>> = { 401: 3, 403: 3, 404: 4, 409: 4 };

function refusalText(status: number, text: string): string {
  let refused: { error?: string; reason?: string; reasoning?: string; decided_by?: string; status?: string } = {};
  try {
    refused = JSON.parse(text) as typeof refused;
  } catch {
    // Not Gate's own answer; its text is shown as it is.
  }
  const who = refused.decided_by ? ` (${refused.status} by ${refused.decided_by})` : '';
  return `${refused.error ?? status}: ${oneLine(refused.reason ?? refused.reasoning ?? text.slice(0, 200))}${who}`;
}

async function withLedgerFile<T>(
  file: string,
  use: (ledger: ReturnType<typeof openLedgerReadOnly>) => Promise<T>,
): Promise<T> {
  const opened = readOnly(file);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

function readOnly(file: string): ReturnType<typeof openLedgerReadOnly> {
  try {
    return openLedgerReadOnly(file, { sidecarKeys: keysBeside(file) });
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}

const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);

/** Everything an approver needs to see of a call, its arguments above all. */
function details(row: PendingRequest): string {
  const { params } = row.request_payload;
  const shown = params && typeof params === 'object' && !Array.isArray(params) ? (params.arguments ?? params) : params;
  const decided = [row.decided_by && `by ${row.decided_by}`, row.decision_reason].filter(Boolean).join(': ');
  const lines = {
    id: row.id,
    'correlation id': row.correlation_id,
    status: row.status === 'pending' ? `pending, expires ${expiry(row)}` : `${row.status} ${decided}`.trim(),
    agent: row.agent_id,
    tool: toolOf(row),
    why: row.risk_summary,
  };
  const head = Object.entries(lines).map(([name, value]) => `${name.padEnd(14)} ${oneLine(value)}\n`);
  return `${head.join('')}arguments\n${printable(JSON.stringify(shown ?? {}, null, 2))}\n`;
}

const expiry = (row: PendingRequest): string => {
  const leftSecs = Math.round((Date.parse(row.created_at) + row.ttl_seconds * 1000 - Date.now()) / 1000);
  return leftSecs > 0 ? `in ${leftSecs} s` : 'past';
};

/** What an event came to, in the words of its row. */
function story(row: LedgerEntry): string {
  const { stage, status_code } = row.policy_decision ?? {};
  if (typeof stage === 'string')
    return `${stage} ${typeof status_code === 'number' ? status_code : ''} ${row.reasoning}`
      .replaceAll(/ +/g, ' ')
      .trim();
  return [row.decided_by && `by ${row.decided_by}`, row.reasoning].filter(Boolean).join(': ').slice(0, 120);
}

/** Lite shows an agent its own call under `/pending/{id}`; an operator finds a row in the list. */
async function rowOfLite(target: LiteTarget, id: string): Promise<PendingRequest> {
  const [row] = await asOperator<PendingRequest[]>(target, 'GET', `/pending?id=${id}`);
  if (!row) throw new CliError(`not_found: no pending row ${id}`, 4);
  return row;
}

async function pendingRow(id: string): Promise<PendingRequest> {
  try {
    return await asConsole<PendingRequest>('hil', 'GET', `/pending/${id}`);
  } catch (error) {
    if (!(error instanceof CliError && error.exitCode === 4)) throw error;
    return asConsole<PendingRequest>('hil', 'GET', `/pending/by-correlation/${id}`);
  }
}

/** Calls a service of the running stack as the console does: its workload certificate and the operator's token. */
async function asConsole<T>(service: 'hil' | 'ledger', method: string, path: string, body?: object): Promise<T> {
  return JSON.parse(await textAsConsole(service, method, path, body)) as T;
}

async function textAsConsole(service: 'hil' | 'ledger', method: string, path: string, body?: object): Promise<string> {
  const stack = developmentFile();
  const trustDomain = /^spiffe:\/\/([^/]+)\//.exec(stack.proxy.agent_spiffe)?.[1] ?? 'gate.local';
  const fetch = createMtlsFetch({
    ca: readFileSync(stack.proxy.ca, 'utf8'),
    cert: readFileSync(stack.console_workload.cert, 'utf8'),
    key: readFileSync(stack.console_workload.key, 'utf8'),
    expectedServerSpiffe: serviceSpiffe(trustDomain, service),
    timeoutMs: 60_000,
  });
  let response: { status: number; text(): Promise<string> };
  try {
    response = await fetch(`${stack[service].url}${path}`, {
      method,
      headers: { authorization: `Bearer ${stack.operator_token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw new CliError(
      `the ${service} service of this stack does not answer at ${stack[service].url}; is it running? (${error instanceof Error ? error.message : 'no reason given'})`,
      5,
    );
  }
  const text = await response.text();
  if (response.status < 300) return text;
  throw new CliError(refusalText(response.status, text), response.status === 404 ? 4 : 1);
}
