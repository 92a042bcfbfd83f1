import { Option, type Command } from 'commander';
import type { VerifyResult } from '../contracts/ledger.js';
import type { EvidenceTrust } from './evidence.js';
import { json, print } from './output.js';
import { asConsole, fileTarget, ledgerFile, withLedgerFile } from './target.js';

interface VerifyOptions extends EvidenceTrust {
  readonly bundle?: string;
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
    .option('--key <vkey>', "the log's verifier key or its public key (PEM), or a file with it")
    .addOption(
      new Option('--trusted-logs <file>', 'verifier keys of the logs you trust, one per line').env('GATE_TRUSTED_LOGS'),
    )
    .addOption(
      new Option('--witness <vkey...>', 'verifier keys of witnesses, or files with them').implies({ witnesses: 1 }),
    )
    .option('--witnesses <n>', 'how many of them must have cosigned', Number)
    .option('--expect-head <hash>', 'the head that was noted elsewhere; another one is an invalid chain')
    .option('--expect-length <n>', 'the length that was noted elsewhere', Number)
    .addOption(json())
    .action(async ({ ledger: given, expectHead, expectLength, bundle, json: asJson, ...trust }: VerifyOptions) => {
      if (bundle !== undefined) {
        const { verdictText, verifyEvidence } = await import('./evidence.js');
        const verdict = await verifyEvidence(bundle, trust);
        if (asJson) print(verdict);
        else process.stdout.write(verdictText(verdict));
        if (!verdict.proved) process.exitCode = 2;
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

/** A truncated chain is a valid shorter chain; only values noted elsewhere reveal that. */
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
