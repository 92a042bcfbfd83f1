import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { ExplainedVerdict } from '../contracts/policy-studies.js';
import { printable } from '../domain/printable.js';
import { ledgerOption, readable } from './ledger-file.js';
import { json, print } from './output.js';
import { stackIsKnown } from './stack-target.js';

/** `gate why`: which rules spoke about a call, on which facts, and what would alter the verdict. */
export function registerWhy(program: Command): void {
  program
    .command('why')
    .description(
      'tell which rules spoke about a recorded call, on which facts, and which change of it would alter the verdict',
    )
    .argument('<correlation id>', 'the X-Gate-Correlation-Id of the call')
    .addOption(ledgerOption())
    .option(
      '--policies <folder>',
      'lite: rules to judge with; without it ./policies where it holds compiled rules, else those built in',
    )
    .addOption(json())
    .addHelpText(
      'after',
      `
The call is one of lite where there is its file (--ledger, gate-lite.db here), else one of the running stack of this folder. It is judged
again with other values of its facts; nothing runs, and nothing is changed. Secrets and personal data in the words are masked; with --json
the facts are as they were.`,
    )
    .action(
      async (id: string, { ledger, policies, json: asJson }: { ledger: string; policies?: string; json?: boolean }) => {
        const why = !existsSync(ledger) && stackIsKnown() ? await ofTheStack(id) : await ofLite(ledger, id, policies);
        if (asJson) print(why);
        else process.stdout.write(`${printable(why.text)}\n`);
      },
    );
}

async function ofLite(ledger: string, id: string, policies: string | undefined): Promise<ExplainedVerdict> {
  const { whyInFile } = await import('../lite/why.js');
  return readable(ledger, () => whyInFile(ledger, id, policies));
}

async function ofTheStack(id: string): Promise<ExplainedVerdict> {
  const [{ recordedOfStack }, { stackTarget }] = await Promise.all([
    import('./recorded-call.js'),
    import('./stack-target.js'),
  ]);
  const stack = stackTarget();
  return stack.ask('policy-engine', 'POST', '/policies/explain', await recordedOfStack(stack, id));
}
