import type { LabLine, LabResult } from '../../contracts/policy-studies.js';
import type { PolicyInput } from '../../contracts/policy.js';
import {
  MOST_REPLAY_ROWS,
  type ReplayPage,
  type ReplayQuery,
  type ReplayRow,
  type ReplaySource,
} from '../../contracts/replay-rows.js';
import type { AddedRules } from './added-rules.js';
import type { RecordedCall } from './judged-again.js';
import { createLabCounts, type LabJudgement } from './lab.js';
import type { Studies } from './studies.js';

export interface LabOptions {
  readonly source: ReplaySource;
  readonly studies: Pick<Studies, 'lab' | 'lanes'>;
  readonly window: Omit<ReplayQuery, 'after' | 'limit'>;
  readonly before: AddedRules | null;
  readonly after: AddedRules | null;
  /** What is known of both before a call is judged. */
  readonly known: Pick<LabResult, 'policy_bundle' | 'candidate_bundle' | 'warnings'>;
  readonly now: () => number;
}

/** Calls that a thread judges in its time for one question, also with slow rules on a machine that is busy. */
const AT_ONCE = 50;
/** How often somebody who waits is told how far it is. */
const TELL_MS = 500;

/**
 * Judges every recorded evaluation of a window by the rules of now and by a candidate, a page at a time: the next one is read while one is
 * judged, and no more than these are in memory. Ends where its reader leaves.
 */
export async function* labOver({
  source,
  studies,
  window,
  before,
  after,
  known,
  now,
}: LabOptions): AsyncGenerator<LabLine> {
  const counts = createLabCounts();
  const pageAfter = (seq: number | undefined): Promise<ReplayPage> => {
    const page = source.replayPage({ ...window, limit: MOST_REPLAY_ROWS, ...(seq !== undefined && { after: seq }) });
    // Whoever awaits it hears of a fault; a reader that left does not.
    page.catch(() => undefined);
    return page;
  };
  let told = now();
  let coming = pageAfter(undefined);
  for (;;) {
    const { rows, next } = await coming;
    if (next === null) break;
    coming = pageAfter(next);
    await judge(rows);
    const last = rows.at(-1);
    if (last && now() - told >= TELL_MS) {
      told = now();
      yield { progress: { judged: counts.judged(), seq: last.seq, at: last.at } };
    }
  }
  yield { result: { ...known, ...counts.result() } };

  async function judge(rows: readonly ReplayRow[]): Promise<void> {
    const kept: ReplayRow[] = [];
    const calls: RecordedCall[] = [];
    for (const row of rows) {
      if (row.input === null) counts.missing();
      else {
        kept.push(row);
        // Checked where it is judged.
        calls.push({ input: row.input as unknown as PolicyInput, request: row.request });
      }
    }
    const judged = await judgedInLanes(studies, calls, { before, after });
    for (const [at, row] of kept.entries()) counts.add(row, judged[at] ?? null);
  }
}

/** What both sets of rules say of each call, judged in all threads at once. */
export async function judgedInLanes(
  studies: Pick<Studies, 'lab' | 'lanes'>,
  calls: readonly RecordedCall[],
  rules: { readonly before: AddedRules | null; readonly after: AddedRules | null },
): Promise<readonly LabJudgement[]> {
  const share = Math.ceil(calls.length / studies.lanes);
  const shares = Array.from({ length: studies.lanes }, (_, lane) => calls.slice(lane * share, (lane + 1) * share));
  return (await Promise.all(shares.map(inParts))).flat();

  async function inParts(part: readonly RecordedCall[], lane: number): Promise<readonly LabJudgement[]> {
    const judged: LabJudgement[] = [];
    for (let from = 0; from < part.length; from += AT_ONCE)
      judged.push(...(await studies.lab(part.slice(from, from + AT_ONCE), rules, lane)));
    return judged;
  }
}
