import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { CliError } from './errors.js';
import { ledgerOption, readable } from './ledger-file.js';
import { stackIsKnown } from './stack-target.js';

/** `gate replay`: judges a recorded call again. */
export function registerReplay(program: Command): void {
  program
    .command('replay')
    .description('judge a recorded call of lite again from its recorded inputs; exits 2 at the first difference')
    .argument('<correlation id>', 'the X-Gate-Correlation-Id of the call')
    .addOption(ledgerOption())
    .option(
      '--policies <folder>',
      'rules to judge with; without it ./policies where it holds compiled rules, else those built in',
    )
    .option('--json', 'print JSON instead of text')
    .action(async (id: string, { ledger, policies, json }: { ledger: string; policies?: string; json?: boolean }) => {
      if (!existsSync(ledger) && stackIsKnown())
        throw new CliError(
          `there is no ${ledger}, and calls of the running stack are not judged again: \`gate history ${id}\` tells what one did, \`gate audit ${id}\` prints its rows`,
          2,
        );
      const { replayCall } = await import('../lite/replay.js');
      const result = await readable(ledger, () => replayCall(ledger, id, policies));
      if (json) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
      else if (result.difference === null)
        process.stdout.write(
          `the same: ${result.recorded.outcome} (${result.recorded.tier}), rules ${result.recorded.policy_version}, ${result.compared} facts compared\n`,
        );
      else
        process.stdout.write(
          `DIFFERENT at ${result.difference.at}: recorded ${result.difference.recorded}, now ${result.difference.now}\n${result.differences} of ${result.compared} facts differ\n`,
        );
      if (result.difference !== null) process.exitCode = 2;
    });
}
