import type { Command } from 'commander';
import { type PendingRequest, toolOf } from '../contracts/review.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { json, print } from './output.js';
import { decideToken, endpoint, UUID, operatorTarget } from './target.js';
import type { LiteFlags } from './lite-target.js';
import { rowOfStack } from './stack-target.js';

/** `gate decide`: approves or denies a call that waits. */
export function registerDecide(program: Command): void {
  program
    .command('decide')
    .description('approve or deny a call that waits; the first decision stands')
    .argument('<id>', 'id of the pending row, or the correlation id of the call')
    .argument('<decision>', 'approve or deny')
    .option('--reason <text>', 'recorded with the decision and told to the agent')
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
          ...given
        }: { reason?: string; actionDigest?: string; as?: string; json?: boolean } & LiteFlags,
      ) => {
        const target = operatorTarget(given, operator);
        if (operator !== undefined && target.kind === 'lite')
          throw new CliError('--as is for the operators of a stack; lite knows who decides by the decide token', 2);
        if (!UUID.test(id)) throw new CliError(`${id} is not an id; \`gate pending\` lists them`, 2);
        if (decision !== 'approve' && decision !== 'deny')
          throw new CliError(`a decision is approve or deny, not ${decision}`, 2);
        // Lite accepts either id itself.
        const row = target.kind === 'lite' ? null : await rowOfStack(target, id);
        const rowId = row?.id ?? id;
        const digest = actionDigest ?? row?.original_payload_digest;
        const decided = await target.ask<PendingRequest>('hil', 'POST', `/decide/${rowId}`, {
          decision,
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
        process.stdout.write(
          `${decided.status}: ${oneLine(`${toolOf(decided)} for ${decided.agent_id}, by ${decided.decided_by}`)}\n`,
        );
        if (decided.status === 'approved')
          process.stdout.write(
            `Gate executes it now, unless its agent only asked for a decision; see \`npx gate audit ${decided.correlation_id}\`\n`,
          );
      },
    );
}
