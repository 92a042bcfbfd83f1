import type { Command } from 'commander';
import { toolOf } from '../contracts/call-methods.js';
import {
  type DecisionSurface,
  MODIFICATION_CONTRACT,
  type ModificationDiff,
  type PendingRequest,
} from '../contracts/review.js';
import { oneLine } from '../domain/printable.js';
import { changesTold } from '../domain/decision/modification.js';
import { isRehearsal, REHEARSAL, REHEARSAL_TOLD } from '../domain/review/rehearsal.js';
import { type CallEnd, endTold } from '../domain/evidence/ended.js';
import { cameOfIt } from './came-of-it.js';
import { CliError } from './errors.js';
import { assertSameTypes, diffOf, type ModificationFlags } from './modification.js';
import { gateCommand, json, print } from './output.js';
import { type ConsoleFlags, consoleAt, decideToken, endpoint } from './target.js';
import type { LiteFlags } from './lite-target.js';
import { rowToDecide } from './row-id.js';
import { consoleOfStack } from './stack-target.js';
import { standingOf } from '../domain/decision/quorum.js';
import { whileWaiting } from './while-waiting.js';

const ID = '97c45fb7-2f0e-5c1d-8a3b-6e4d9f01c2b7';
const EXAMPLES = `
examples:
  gate decide ${ID} approve --reason "invoice 4711"
  gate decide ${ID} deny --reason "not our vendor"
  gate decide ${ID} modify --set amount=100 --set limits.max=5
  gate decide ${ID} modify --modify change.json
  gate decide ${ID} approve --as second`;

/** Below the options of `gate decide --help`. */
const MODIFY_HELP = `
A modify is judged again, and is final either way: where the changed call is denied, or needs a higher tier than
the one that waits, the call is DENIED for good. Nothing runs, the exit code is 1, and its agent must ask anew.

A file for --modify names arguments as the call has them, {"amount": 100, "limits": {"max": 5}}, and only values
that change; or it is the diff of the API: {"contract": "${MODIFICATION_CONTRACT}",
"replacements": [{"path": ["limits", "max"], "value": 5}]}. A new value is a text, a number, true, false or null.`;

/** What came of a change that was judged and refused. */
const deniedChange = (row: PendingRequest): string =>
  oneLine(
    `denied: ${toolOf(row)} for ${row.agent_id}, by ${row.decided_by}: ${row.decision_reason ?? 'the changed call may not run'}; this is final: nothing runs, and its agent must ask anew`,
  );

/** `gate decide`: approves, denies or modifies a call that waits. */
export function registerDecide(program: Command): void {
  program
    .command('decide')
    .description(
      'approve, deny or modify a call that waits; the first decision stands. `gate pending` lists what waits',
    )
    .argument('<id>', 'the call: the whole id of its row, as `gate pending` lists it, or its correlation id')
    .argument(
      '<decision>',
      'approve: it runs. deny: it does not. modify: it runs with other arguments (--set or --modify), where policy lets that',
    )
    .option('--reason <text>', 'why; recorded with the decision and told to the agent')
    .option(
      '--set <path=value>',
      'with modify: an argument and its new value, as in --set amount=100; one --set for each',
      (given: string, before: readonly string[] | undefined) => [...(before ?? []), given],
    )
    .option(
      '--modify <file>',
      'with modify: a JSON file with the arguments to change and their new values, as in {"amount": 100}',
    )
    .option(
      '--as <operator>',
      "decide as another operator of the stack of this folder; `npm start` makes one that is called `second`, since a strict call needs two people (one, where it is the demonstration's)",
    )
    .addOption(endpoint())
    .addOption(decideToken())
    .addOption(consoleAt())
    .option(
      '--action-digest <digest>',
      'decide only if the call has this original_payload_digest, as `gate pending <id> --json` has it; without it the call as it is now',
    )
    .addOption(json())
    .addHelpText('after', EXAMPLES)
    .addHelpText('after', MODIFY_HELP)
    .action(
      async (
        id: string,
        decision: string,
        {
          reason,
          actionDigest,
          as: operator,
          json: asJson,
          set,
          modify,
          ...given
        }: { reason?: string; actionDigest?: string; as?: string; json?: boolean } & ModificationFlags &
          LiteFlags &
          ConsoleFlags,
      ) => {
        const { reviewTarget } = await import('./review-target.js');
        const target = reviewTarget(given, operator);
        if (operator !== undefined && target.kind === 'lite')
          throw new CliError('--as is for the operators of a stack; lite knows who decides by the decide token', 2);
        if (decision !== 'approve' && decision !== 'deny' && decision !== 'modify')
          throw new CliError(`a decision is approve, deny or modify, not ${decision}`, 2);
        if (decision !== 'modify' && (set !== undefined || modify !== undefined))
          throw new CliError(`--set and --modify belong to modify, not to ${decision}`, 2);
        const change = decision === 'modify' ? await diffOf({ set, modify }) : null;
        const diff = change?.diff ?? null;
        const row = await rowToDecide(target, id);
        if (change && !change.whole) assertSameTypes(change.diff, row);
        const digest = actionDigest ?? row.original_payload_digest;
        const decide = () =>
          target.ask<PendingRequest>('hil', 'POST', `/decide/${row.id}`, {
            decision,
            ...(diff && { modification_diff: diff }),
            ...(reason && { reason }),
            decided_via: 'command-line' satisfies DecisionSurface,
            ...(digest !== undefined && { action_digest: digest }),
          });
        const waiting = <Value>(what: string, work: () => Promise<Value>): Promise<Value> =>
          asJson ? work() : whileWaiting(() => what, work);
        const decided = await waiting('waiting for Gate to record the decision', decide).catch((error: unknown) => {
          const console = target.kind === 'person' ? target.console : consoleOfStack();
          throw console === null ? error : withPage(error, `${console}/hil/${row.id}`);
        });
        if (asJson) print(decided);
        if (diff && decided.status === 'denied') throw new CliError(deniedChange(decided));
        const isAwaited = decided.status === 'approved' && !isRehearsal(row);
        const came = isAwaited
          ? await waiting('approved; waiting for what comes of the call', () =>
              cameOfIt(target, decided.correlation_id),
            )
          : null;
        if (!asJson) process.stdout.write(told(decided, { diff, before: row, came }));
        const end = came && endTold(came);
        if (end && !end.isGood) throw new CliError(oneLine(`approved. ${end.words}`));
      },
    );
}

/** A refusal for want of a passkey's signature, with the page that asks the passkey. */
export const withPage = (error: unknown, page: string): unknown =>
  error instanceof CliError && error.code === 'passkey_required'
    ? new CliError(`${error.message} Sign and approve at ${page}`, error.exitCode, error.code)
    : error;

/** What came of a decision, in lines. `before`: the row as it was read, where it was. */
export function told(
  row: PendingRequest,
  {
    diff,
    before,
    came = null,
  }: { readonly diff: ModificationDiff | null; readonly before: PendingRequest; readonly came?: CallEnd | null },
): string {
  const what = `${isRehearsal(before) ? `${REHEARSAL} ` : ''}${toolOf(row)} for ${row.agent_id}`;
  if (row.status === 'pending') {
    const { approvals = [], required_approvers: required = 1 } = row;
    const again = standingOf(before.approvals).length === standingOf(approvals).length;
    return (
      `${standingOf(approvals).length} of ${required} approvals: ${oneLine(`${what}, by ${approvals.map(({ by }) => by).join(', ')}`)}\n` +
      `${again ? 'you had approved it before, which counts once; ' : ''}it still waits: somebody else must approve too, or deny (in the development stack: --as second)\n`
    );
  }
  const outcome =
    diff && row.status === 'approved' ? `approved with changes (${oneLine(changesTold(diff))})` : row.status;
  if (isRehearsal(before)) return `${outcome}: ${oneLine(`${what}, by ${row.decided_by}`)}\n${REHEARSAL_TOLD}\n`;
  const end = came && endTold(came);
  const runs = end
    ? end.isGood
      ? `${end.words}\n`
      : ''
    : row.status !== 'approved'
      ? ''
      : `Gate executes it now, unless its agent only asked for a decision; see \`${gateCommand()} audit ${row.correlation_id}\`\n`;
  return `${outcome}: ${oneLine(`${what}, by ${row.decided_by}`)}\n${runs}`;
}
