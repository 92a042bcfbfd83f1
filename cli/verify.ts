import { Option, type Command } from 'commander';
import type { VerifyResult } from '../contracts/ledger.js';
import type { EntryName } from '../adapters/ledger/tlog/transparency-log.js';
import { CliError } from './errors.js';
import type { EvidenceTrust } from './evidence.js';
import { json, print } from './output.js';
import { asNoted, headHash, length, type Noted, notedText } from './noted.js';
import { ledgerFile, ledgerTarget } from './target.js';
import { type StackTarget } from './stack-target.js';

interface VerifyOptions extends EvidenceTrust {
  readonly bundle?: string;
  readonly approval?: string;
  readonly approverKey?: readonly string[];
  readonly ledger?: string;
  readonly expectHead?: string;
  readonly expectLength?: number;
  readonly json?: boolean;
}

/** `gate verify`: verifies the whole chain, or a file of evidence offline. */
export function registerVerify(program: Command): void {
  program
    .command('verify')
    .description('walk the whole ledger chain; exits 2 where it does not hold')
    .addOption(ledgerFile())
    .option(
      '--bundle <file>',
      'check this file of evidence offline instead; exits 2 unless somebody you name signed what it says',
    )
    .option(
      '--key <vkey>',
      "the log's verifier key or its public key (PEM), or a file with it; of the report of a stop, the certificate of the CA",
    )
    .addOption(
      new Option('--trusted-logs <file>', 'verifier keys of the logs you trust, one per line').env('GATE_TRUSTED_LOGS'),
    )
    .addOption(
      new Option('--witness <vkey...>', 'verifier keys of witnesses, or files with them').implies({ witnesses: 1 }),
    )
    .option('--witnesses <n>', 'how many of them must have cosigned', Number)
    .addOption(
      new Option(
        '--expect-head <hash>',
        'the head that was noted elsewhere; exits 2 where the chain has not grown from it',
      )
        .argParser(headHash)
        .conflicts('bundle'),
    )
    .addOption(
      new Option('--expect-length <n>', 'the length that was noted with it; exits 2 where the chain is shorter')
        .argParser(length)
        .conflicts('bundle'),
    )
    .addOption(
      new Option(
        '--approval <id>',
        'the correlation id of a call, as `gate approvals` lists it, or of a running stack that of its review, each whole: check what its approvers signed with their passkeys; exits 2 unless every approval was signed and holds; offline with --ledger, of a copy',
      ).conflicts('bundle'),
    )
    .option(
      '--approver-key <pem...>',
      "with --approval: files with the approvers' public keys in PEM, one each, from elsewhere than Gate (docs/how-to/set-up-passkeys.md); no other key counts",
    )
    .addOption(json())
    .action(
      async ({
        ledger: given,
        expectHead,
        expectLength,
        bundle,
        approval,
        approverKey,
        json: asJson,
        ...trust
      }: VerifyOptions) => {
        if (bundle !== undefined) {
          const { verdictText, verifyEvidence } = await import('./evidence.js');
          const verdict = await verifyEvidence(bundle, trust);
          if (asJson) print(verdict);
          else process.stdout.write(verdictText(verdict));
          if (!verdict.proved) process.exitCode = 2;
          return;
        }
        if (approval !== undefined) {
          const { verifyApproval } = await import('./approval.js');
          return verifyApproval(ledgerTarget(given), approval, {
            ...(approverKey && { approverKeys: approverKey }),
            ...(asJson && { asJson }),
          });
        }
        const noted: Noted = { head: expectHead, length: expectLength };
        const target = ledgerTarget(given);
        const result =
          target.kind === 'file'
            ? await target.read(async (opened) => asNoted(await opened.verify(), noted, (of) => opened.named(of)))
            : await asNoted(await target.ask<VerifyResult>('ledger', 'GET', '/verify'), noted, (of) =>
                entryOfStack(target, of),
              );
        if (asJson) print(result);
        else if (result.valid || result.noted?.holds === false)
          process.stdout.write(
            `the chain holds: ${result.entries_checked} entries\nhead ${result.commitment?.head_hash ?? '-'} length ${result.commitment?.length ?? 0}\n${notedText(result.noted)}`,
          );
        else if (result.unsupported_chain_version !== undefined)
          process.stdout.write(
            `UNSUPPORTED chain version ${result.unsupported_chain_version} behind ${result.entries_checked} valid entries: upgrade this verifier; where no newer Gate wrote here, that row was changed\n`,
          );
        else
          process.stdout.write(
            `INVALID: tamper detected at seq ${result.first_invalid_seq} (${result.entries_checked} valid entries before it)\n`,
          );
        if (!result.valid) process.exitCode = 2;
      },
    );
}

/** An entry of the running stack; `null` when it has none of that name. */
async function entryOfStack(stack: StackTarget, of: EntryName) {
  const { proverOver } = await import('./evidence.js');
  try {
    return await proverOver((path) => stack.ask('ledger', 'GET', path)).inclusion(of);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 4) return null;
    throw error;
  }
}
