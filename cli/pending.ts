import { Option, type Command } from 'commander';
import { toolOf } from '../contracts/call-methods.js';
import { listedStatus, type ReviewOrder, reviewOrder } from '../contracts/review.js';
import { isRehearsal, REHEARSAL } from '../domain/review/rehearsal.js';
import { predictionOf } from '../domain/sandbox/told.js';
import { CliError } from './errors.js';
import { gateCommand, json, print } from './output.js';
import { details, expiry } from './review-text.js';
import { table } from './table.js';
import { type ConsoleFlags, consoleAt, decideToken, endpoint } from './target.js';
import { toldOn } from './wrapped.js';
import type { LiteFlags } from './lite-target.js';
import { allRows, rowMeant, wholeRow } from './row-id.js';

interface PendingOptions extends LiteFlags, ConsoleFlags {
  readonly status: string;
  readonly limit?: number;
  readonly sort?: ReviewOrder;
  readonly json?: boolean;
  readonly watch?: boolean;
}

const EXAMPLES = `
examples:
  gate pending                                  what waits, oldest first
  gate pending 97c45fb7                         one call, with its arguments and why it waits
  gate pending --watch                          follow what waits, and decide it by keys
  gate pending --status denied --limit 10       the ten that waited last and were denied
  gate pending --json                           the same as the API tells it
A call that is marked "rehearsal" was asked for by no agent: nothing runs, whatever is decided.`;

/** `gate pending`: lists the calls that wait for a person, or shows one in full. */
export function registerPending(program: Command): void {
  program
    .command('pending')
    .description("list the calls that wait for a person's decision, or show one with its arguments")
    .argument('[id]', 'show this call: by its id in the list, 8 or more digits of its beginning, or its correlation id')
    .addOption(
      new Option('--status <status>', 'list calls that ended so, instead of those that wait')
        .choices(listedStatus.options)
        .default('pending'),
    )
    .addOption(new Option('--limit <n>', 'list at most so many; without it all of them').argParser(Number))
    .addOption(
      new Option(
        '--sort <order>',
        'by when they began to wait; without it oldest first of what waits, newest first of what ended',
      ).choices(reviewOrder.options),
    )
    .option(
      '--watch',
      'a table that follows what happens, with keys to look and to decide, which its last line names; q ends it',
    )
    .addOption(endpoint())
    .addOption(decideToken())
    .addOption(consoleAt())
    .addOption(json())
    .addHelpText('after', EXAMPLES)
    .action(async (id: string | undefined, { status, limit, sort, json: asJson, watch, ...given }: PendingOptions) => {
      const { reviewTarget } = await import('./review-target.js');
      const target = reviewTarget(given);
      if (watch) {
        if (id !== undefined || asJson || limit !== undefined || sort !== undefined || status !== 'pending')
          throw new CliError('--watch shows what waits, and goes with no other choice of rows', 2);
        const { watchPending } = await import('./watch.js');
        return watchPending(target, (row) => wholeRow(target, row));
      }
      if (limit !== undefined && (!Number.isInteger(limit) || limit < 1))
        throw new CliError('--limit is a number from 1', 2);
      const where =
        target.kind === 'lite'
          ? ` --endpoint ${target.url}`
          : target.kind === 'person' && given.console !== undefined
            ? ` --console ${target.console}`
            : '';
      if (id !== undefined) {
        const row = await rowMeant(target, id);
        if (asJson) return print(row);
        process.stdout.write(toldOn(process.stdout, details(row, LONG_TEXT)));
        // The whole id, to be pasted: a decision takes no other. The decision is typed: in a shell `approve|deny` would approve.
        if (row.status === 'pending')
          process.stdout.write(
            `decide with: ${gateCommand()} decide ${row.id} DECISION --reason "…"${where}  (${DECISIONS})\n`,
          );
        return;
      }
      const order = sort ?? (status === 'pending' ? 'oldest' : 'newest');
      const rows = await allRows(target, `/pending?status=${status}&sort=${order}`, limit);
      if (asJson) return print(rows);
      if (rows.length === 0) return void process.stdout.write(`(nothing is ${status})\n`);
      const shown = table(
        [
          { head: 'id', whole: true },
          ...['agent', 'tool', 'why', 'sandbox', status === 'pending' ? 'expires' : 'ended', 'status'].map((head) => ({
            head,
          })),
        ],
        rows.map((row) => [
          row.id,
          row.agent_id,
          toolOf(row),
          row.risk_summary,
          predictionOf(row),
          row.status === 'pending' ? expiry(row) : (row.decided_at?.slice(0, 19).replace('T', ' ') ?? '-'),
          isRehearsal(row) ? `${row.status}, ${REHEARSAL}` : row.status,
        ]),
      );
      process.stdout.write(`${shown}\n`);
      if (status === 'pending')
        process.stdout.write(
          `\nlook at one: ${gateCommand()} pending <id>${where}\ndecide with: ${gateCommand()} decide <id> DECISION --reason "…"${where}  (${DECISIONS})\n`,
        );
    });
}

/** What `gate decide` takes. */
const DECISIONS = 'DECISION: approve, deny or modify';
/** Characters beyond which one text would push the rest out of sight; `--json` has it whole. */
const LONG_TEXT = 4_000;
