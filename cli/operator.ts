import { readFileSync } from 'node:fs';
import Table from 'cli-table3';
import { Option, type Command } from 'commander';
import { createMtlsFetch } from '../activities/clients/mtls-fetch.js';
import type { LedgerEntry, VerifyResult } from '../contracts/ledger.js';
import type { PendingRequest } from '../contracts/review.js';
import { openLedgerReadOnly } from '../domain/ledger/read-only.js';
import { serviceSpiffe } from '../domain/identity/spiffe.js';
import { CliError, developmentFile, UUID } from './target.js';

const json = () => new Option('--json', 'print JSON instead of a table');

/** What an operator does without curl: look at what waits, decide, read a call's rows, verify the ledger. */
export function registerOperatorCommands(program: Command): void {
  program
    .command('pending')
    .description('list the calls that wait for a decision')
    .addOption(
      new Option('--status <status>', 'which rows')
        .choices(['pending', 'approved', 'denied', 'expired'])
        .default('pending'),
    )
    .addOption(json())
    .action(async ({ status, json: asJson }: { status: string; json?: boolean }) => {
      const rows = await asConsole<PendingRequest[]>('hil', 'GET', `/pending?status=${status}`);
      if (asJson) return print(rows);
      if (rows.length === 0) return void process.stdout.write(`(nothing is ${status})\n`);
      const table = new Table({
        head: ['id', 'agent', 'tool', 'why', 'expires', 'status'],
        style: { head: [], border: [] },
        wordWrap: true,
      });
      for (const row of rows)
        table.push([row.id, row.agent_id, toolOf(row), row.risk_summary.slice(0, 60), expiry(row), row.status]);
      process.stdout.write(`${table.toString()}\n`);
      if (status === 'pending') process.stdout.write('\ndecide with: gate decide <id> approve|deny --reason "…"\n');
    });

  program
    .command('decide')
    .description('approve or deny a call that waits; the first decision stands')
    .argument('<id>', 'id of the pending row, or the correlation id of the call')
    .argument('<decision>', 'approve or deny')
    .option('--reason <text>', 'recorded with the decision and told to the agent')
    .addOption(json())
    .action(async (id: string, decision: string, { reason, json: asJson }: { reason?: string; json?: boolean }) => {
      if (!UUID.test(id)) throw new CliError(`${id} is not an id; \`gate pending\` lists them`, 2);
      if (decision !== 'approve' && decision !== 'deny')
        throw new CliError(`a decision is approve or deny, not ${decision}`, 2);
      const row = await pendingRow(id);
      const decided = await asConsole<PendingRequest>('hil', 'POST', `/decide/${row.id}`, {
        decision,
        ...(reason && { reason }),
        decided_via: 'console',
      });
      if (asJson) return print(decided);
      process.stdout.write(`${decided.status}: ${toolOf(decided)} for ${decided.agent_id}, by ${decided.decided_by}\n`);
      if (decided.status === 'approved')
        process.stdout.write(`Gate now executes the call; see \`gate audit ${decided.correlation_id}\`\n`);
    });

  program
    .command('audit')
    .description('print the ledger rows of one call, in order')
    .argument('<correlation id>', 'the X-Gate-Correlation-Id of the call')
    .option('--ledger <file>', 'read this ledger file instead of the running stack')
    .addOption(json())
    .action(async (id: string, { ledger, json: asJson }: { ledger?: string; json?: boolean }) => {
      if (!UUID.test(id)) throw new CliError(`${id} is not a correlation id`, 2);
      const rows = ledger
        ? await withLedgerFile(ledger, (opened) => opened.byCorrelation(id))
        : await asConsole<LedgerEntry[]>('ledger', 'GET', `/audit/correlation/${id}`);
      if (asJson) return print(rows);
      if (rows.length === 0) throw new CliError(`the ledger has no rows of ${id}`);
      const table = new Table({
        head: ['seq', 'time', 'event', 'authorized', 'why', 'entry hash'],
        style: { head: [], border: [] },
        wordWrap: true,
      });
      for (const row of rows)
        table.push([
          row.seq,
          row.timestamp,
          row.event_kind ?? row.method,
          String(row.authorized),
          story(row),
          row.entry_hash.slice(0, 16),
        ]);
      process.stdout.write(`${table.toString()}\n`);
    });

  program
    .command('verify')
    .description('walk the whole ledger chain; exits 2 where it does not hold')
    .option('--ledger <file>', 'verify this ledger file instead of the running stack')
    .addOption(json())
    .action(async ({ ledger, json: asJson }: { ledger?: string; json?: boolean }) => {
      const result = ledger
        ? await withLedgerFile(ledger, (opened) => opened.verify())
        : await asConsole<VerifyResult>('ledger', 'GET', '/verify');
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

async function withLedgerFile<T>(
  file: string,
  use: (ledger: ReturnType<typeof openLedgerReadOnly>) => Promise<T>,
): Promise<T> {
  const opened = openLedgerReadOnly(file);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);

const toolOf = (row: PendingRequest): string => {
  const { params } = row.request_payload;
  return params && typeof params === 'object' && !Array.isArray(params) && typeof params.name === 'string'
    ? params.name
    : row.method;
};

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
  if (response.status < 300) return JSON.parse(text) as T;
  const refused = JSON.parse(text) as { error?: string; reason?: string; decided_by?: string; status?: string };
  const who = refused.decided_by ? ` (${refused.status} by ${refused.decided_by})` : '';
  throw new CliError(
    `${refused.error ?? response.status}: ${refused.reason ?? text.slice(0, 200)}${who}`,
    response.status === 404 ? 4 : 1,
  );
}
