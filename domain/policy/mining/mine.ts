import type { DecidedCall, DecisionSource } from '../../../contracts/decided-calls.js';
import type { PolicyInput } from '../../../contracts/policy.js';
import type { LeftTool, MinedEvidence, MinedExample, MinedFacts, MineLine } from '../../../contracts/policy-mining.js';
import type { ValidatePolicy } from '../../../contracts/policy-library.js';
import { MOST_REPLAY_ROWS } from '../../../contracts/replay-rows.js';
import { GateError } from '../../errors.js';
import type { AddedRules } from '../added-rules.js';
import type { RecordedCall } from '../judged-again.js';
import type { LabJudgement } from '../lab.js';
import { classedInput, createEvidence, type Evidence, type Found, isOneCall, MOST } from './evidence.js';
import { fenceOf } from './fence.js';
import { suggestionOf, type Suggestions } from './suggestions.js';
import { judgedInLanes } from '../lab-over.js';
import type { Studies } from '../studies.js';

export interface MineOptions {
  readonly decisions: DecisionSource;
  readonly studies: Pick<Studies, 'lab' | 'lanes' | 'compared'>;
  readonly suggestions: Pick<Suggestions, 'keep'>;
  readonly readMoney: Parameters<typeof createEvidence>[0];
  readonly tenant: string;
  /** Half-open, in the chain's spelling. */
  readonly window: { readonly from: string; readonly to: string };
  readonly tool?: string | undefined;
  readonly most: number;
  /** What is in force for the tenant. */
  readonly rules: AddedRules | null;
  /** What would be, with these beside it. */
  readonly withRules: (files: readonly ValidatePolicy[]) => Promise<AddedRules | null>;
  readonly now: () => number;
  /** RFC 3339. */
  readonly at: string;
}

/** How often somebody who waits is told how far it is. */
const TELL_MS = 500;
/** After which it is given up: a rule from a part of the decisions would say more than it knows. */
const MOST_MS = 300_000;
const EXAMPLES = 10;

/**
 * Mines rules from what people decided in a window, in two readings of it: in the first, what is alike among the approvals of each tool; in the second,
 * what the rules that ship and those in force, with the class and the mined rule, would have said of each decision. A rule that would have let a
 * denied call pass is dropped. Nothing is put in force.
 */
export async function* mineOver(options: MineOptions): AsyncGenerator<MineLine> {
  const { decisions, studies, suggestions, readMoney, tenant, window, most, rules, withRules, now } = options;
  const began = now();
  const { valid } = await decisions.verify();
  if (!valid)
    throw new GateError(
      'chain_verification_incomplete',
      'what people decided cannot be trusted: the ledger does not verify',
    );

  const evidence = createEvidence(readMoney);
  const size = { decisions: 0, characters: 0, last: 0 };
  for await (const line of reading(async (rows) => collect(evidence, rows))) yield line;
  const found: Found[] = [];
  const left: LeftTool[] = [];
  for (const one of evidence.tools()) {
    const is = 'compare' in one ? one.is(await studies.compared(one.compare)) : one.is;
    if ('why' in is) left.push(is);
    else found.push(is);
  }
  left.sort((one, other) => other.approvals + other.denials - one.approvals - one.denials);
  const fences = found.map((one) => ({ ...one, ...fenceOf(tenant, one.tool, one.parts) }));
  if (fences.length === 0) {
    yield {
      result: { ...answered(), candidates: [], candidates_dropped: 0, left: [...left], evaluated_in_ms: took() },
    };
    return;
  }

  const files = fences.map(({ name, body }) => ({ name, content_type: 'rego' as const, body }));
  const after = await withRules(files);
  const trials = new Map(fences.map((fence) => [fence.tool, createTrial()]));
  const upTo = size.last;
  for await (const line of reading(async (rows) => {
    const known = rows.filter((row) => row.seq <= upTo && row.tool !== null && trials.has(row.tool) && isOneCall(row));
    const judged = await judgedInLanes(studies, callsOf(known), { before: rules, after });
    let at = 0;
    for (const row of known)
      trials.get(row.tool as string)?.add(row, row.input === null ? null : (judged[at++] ?? null));
  }))
    yield line;

  const proven = fences
    .map((fence) => ({ ...fence, tried: (trials.get(fence.tool) as Trial).result() }))
    .filter(
      ({ parts, tried }) =>
        tried.denials.passed === 0 &&
        tried.approvals.passed >= parts.reduce((sum, { approvals }) => sum + approvals, 0),
    )
    .toSorted(
      (one, other) => other.tried.approvals.passed - one.tried.approvals.passed || (one.name < other.name ? -1 : 1),
    )
    .slice(0, most);
  const kept = proven.map(({ tool, name, body, ...fence }) =>
    suggestionOf({ tenant, tool, name, body }, factsOf(fence), upTo, options.at),
  );
  const candidates = await suggestions.keep(tenant, kept);
  yield {
    result: {
      ...answered(),
      candidates: [...candidates],
      candidates_dropped: fences.length - proven.length,
      left: [...left],
      evaluated_in_ms: took(),
    },
  };

  function answered() {
    return { since: window.from, until: window.to, ...evidence.counts() };
  }
  function took(): number {
    return Math.round(now() - began);
  }

  function factsOf({
    parts,
    support,
    tried,
  }: Pick<Found, 'parts' | 'support'> & { readonly tried: Tried }): MinedFacts {
    const { approvals, denials, class_alone, waits, denied } = tried;
    const { days, people: approvers, agents } = support;
    return {
      since: window.from,
      until: window.to,
      evidence: { approvals, denials, class_alone, days, approvers, agents },
      parts: [...parts],
      examples: { waits: [...waits], denied: [...denied] },
    };
  }

  /** What approvals rest on: whether the class alone would have let the call run. Denials count whatever rules say of them now. */
  async function collect(into: Evidence, rows: readonly DecidedCall[]): Promise<void> {
    size.decisions += rows.length;
    size.last = Math.max(size.last, ...rows.map(({ seq }) => seq));
    const approved = rows.filter((row) => row.decided === 'approved' && row.input !== null && isOneCall(row));
    const judged = await judgedInLanes(studies, callsOf(approved), { before: rules, after: rules });
    const says = new Map(approved.map((row, at) => [row.seq, judged[at] ?? null]));
    for (const row of rows) {
      size.characters += JSON.stringify(row.input).length;
      into.add(row, withClass(says.get(row.seq) ?? null));
    }
    if (size.decisions > MOST.decisions || size.characters > MOST.characters)
      throw new GateError(
        'invalid_window',
        'people decided more than can be mined at once; ask for a shorter window, or for one tool',
      );
  }

  async function* reading(use: (rows: readonly DecidedCall[]) => Promise<void>): AsyncGenerator<MineLine> {
    const asked = {
      ...window,
      tenant,
      ...(options.tool !== undefined && { tool: options.tool }),
      limit: MOST_REPLAY_ROWS,
    };
    let told = now();
    let [after, read] = [0, 0];
    for (;;) {
      const { rows, next } = await decisions.decidedPage({ ...asked, after });
      if (next === null) return;
      after = next;
      await use(rows);
      read += rows.length;
      if (now() - began > MOST_MS)
        throw new GateError(
          'invalid_window',
          'it takes longer than can be waited for; ask for a shorter window, or for one tool',
        );
      const last = rows.at(-1);
      if (last && now() - told >= TELL_MS) {
        told = now();
        yield { progress: { decisions: read, at: last.at } };
      }
    }
  }
}

const callsOf = (rows: readonly DecidedCall[]): readonly RecordedCall[] =>
  rows.flatMap(({ input }) => (input === null ? [] : [{ input: classedInput(input) as PolicyInput, request: null }]));

const withClass = (judged: LabJudgement): Parameters<Evidence['add']>[1] => {
  if (judged === null) return null;
  const { tier, reasons, review_reasons } = judged.before;
  return tier === 'green' ? { runs: true } : { runs: false, why: [...reasons, ...review_reasons][0] ?? '' };
};

type Tried = Pick<MinedEvidence, 'approvals' | 'denials' | 'class_alone'> & {
  readonly waits: readonly MinedExample[];
  readonly denied: readonly MinedExample[];
};
interface Trial {
  add(row: DecidedCall, judged: LabJudgement): void;
  result(): Tried;
}

/** Counts what a rule would have said of the decisions about its tool. */
function createTrial(): Trial {
  const approvals = { passed: 0, of: 0 };
  const denials = { passed: 0, of: 0 };
  const class_alone = { approvals: 0, denials: 0 };
  const [waits, denied]: [MinedExample[], MinedExample[]] = [[], []];
  return {
    add({ decided, correlation_id, at, agent_id }, judged) {
      const isApproval = decided === 'approved';
      const counted = isApproval ? approvals : denials;
      const passes = judged?.after.tier === 'green';
      counted.of += 1;
      if (passes) counted.passed += 1;
      if (judged?.before.tier === 'green') class_alone[isApproval ? 'approvals' : 'denials'] += 1;
      const shown = isApproval ? waits : denied;
      if ((!isApproval || !passes) && shown.length < EXAMPLES) shown.push({ correlation_id, at, agent_id });
    },
    result: () => ({ approvals, denials, class_alone, waits, denied }),
  };
}
