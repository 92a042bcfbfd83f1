import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { z } from 'zod';
import type { PolicyDecision, PolicyInput } from '../../contracts/policy.js';
import { batchDiff } from '../../contracts/policy-library.js';
import type { LabResult } from '../../contracts/policy-studies.js';
import type { ReplayRow } from '../../contracts/replay-rows.js';
import { decidedAgain, type RecordedCall } from './judged-again.js';
import type { TimedJudgement } from './policy-set.js';

export type Diff = z.infer<typeof batchDiff>;
type Said = LabResult['rows'][number]['before'];

/** What the rules of now and a candidate say of one call, and how long each took; null for an input that they cannot read. */
export type LabJudgement = {
  readonly before: Said;
  readonly after: Said;
  readonly beforeUs: number;
  readonly afterUs: number;
} | null;

const NAMES = { green: 'allow', yellow: 'yellow', red: 'deny' } as const;
export const diffOf = (before: Said['tier'], after: Said['tier']): Diff =>
  before === after ? 'unchanged' : (`${NAMES[before]}_to_${NAMES[after]}` as Diff);

const saidOf = ({
  allow,
  reasons,
  review_reasons,
}: Pick<PolicyDecision, 'allow' | 'reasons' | 'review_reasons'>): Said => ({
  tier: reasons.length > 0 ? 'red' : allow ? 'green' : 'yellow',
  reasons: [...reasons],
  review_reasons: [...review_reasons],
});

/** Judges an input by the rules of now and by a candidate, and says how long each takes by itself, in milliseconds. */
export type JudgeBoth = (input: PolicyInput) => readonly [TimedJudgement, TimedJudgement];

/** Of a batch, each of its calls is judged by both with what the ones before it leave: the rules that ship alone say what that is. */
export async function judgedInLab(
  calls: readonly RecordedCall[],
  judgeBoth: JudgeBoth,
): Promise<readonly LabJudgement[]> {
  const judged: LabJudgement[] = [];
  for (const call of calls) {
    const found: (readonly [TimedJudgement, TimedJudgement])[] = [];
    const first = (input: PolicyInput): PolicyDecision => {
      const both = judgeBoth(input);
      found.push(both);
      return both[0].judgement.decision;
    };
    try {
      const before = await decidedAgain(call, first);
      // One call was judged once by both; a batch is folded by each for itself.
      const after = found.length === 1 ? found[0]?.[1].judgement.decision : await decidedAgain(call, second);
      const us = (which: 0 | 1): number => Math.round(found.reduce((sum, both) => sum + both[which].ms, 0) * 1_000);
      judged.push({ before: saidOf(before), after: saidOf(after as PolicyDecision), beforeUs: us(0), afterUs: us(1) });
    } catch {
      // An input of an older Gate, or a batch whose request is gone.
      judged.push(null);
    }
  }
  return judged;

  function second(input: PolicyInput): PolicyDecision {
    return judgeBoth(input)[1].judgement.decision;
  }
}

const BEFORE_TIMED = 200;
/**
 * Judges these calls again and again, untimed: code runs slowly until it has run some hundred times, and a lab of a few calls would tell what that costs,
 * and not what an evaluation does. `goOn` ends it.
 */
export async function judgedBefore(
  calls: readonly RecordedCall[],
  judgeBoth: JudgeBoth,
  goOn: () => boolean,
): Promise<void> {
  for (let done = 0; done < BEFORE_TIMED && calls.length > 0; done += calls.length)
    for (const call of calls) {
      if (!goOn()) return;
      await judgedInLab([call], judgeBoth);
    }
}

/** Of each kind of change, so that one kind does not crowd out the others. */
const ROWS_OF_A_KIND = 50;
const DIFFS: readonly Diff[] = batchDiff.options;
/** Changes after which more runs, or less is asked. */
export const WEAKER: ReadonlySet<Diff> = new Set(['deny_to_allow', 'deny_to_yellow', 'yellow_to_allow']);

export type LabCounts = Omit<LabResult, 'policy_bundle' | 'candidate_bundle' | 'warnings'>;

/** Counts what a lab finds, in memory that does not grow with the traffic. */
export function createLabCounts() {
  const counts = Object.fromEntries(DIFFS.map((diff) => [diff, 0])) as Record<Diff, number>;
  const tiers = () => ({ green: 0, yellow: 0, red: 0 });
  const people = { approved: tiers(), denied: tiers(), expired: tiers() };
  const [before, after] = [createHistogram(), createHistogram()];
  const rows: LabResult['rows'] = [];
  let [judged, purged, unreadable, different] = [0, 0, 0, 0];
  return {
    /** A row whose input was purged. */
    missing: (): void => void (purged += 1),
    add({ seq, at, correlation_id, agent_id, tool, decision, people: decided }: ReplayRow, found: LabJudgement): void {
      if (found === null) {
        unreadable += 1;
        return;
      }
      judged += 1;
      before.record(Math.max(1, found.beforeUs));
      after.record(Math.max(1, found.afterUs));
      if (saidOf(decision).tier !== found.before.tier) different += 1;
      if (decided) people[decided][found.after.tier] += 1;
      const diff = diffOf(found.before.tier, found.after.tier);
      counts[diff] += 1;
      if (diff !== 'unchanged' && counts[diff] <= ROWS_OF_A_KIND)
        rows.push({
          seq,
          at,
          correlation_id,
          agent_id,
          tool,
          people: decided,
          diff,
          before: found.before,
          after: found.after,
        });
    },
    judged: (): number => judged,
    result: (): LabCounts => ({
      judged,
      purged,
      unreadable,
      not_as_recorded: different,
      counts,
      people,
      cost: { now: costOf(before), candidate: costOf(after) },
      rows,
      rows_left: judged - counts.unchanged - rows.length,
    }),
  };
}

const costOf = (times: RecordableHistogram) =>
  times.count === 0 ? { p50_us: 0, p99_us: 0 } : { p50_us: times.percentile(50), p99_us: times.percentile(99) };
