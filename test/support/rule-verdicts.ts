import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PolicyData, policyData } from '../../domain/policy/policy-data.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { pairsOf } from './some-of.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';

export type Verdict = 'green' | 'yellow' | 'red';
/** A place in the arguments of a tool where a text of a corpus is put. */
export type Way = readonly [name: string, tool: string, place: (text: string) => object];

/** What a call says to the rules beside its arguments: nothing that any of them would mind. */
const CALM = {
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0.1,
  current_time: '2026-11-18T10:00:00.000Z',
};

/** Asks the shipped rules, and hears only those whose reasons name `subject`: others may speak about the same tool. */
export class RuleVerdicts {
  private constructor(
    private readonly policies: PolicySet,
    private readonly subject: string,
    /** The names of arguments that the shipped rules know. */
    readonly argumentNames: PolicyData['gate']['sql'],
  ) {}

  static async about(subject: string): Promise<RuleVerdicts> {
    const directory = shippedPolicyDirectory();
    const { gate } = policyData.parse(JSON.parse(await readFile(join(directory, 'data.json'), 'utf8')));
    return new RuleVerdicts(await loadPolicySet({ directory }), subject, gate.sql);
  }

  judge(tool_type: string, args: object, more: object = {}): ReturnType<PolicySet['judge']> {
    return this.policies.judge({ tool_type, ...CALM, arguments: args, ...more } as Parameters<PolicySet['judge']>[0]);
  }

  of(tool: string, args: object): Verdict {
    const { reasons, review_reasons } = this.judge(tool, args).decision;
    const spoken = (said: readonly string[]): boolean => said.some((reason) => reason.includes(this.subject));
    return spoken(reasons) ? 'red' : spoken(review_reasons) ? 'yellow' : 'green';
  }

  /**
   * Puts every text in places: in both of two, in a third of more, others in each run. Prints how many ran, waited and were denied; returns those
   * that were not judged as wanted.
   */
  measured(ways: readonly Way[], texts: readonly string[], wanted: readonly Verdict[]): string[] {
    const wrong: string[] = [];
    const isTried = pairsOf('texts and places', ways.length, ways.length > 2 ? 3 : 1);
    for (const [column, [name, tool, place]] of ways.entries()) {
      const tried = texts.filter((_, row) => isTried(row, column));
      const counts = { green: 0, yellow: 0, red: 0 };
      for (const text of tried) {
        const verdict = this.of(tool, place(text));
        counts[verdict] += 1;
        if (!wanted.includes(verdict)) wrong.push(`${name}: ${verdict}: ${JSON.stringify(text.slice(0, 100))}`);
      }
      const { green, yellow, red } = counts;
      process.stderr.write(`${name.padEnd(36)} ${tried.length} texts: ${green} run, ${yellow} wait, ${red} denied\n`);
    }
    return wrong;
  }
}
