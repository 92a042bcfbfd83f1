import { Option, type Command } from 'commander';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { PendingRequest } from '../contracts/review.js';
import { CliError } from './errors.js';
import { gateCommand, json, print } from './output.js';
import { table } from './table.js';
import { type ConsoleFlags, consoleAt, ledgerFile } from './target.js';
import { changesIn } from '../domain/evidence/reports/summaries.js';
import type { LedgerReader } from '../domain/ledger/ports.js';
import { hasUuidForm } from '../domain/uuid.js';
import type { PersonTarget } from './person-target.js';
import { type StackTarget } from './stack-target.js';

/** `gate audit`: the rows of a call or an agent, or the newest rows. */
export function registerAudit(program: Command): void {
  program
    .command('audit')
    .description('print the ledger rows of one call or of an agent, or the newest, in order')
    .argument(
      '[agent | correlation id]',
      'the X-Gate-Correlation-Id of a call, the id of its review (not of a file), or the name of an agent',
    )
    .addOption(ledgerFile())
    .addOption(consoleAt())
    .addOption(new Option('--limit <n>', 'at most so many rows, the newest').default(50).argParser(Number))
    .addOption(json())
    .action(
      async (
        id: string | undefined,
        {
          ledger: given,
          limit,
          json: asJson,
          ...flags
        }: { ledger?: string; limit: number; json?: boolean } & ConsoleFlags,
      ) => {
        const { auditTarget } = await import('./review-target.js');
        const target = auditTarget(given, flags);
        if (!Number.isInteger(limit) || limit < 1) throw new CliError('--limit is a number from 1', 2);
        const rows =
          target.kind === 'file'
            ? await target.read((opened) => rowsOfFile(opened, id, limit))
            : target.kind === 'person'
              ? await rowsOfPerson(target, id, limit)
              : await rowsOfStack(target, id, limit);
        if (asJson) return print(rows);
        if (rows.length === 0) throw nothingOf(id);
        const ofCall = id !== undefined && hasUuidForm(id);
        const shown = table(
          [
            { head: 'seq' },
            { head: 'time', whole: true },
            ...(ofCall ? [] : [{ head: 'agent' }, { head: 'tool' }, { head: 'correlation id', whole: true }]),
            ...['event', 'authorized', 'why'].map((head) => ({ head })),
            { head: 'entry hash', whole: true },
          ],
          rows.map((row) => [
            String(row.seq),
            row.timestamp,
            ...(ofCall ? [] : [row.agent_id, row.tool_type ?? '', row.correlation_id ?? '']),
            row.event_kind ?? row.method,
            String(row.authorized),
            story(row),
            row.entry_hash.slice(0, 16),
          ]),
        );
        process.stdout.write(`${shown}\n`);
      },
    );
}

const nothingOf = (id: string | undefined): CliError => {
  const hint =
    id !== undefined && hasUuidForm(id)
      ? `: it wants the correlation id of a call, and \`${gateCommand()} pending ${id}\` says it where this is the id of a row`
      : '';
  return new CliError(`the ledger has no rows${id === undefined ? '' : ` of ${id}`}${hint}`, 4);
};

/** The rows of a call, by its correlation id or by the id of its review, which `gate pending` lists first. */
export async function rowsOfCall(target: Pick<StackTarget | PersonTarget, 'ask'>, id: string): Promise<LedgerEntry[]> {
  const rowsOf = (call: string) => target.ask<LedgerEntry[]>('ledger', 'GET', `/audit/correlation/${call}`);
  const rows = await rowsOf(id);
  if (rows.length > 0) return rows;
  try {
    return await rowsOf((await target.ask<PendingRequest>('hil', 'GET', `/pending/${id}`)).correlation_id);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 4) return [];
    throw error;
  }
}

/** By a query: an agent may have the name of a route. */
const rowsPath = (agent: string, limit: number): string =>
  `/audit/agent/rows?${new URLSearchParams({ agent_id: agent, limit: String(limit) }).toString()}`;

/** The same of the running stack. */
async function rowsOfStack(stack: StackTarget, id: string | undefined, limit: number): Promise<LedgerEntry[]> {
  const ask = <Answer>(path: string) => stack.ask<Answer>('ledger', 'GET', path);
  if (id !== undefined && hasUuidForm(id)) return rowsOfCall(stack, id);
  const agents = id === undefined ? (await ask<{ agents: string[] }>('/agents')).agents : [id];
  const rows: LedgerEntry[] = [];
  for (const agent of agents) rows.push(...(await ask<LedgerEntry[]>(rowsPath(agent, limit))));
  return rows.toSorted((one, other) => one.seq - other.seq).slice(-limit);
}

/** The same of a console, which knows the person's tenant and lists no agents of others. */
async function rowsOfPerson(person: PersonTarget, id: string | undefined, limit: number): Promise<LedgerEntry[]> {
  if (id !== undefined && hasUuidForm(id)) return rowsOfCall(person, id);
  const rows = await person.ask<LedgerEntry[]>('ledger', 'GET', rowsPath(id ?? '*', limit));
  return rows.toReversed();
}

/** In chain order: one call's rows, an agent's newest, or the newest of all. */
async function rowsOfFile(ledger: LedgerReader, id: string | undefined, limit: number): Promise<LedgerEntry[]> {
  if (id === undefined) return (await ledger.newest(limit)).toReversed();
  return hasUuidForm(id) ? ledger.byCorrelation(id) : (await ledger.byAgent(id, { limit })).toReversed();
}

/** What a row says, in one line. */
export function story(row: LedgerEntry): string {
  const { stage, status_code } = row.policy_decision ?? {};
  if (typeof stage === 'string')
    return `${stage} ${typeof status_code === 'number' ? status_code : ''} ${row.reasoning}`
      .replaceAll(/ +/g, ' ')
      .trim();
  const changes = row.event_kind === 'hil.modified' ? changesIn(row.policy_decision) : null;
  const by = row.decided_by && `by ${row.decided_by}`;
  return [by, changes, row.reasoning.slice(0, 120)].filter(Boolean).join(': ');
}
