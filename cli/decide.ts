import type { Command } from 'commander';
import { type PendingRequest, toolOf } from '../contracts/review.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { diffOf, type ModificationFlags } from './modification.js';
import { gateCommand, json, print } from './output.js';
import { decideToken, endpoint, UUID, operatorTarget } from './target.js';
import type { LiteFlags } from './lite-target.js';
import { rowOfStack } from './stack-target.js';

/** `gate decide`: approves, denies or modifies a call that waits. */
export function registerDecide(program: Command): void {
  program
    .command('decide')
    .description('approve, deny or modify a call that waits; the first decision stands')
    .argument('<id>', 'id of the pending row, or the correlation id of the call')
    .argument('<decision>', 'approve, deny or modify')
    .option('--reason <text>', 'recorded with the decision and told to the agent')
    .option(
      '--set <path=value>',
      'with modify: an argument and its new value (repeatable), as in --set amount=100',
      (given: string, before: readonly string[]) => [...before, given],
      [] as readonly string[],
    )
    .option('--modify <file>', 'with modify: a JSON file with the replacements')
    .option(
      '--as <operator>',
      'decide as another operator of the development stack (`second`); a strict call needs two',
    )
    .addOption(endpoint())
    .addOption(decideToken())
    .option('--action-digest <digest>', 'original_payload_digest of the call as you saw it: another call is refused')
    .addOption(json())
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
        }: { reason?: string; actionDigest?: string; as?: string; json?: boolean } & ModificationFlags & LiteFlags,
      ) => {
        const target = operatorTarget(given, operator);
        if (operator !== undefined && target.kind === 'lite')
          throw new CliError('--as is for the operators of a stack; lite knows who decides by the decide token', 2);
        if (!UUID.test(id)) throw new CliError(`${id} is not an id; \`gate pending\` lists them`, 2);
        if (decision !== 'approve' && decision !== 'deny' && decision !== 'modify')
          throw new CliError(`a decision is approve, deny or modify, not ${decision}`, 2);
        if (decision !== 'modify' && (set.length > 0 || modify !== undefined))
          throw new CliError(`--set and --modify belong to modify, not to ${decision}`, 2);
        const diff = decision === 'modify' ? await diffOf({ set, modify }) : null;
        // Lite accepts either id itself.
        const row = target.kind === 'lite' ? null : await rowOfStack(target, id);
        const rowId = row?.id ?? id;
        const digest = actionDigest ?? row?.original_payload_digest;
        const decided = await target.ask<PendingRequest>('hil', 'POST', `/decide/${rowId}`, {
          decision,
          ...(diff && { modification_diff: diff }),
          ...(reason && { reason }),
          decided_via: 'console',
          ...(digest !== undefined && { action_digest: digest }),
        });
        if (asJson) return print(decided);
        if (decided.status === 'pending') {
          const { approvals = [], required_approvers: required = 1 } = decided;
          process.stdout.write(
            `${approvals.length} of ${required} approvals: ${oneLine(`${toolOf(decided)} for ${decided.agent_id}, by ${approvals.map(({ by }) => by).join(', ')}`)}\n` +
              'it still waits: somebody else must approve too, or deny\n',
          );
          return;
        }
        const outcome = diff && decided.status === 'approved' ? 'approved with changes' : decided.status;
        process.stdout.write(
          `${outcome}: ${oneLine(`${toolOf(decided)} for ${decided.agent_id}, by ${decided.decided_by}`)}\n`,
        );
        if (diff && decided.status === 'denied')
          process.stdout.write(`${oneLine(decided.decision_reason ?? 'the changed call may not run')}\n`);
        if (decided.status === 'approved')
          process.stdout.write(
            `Gate executes it now, unless its agent only asked for a decision; see \`${gateCommand()} audit ${decided.correlation_id}\`\n`,
          );
      },
    );
}
