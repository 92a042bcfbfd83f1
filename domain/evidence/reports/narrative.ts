import type { Narrative, NarrativeWindow } from '../../../contracts/ledger-reports.js';
import { type ReportRow, tally } from './report-rows.js';
import { textsIn } from '../../texts-in.js';
import { outcomeOf, REVIEW_ENDS, type ReviewEnd, reviewEndOf, tierOf } from './outcome.js';
import { quoted } from '../../printable.js';
import { counted, listed, summaryOf, times, told } from './summaries.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS: Readonly<Record<NarrativeWindow, number>> = { '1d': 1, '7d': 7, '30d': 30, '90d': 90 };
const TOP = 5;
const MAX_NOTABLE = 20;
const MAX_REASONS = 500;
const SHOWN_REASONS = 20;
const MAX_SIGNALS = 50;
const SAMPLE = 5;
const MAX_ALARMS = 1_000;

export interface NarrativeRequest {
  readonly agentId: string;
  readonly window: NarrativeWindow;
  readonly nowMs: number;
}

/** The half-open window that ends now. */
export const narrativeSpan = ({ window, nowMs }: Pick<NarrativeRequest, 'window' | 'nowMs'>) => ({
  from: new Date(nowMs - DAYS[window] * DAY_MS).toISOString(),
  to: new Date(nowMs).toISOString(),
});

type DeepReview = Narrative['deep_review'];

/**
 * An agent's window as a story (docs/architecture/ledger-reads.md#narrative). Every sentence is made from counts. `reportRows` are the agent's
 * rows of the window in chain order. `findings` are its deep-review findings of the last seven days. `alarms` are Gate's own alarms of the
 * window about calls of any agent; those about this agent are selected by correlation id. Depends on nothing but its arguments. Rows are
 * read once, and only alarms are kept.
 */
export async function tellNarrative(
  request: NarrativeRequest,
  reportRows: AsyncIterable<readonly ReportRow[]>,
  findings: AsyncIterable<readonly ReportRow[]>,
  alarms: AsyncIterable<readonly ReportRow[]>,
): Promise<Narrative> {
  const raised = await alarmsByCall(alarms, request.agentId);
  const { agentId, window } = request;
  const { from, to } = narrativeSpan(request);
  const points = emptyPoints(from, to, window);
  const outcomes = { allowed: 0, denied: 0, reviewed: 0, would_deny: 0, would_review: 0 };
  const executions = { completed: 0, failed: 0, uncertain: 0, not_run: 0 };
  const ended = Object.fromEntries(REVIEW_ENDS.map((end) => [end, 0])) as Record<ReviewEnd, number>;
  const hil = { pending: 0, ...ended, unreachable: 0 };
  const samples = sampler();
  const intents = tally();
  const tools = tally();
  const signals = tally();
  const reasons = new Map<string, Narrative['deny_reasons'][number]>();
  /** Calls that wait, each with the place of the row that says so. */
  const waiting = new Map<string, number>();
  const notable: ReportRow[] = [];
  let total = 0;

  for await (const page of reportRows) {
    for (const reportRow of page) {
      if (reportRow.signal !== null) signals.add(reportRow.signal);
      if (reportRow.signal === 'egress_review_unreachable') hil.unreachable += 1;
      if (isNotable(reportRow)) {
        notable.push(reportRow);
        if (notable.length > MAX_NOTABLE) notable.shift();
      }
      if (reportRow.correlationId !== null) raised.met(reportRow.correlationId);
      const outcome = outcomeOf(reportRow);
      if (outcome !== null) {
        total += 1;
        outcomes[outcome] += 1;
        // A rule decides those of its tier, and has a sentence of its own.
        if (tierOf(reportRow) !== 'auto') samples.take(outcome, reportRow.seq);
        intents.add(reportRow.intent);
        if (reportRow.tool !== null) tools.add(reportRow.tool);
        const point = points.at(reportRow.at);
        point.total += 1;
        if (outcome === 'denied') {
          point.denied += 1;
          noteReasons(reasons, reportRow);
        }
        if (outcome === 'reviewed') point.reviewed += 1;
        if (reportRow.decision?.['would'] === 'deny') outcomes.would_deny += 1;
        if (reportRow.decision?.['would'] === 'pend') outcomes.would_review += 1;
        if (typeof reportRow.decision?.['would'] === 'string') samples.take('would', reportRow.seq);
      }
      if (reportRow.kind === 'upstream.outcome') {
        const stage = reportRow.decision?.['stage'];
        if (stage === 'completed' || stage === 'failed' || stage === 'uncertain' || stage === 'not_run') {
          executions[stage] += 1;
          // The end of an uncertainty, which was counted where it began; that may be before this window.
          if (typeof reportRow.decision?.['reconciled'] === 'string')
            executions.uncertain = Math.max(0, executions.uncertain - 1);
          samples.take(stage, reportRow.seq);
        }
      }
      if (reportRow.kind === 'hil.created' && reportRow.correlationId !== null)
        waiting.set(reportRow.correlationId, reportRow.seq);
      const end = reviewEndOf(reportRow);
      if (end !== null) {
        hil[end] += 1;
        samples.take(end === 'approved_by_rule' ? 'ruled' : 'decided', reportRow.seq);
      }
      // Any end of the call also ends the wait for a person.
      if (reportRow.correlationId !== null && ENDS_WAITING.has(reportRow.kind)) waiting.delete(reportRow.correlationId);
      if (reportRow.kind.startsWith('alarm.')) samples.take('alarm', reportRow.seq);
    }
  }
  for (const reportRow of raised.own()) {
    notable.push(reportRow);
    samples.take('alarm', reportRow.seq);
    if (reportRow.correlationId !== null && ENDS_WAITING.has(reportRow.kind)) waiting.delete(reportRow.correlationId);
  }
  notable.sort((a, b) => a.seq - b.seq);
  notable.splice(0, Math.max(0, notable.length - MAX_NOTABLE));
  hil.pending = waiting.size;
  for (const seq of waiting.values()) samples.take('waits', seq);

  const denyReasons = [...reasons.values()].toSorted((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
  const numbers = {
    agent_id: agentId,
    window,
    from,
    to,
    generated_at: to,
    total,
    sparkline: { bucket: points.bucket, points: points.list },
    outcomes,
    executions,
    intents: intents
      .top(TOP)
      .map(({ key, count }) => ({ intent_category: key, count, percent: percent(count, total) })),
    tools: tools.top(TOP).map(({ key, count }) => ({ tool_name: key, count })),
    signals: signals.top(MAX_SIGNALS).map(({ key, count }) => ({ signal: key, count })),
    deny_reasons: denyReasons.slice(0, SHOWN_REASONS),
    hil,
    notable: notable.toReversed().map((reportRow) => ({
      seq: reportRow.seq,
      at: reportRow.at,
      event_kind: reportRow.kind,
      summary: summaryOf(reportRow),
      correlation_id: reportRow.correlationId,
    })),
    deep_review: await deepReviewOf(findings),
  };
  return { ...numbers, headline: headlineOf(numbers), story: storyOf(numbers, samples) };
}

const ENDS_WAITING: ReadonlySet<string> = new Set([
  'hil.approved',
  'hil.denied',
  'hil.expired',
  'call.aborted',
  'call.abandoned',
  'alarm.record_tampered',
]);

/** The newest alarms, selected by the calls they are about. Alarm rows carry Gate's own agent id, not the agent's. */
async function alarmsByCall(alarms: AsyncIterable<readonly ReportRow[]>, agentId: string) {
  const kept: ReportRow[] = [];
  for await (const page of alarms) {
    kept.push(...page.filter((reportRow) => reportRow.agentId !== agentId && reportRow.correlationId !== null));
    kept.splice(0, Math.max(0, kept.length - MAX_ALARMS));
  }
  const about = new Set(kept.map(({ correlationId }) => correlationId));
  const met = new Set<string | null>();
  return {
    met(correlationId: string): void {
      if (about.has(correlationId)) met.add(correlationId);
    },
    own: (): readonly ReportRow[] => kept.filter(({ correlationId }) => met.has(correlationId)),
  };
}

/** What a batch came to is said by its own row. */
const ROUTINE: ReadonlySet<unknown> = new Set(['completed', 'probed', 'step']);

/** Anything but the routine of an allowed call. */
function isNotable(reportRow: ReportRow): boolean {
  const { kind, decision } = reportRow;
  if (kind === 'proxy.verdict')
    return outcomeOf(reportRow) !== 'allowed' || typeof decision?.['would'] === 'string' || reportRow.signal !== null;
  if (kind === 'upstream.outcome') return !ROUTINE.has(decision?.['stage']) || reportRow.signal !== null;
  if (kind === 'deep_review_finding') return decision?.['verdict'] === 'Red' || decision?.['brain_delta'] !== 'Agreed';
  if (kind === 'brain.inspection') return decision?.['available'] === false;
  if (kind === 'proxy.control') return false;
  if (kind === 'policy.evaluated' || kind === 'hil.created') return reportRow.signal !== null;
  return true;
}

function noteReasons(reasons: Map<string, Narrative['deny_reasons'][number]>, reportRow: ReportRow): void {
  const given = textsIn(reportRow.decision?.['reasons']);
  for (const reason of given.length > 0
    ? given
    : [reportRow.reasoning || reportRow.signal || 'no reason was recorded']) {
    const known = reasons.get(reason);
    if (known) known.count += 1;
    else if (reasons.size < MAX_REASONS)
      reasons.set(reason, { reason, count: 1, sample_reasoning: reportRow.reasoning, sample_seq: reportRow.seq });
  }
}

interface Points {
  readonly bucket: 'hour' | 'day';
  readonly list: { at: string; total: number; denied: number; reviewed: number }[];
  at(time: string): { total: number; denied: number; reviewed: number };
}

/** One point per UTC hour or day, also for those without rows. */
function emptyPoints(from: string, to: string, window: NarrativeWindow): Points {
  const [bucket, step] = window === '1d' ? (['hour', HOUR_MS] as const) : (['day', DAY_MS] as const);
  const first = Math.floor(Date.parse(from) / step);
  const last = Math.floor((Date.parse(to) - 1) / step);
  const list = Array.from({ length: last - first + 1 }, (_, index) => ({
    at: new Date((first + index) * step).toISOString(),
    total: 0,
    denied: 0,
    reviewed: 0,
  }));
  return { bucket, list, at: (time) => list[Math.floor(Date.parse(time) / step) - first] as Points['list'][number] };
}

interface Sampler {
  take(what: string, seq: number): void;
  of(...what: readonly string[]): number[];
}

/** Keeps the first few rows of each kind as references for the sentences. */
function sampler(): Sampler {
  const taken = new Map<string, number[]>();
  return {
    take(what, seq) {
      const seqs = taken.get(what) ?? [];
      if (seqs.length < SAMPLE) seqs.push(seq);
      taken.set(what, seqs);
    },
    of: (...what) =>
      what
        .flatMap((name) => taken.get(name) ?? [])
        .toSorted((a, b) => a - b)
        .slice(0, SAMPLE),
  };
}

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part * 1_000) / whole) / 10);

async function deepReviewOf(findings: AsyncIterable<readonly ReportRow[]>): Promise<DeepReview> {
  const review: DeepReview = {
    findings_7d: 0,
    brain_delta: { Agreed: 0, Escalated: 0, Downgraded: 0 },
    top_disagreement: null,
  };
  for await (const page of findings) {
    for (const { seq, at, decision, reasoning } of page) {
      review.findings_7d += 1;
      const delta = decision?.['brain_delta'];
      if (delta !== 'Agreed' && delta !== 'Escalated' && delta !== 'Downgraded') continue;
      review.brain_delta[delta] += 1;
      const confidence = typeof decision?.['confidence'] === 'number' ? decision['confidence'] : 0;
      if (delta === 'Agreed' || confidence < (review.top_disagreement?.confidence ?? 0)) continue;
      const text = (key: string) => (typeof decision?.[key] === 'string' ? decision[key] : null);
      review.top_disagreement = {
        seq,
        at,
        verdict: text('verdict'),
        brain_delta: delta,
        confidence,
        reasoning: text('reasoning') ?? reasoning,
        original_correlation_id: text('original_correlation_id'),
      };
    }
  }
  return review;
}

type Numbers = Omit<Narrative, 'headline' | 'story'>;

const spanText = (window: NarrativeWindow): string =>
  window === '1d' ? 'the last 24 hours' : `the last ${DAYS[window]} days`;

function headlineOf({ agent_id, window, total, outcomes, hil }: Numbers): string {
  const who = quoted(agent_id, 80);
  if (total === 0) return `No request of ${who} is recorded in ${spanText(window)}.`;
  const waiting = hil.pending > 0 ? ` (${hil.pending} still waiting)` : '';
  const sent = sentToPeople(outcomes.reviewed, hil.approved_by_rule);
  const parts = [
    ...(outcomes.allowed > 0 ? [`${outcomes.allowed} allowed`] : []),
    ...(outcomes.denied > 0 ? [`${outcomes.denied} denied`] : []),
    ...(sent > 0 ? [`${sent} sent to a person${waiting}`] : []),
    ...(hil.approved_by_rule > 0 ? [`${hil.approved_by_rule} approved by a rule`] : []),
  ];
  return `In ${spanText(window)} ${who} made ${counted(total, 'request')}: ${listed(parts)}.`;
}

/** Calls that wait are parked for people and for rules alike; a rule decides at once. */
export const sentToPeople = (reviewed: number, approvedByRule: number): number =>
  Math.max(0, reviewed - approvedByRule);

/** One sentence per kind of row; a sentence about none is left out. */
function storyOf(numbers: Numbers, samples: Sampler): Narrative['story'] {
  const { total, outcomes, executions, hil, sparkline, tools, intents, deny_reasons: reasons, signals } = numbers;
  const { deep_review: review } = numbers;
  const story: Narrative['story'] = [];
  const tell = (text: string, seqs: readonly number[] = []) => story.push({ text, seqs: [...seqs] });

  if (total > 0) {
    const busiest = sparkline.points.reduce((most, point) => (point.total > most.total ? point : most));
    const quiet = sparkline.points.filter((point) => point.total === 0).length;
    const when = sparkline.bucket === 'hour' ? `${busiest.at.slice(0, 13)}:00Z` : busiest.at.slice(0, 10);
    const silence = quiet > 0 ? `, and nothing in ${quiet} of ${sparkline.points.length} ${sparkline.bucket}s` : '';
    tell(`It was busiest in the ${sparkline.bucket} of ${when} with ${counted(busiest.total, 'request')}${silence}.`);
    if (tools.length > 0)
      tell(
        `It asked for ${listed(tools.map((tool) => `${quoted(tool.tool_name, 80)} (${times(tool.count)})`))}${tools.length === TOP ? ' most' : ''}.`,
      );
    tell(
      `Its requests were of the kind ${listed(intents.map((intent) => `${intent.intent_category} (${intent.percent} %)`))}.`,
    );
  }
  const [first, ...more] = reasons;
  if (first) {
    const others = more.slice(0, 2).map((reason) => `“${told(reason.reason)}” (${reason.count})`);
    const most = `“${told(first.reason)}” (${times(first.count)}, first in row ${first.sample_seq})`;
    // “Mostly” is said of a reason that has more than the next.
    const why =
      more[0] && first.count > more[0].count
        ? `mostly for ${most}, also for ${listed(others)}`
        : `for ${listed([most, ...others])}`;
    tell(`${counted(outcomes.denied, 'request was', 'requests were')} denied, ${why}.`, samples.of('denied'));
  }
  if (outcomes.would_deny + outcomes.would_review > 0)
    tell(
      `Gate only observed: enforcing would have denied ${outcomes.would_deny} and sent ${outcomes.would_review} to a person.`,
      samples.of('would'),
    );
  const settled = [
    ...(hil.approved > 0 ? [`${hil.approved} approved`] : []),
    ...(hil.denied > 0 ? [`${hil.denied} denied by a person`] : []),
    ...(hil.changed_then_denied > 0
      ? [`${hil.changed_then_denied} changed by a person and then denied by policy`]
      : []),
    ...(hil.denied_by_gate > 0 ? [`${hil.denied_by_gate} denied by Gate`] : []),
    ...(hil.withdrawn > 0 ? [`${hil.withdrawn} withdrawn by its agent`] : []),
    ...(hil.expired > 0 ? [`${hil.expired} expired`] : []),
    ...(hil.pending > 0 ? [`${hil.pending} still ${hil.pending === 1 ? 'waits' : 'wait'}`] : []),
  ];
  const sent = sentToPeople(outcomes.reviewed, hil.approved_by_rule);
  if (sent > 0 || settled.length > 0)
    tell(
      `${counted(sent, 'request was', 'requests were')} sent to a person${settled.length > 0 ? `: ${listed(settled)}` : ''}.`,
      samples.of('reviewed', 'decided', 'waits'),
    );
  if (hil.approved_by_rule > 0)
    tell(
      `${counted(hil.approved_by_rule, 'request was', 'requests were')} approved by a rule, without a person.`,
      samples.of('ruled'),
    );
  if (executions.completed + executions.failed + executions.not_run > 0) {
    const parts = [
      ...(executions.completed > 0 ? [`${executions.completed} completed`] : []),
      ...(executions.failed > 0 ? [`${executions.failed} answered with an error`] : []),
      ...(executions.not_run > 0 ? [`${executions.not_run} did not run`] : []),
    ];
    tell(`Of its executions ${listed(parts)}.`, samples.of('completed', 'failed', 'not_run'));
  }
  if (executions.uncertain > 0)
    tell(
      `Of ${counted(executions.uncertain, 'call')} nobody knows whether the tool ran; Gate never runs such a call again.`,
      samples.of('uncertain'),
    );
  if (signals.length > 0)
    tell(`Signals: ${listed(signals.slice(0, TOP).map(({ signal, count }) => `${told(signal, 64)} (${count})`))}.`);
  const alarms = samples.of('alarm');
  if (alarms.length > 0) tell('Alarms were raised; look at their rows first.', alarms);
  if (review.findings_7d > 0) {
    const { Agreed, Escalated, Downgraded } = review.brain_delta;
    const top = review.top_disagreement;
    tell(
      `Deep review looked at ${counted(review.findings_7d, 'call')} in the last 7 days: it agreed with ${Agreed}, found ${Escalated} graver and ${Downgraded} milder${top ? `, most surely “${told(top.reasoning)}”` : ''}.`,
      top ? [top.seq] : [],
    );
  }
  return story;
}
