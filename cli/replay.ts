import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { ReplayedVerdict } from '../contracts/policy-studies.js';
import { oneLine } from '../domain/printable.js';
import { partsOfDecision, type ReplayParts } from '../domain/replay/parts.js';
import type { ReplayResult } from '../lite/replay.js';
import { ledgerOption, readable } from './ledger-file.js';
import { print } from './output.js';
import { stackIsKnown } from './stack-target.js';

/** `gate replay`: judges a recorded call again. */
export function registerReplay(program: Command): void {
  program
    .command('replay')
    .description(
      'judge a recorded call again from its recorded inputs, by the rules that it was judged by; exits 2 at the first difference',
    )
    .argument('<correlation id>', 'the X-Gate-Correlation-Id of the call')
    .addOption(ledgerOption())
    .option(
      '--policies <folder>',
      'lite: rules to judge with; without it ./policies where it holds compiled rules, else those built in',
    )
    .option('--json', 'print JSON instead of text')
    .addHelpText(
      'after',
      `
The call is one of lite where there is its file (--ledger, gate-lite.db here), else one of the running stack of this folder. Of lite the
chain, the inspection and the request are derived again too; \`gate verify\` checks the chain of a stack. It says what was derived, what was taken
as recorded, and what was a model's word, which nobody can have a second time.`,
    )
    .action(async (id: string, { ledger, policies, json }: { ledger: string; policies?: string; json?: boolean }) => {
      const ofStack = !existsSync(ledger) && stackIsKnown();
      const result = ofStack ? await ofTheStack(id) : await ofLite(ledger, id, policies);
      if (json) print(result);
      else if (result.difference === null)
        process.stdout.write(
          `the same: ${result.recorded.outcome} (${result.recorded.tier}), rules ${result.recorded.policy_version}, ${result.compared} facts compared\n`,
        );
      else
        process.stdout.write(
          `DIFFERENT at ${result.difference.at}: recorded ${oneLine(result.difference.recorded)}, now ${oneLine(result.difference.now)}\n${result.differences} of ${result.compared} facts differ\n`,
        );
      if (!json) process.stdout.write(partsTold(result.parts));
      if (result.difference !== null) process.exitCode = 2;
    });
}

async function ofLite(ledger: string, id: string, policies: string | undefined): Promise<ReplayResult> {
  const { replayCall } = await import('../lite/replay.js');
  return readable(ledger, () => replayCall(ledger, id, policies));
}

async function ofTheStack(id: string): Promise<ReplayResult> {
  const [{ recordedOfStack }, { stackTarget }] = await Promise.all([
    import('./recorded-call.js'),
    import('./stack-target.js'),
  ]);
  const stack = stackTarget();
  const recorded = await recordedOfStack(stack, id);
  const { policy_bundle: bundle, ...compared } = await stack.ask<ReplayedVerdict>(
    'policy-engine',
    'POST',
    '/policies/replay',
    recorded,
  );
  const said = recorded.verdict ?? {};
  return {
    correlation_id: id,
    recorded: { outcome: text(said['outcome']), tier: text(said['tier']), policy_version: bundle.version },
    ...compared,
    parts: partsOfDecision(recorded.inspection),
  };
}

/** What the result rests on, so that nobody takes a model's word for something that was proved. */
const partsTold = ({ derived, recorded, models }: ReplayParts): string =>
  [
    `derived again: ${derived.join(', ')}`,
    `taken as recorded: ${recorded.join('; ')}`,
    models === null
      ? 'who judged is not known: the evidence of the inspection was purged'
      : models.length === 0
        ? 'no model had a word in it'
        : `a model's word, kept as recorded: ${models.map(oneLine).join(', ')}`,
    '',
  ].join('\n');

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
