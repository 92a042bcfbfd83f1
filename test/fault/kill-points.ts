import type { CallState } from '../../contracts/call.js';
import type { EventKind } from '../../contracts/event-kinds.js';
import type { KillPoint, Moment, Step } from '../support/kill-host.js';
import type { HostKind } from '../support/kill-host-driver.js';
import { HANGS_UP } from '../support/kill-host-tools.js';
import { oneOfEach } from '../support/some-of.js';

/**
 * The one kill-point table (docs/architecture/record-and-claim.md#kill-points): where the process dies, in which story, and how the story
 * must have ended after a restart in which inspection and policy say the opposite of what they said before. Both hosts run it.
 */
export interface KillCase extends KillPoint {
  readonly story: Story;
  /** Several where the host does other things at that moment: which one, they decide, and each must be whole. */
  readonly end: OneOrMore | Readonly<Record<HostKind, OneOrMore>>;
  /** What the operator sends after the restart where the call still waits; by default what the story says. */
  readonly operatorThen?: 'approve' | 'deny';
  /** Only where the host has such a moment. */
  readonly only?: HostKind;
  /** The fault this case is known by. */
  readonly known?: string;
}

/** What happens before the kill: the first judgement, and what the operator does about a parked call. */
export const STORIES = {
  allow: { tier: 'green', otherwise: 'red', operator: null, ttlSecs: 600 },
  deny: { tier: 'red', otherwise: 'green', operator: null, ttlSecs: 600 },
  approve: { tier: 'yellow', otherwise: 'red', operator: 'approve', ttlSecs: 600 },
  refuse: { tier: 'yellow', otherwise: 'green', operator: 'deny', ttlSecs: 600 },
  /** Two people approve, one after the other. */
  quorum: {
    tier: 'yellow',
    otherwise: 'red',
    operator: 'approve',
    ttlSecs: 600,
    approvers: 2,
    arguments: { approval_tier: 'strict' },
  },
  /** The machine approves: policy put the call into the tier auto. */
  rule: { tier: 'yellow', otherwise: 'red', operator: null, ttlSecs: 600, arguments: { approval_tier: 'auto' } },
  /** The same, and nobody comes back in time. */
  'rule too late': {
    tier: 'yellow',
    otherwise: 'green',
    operator: null,
    ttlSecs: 3,
    awaySecs: 3,
    arguments: { approval_tier: 'auto' },
  },
  /** No call: the simulator asks for a review. */
  asked: { tier: 'yellow', otherwise: 'red', operator: 'approve', ttlSecs: 600, asks: true },
  /** The operator changes an argument: the tool answers with five letters where it was asked for two. */
  modify: {
    tier: 'yellow',
    otherwise: 'red',
    operator: 'approve',
    ttlSecs: 600,
    arguments: { bytes: 2 },
    change: { path: 'bytes', value: 5 },
    answer: '"xxxxx"',
  },
  /** Nobody decides for a while. */
  escalate: { tier: 'yellow', otherwise: 'red', operator: null, ttlSecs: 300, escalateShares: [0.005] },
  expire: { tier: 'yellow', otherwise: 'green', operator: null, ttlSecs: 2 },
  /** The tool runs and hangs up; a probe finds out what became of it. The rules let a probe read before and after. */
  probe: {
    tier: 'green',
    otherwise: 'green',
    operator: null,
    ttlSecs: 600,
    tool: HANGS_UP,
    settles: ['completed', 'not_run'],
  },
} as const;
export type Story = keyof typeof STORIES;

/** How a story can end, as caller, operator, tools and auditor see it. */
export interface End {
  readonly state: CallState;
  readonly kinds: readonly EventKind[];
  /** `authorized` of the verdict's row: whether the verdict that stands is an allow. `null` where nobody judged. */
  readonly allowed: boolean | null;
  readonly executed: 0 | 1;
  /** Status of the answer to an exact replay. */
  readonly replay: number;
  readonly review: 'approved' | 'denied' | 'expired' | null;
  /** Who decided, where that is no operator. */
  readonly by?: string;
}

const JUDGED = ['proxy.verdict', 'brain.inspection', 'policy.evaluated'] as const;
const ENDS = {
  executed: {
    state: 'completed',
    kinds: [...JUDGED, 'upstream.outcome'],
    allowed: true,
    executed: 1,
    replay: 200,
    review: null,
  },
  denied: { state: 'denied', kinds: JUDGED, allowed: false, executed: 0, replay: 403, review: null },
  // Nobody began the attempt: the engine is named, not the tools.
  'not run': {
    state: 'not_run',
    kinds: [...JUDGED, 'upstream.outcome'],
    allowed: true,
    executed: 0,
    replay: 503,
    review: null,
  },
  'uncertain, not sent': {
    state: 'uncertain',
    kinds: [...JUDGED, 'upstream.outcome'],
    allowed: true,
    executed: 0,
    replay: 409,
    review: null,
  },
  'uncertain, sent': {
    state: 'uncertain',
    kinds: [...JUDGED, 'upstream.outcome'],
    allowed: true,
    executed: 1,
    replay: 409,
    review: null,
  },
  'found to have run': {
    state: 'completed',
    kinds: [...JUDGED, 'upstream.outcome', 'upstream.outcome', 'upstream.outcome'],
    allowed: true,
    executed: 1,
    replay: 200,
    review: null,
  },
  'found not to have run': {
    state: 'not_run',
    kinds: [...JUDGED, 'upstream.outcome', 'upstream.outcome', 'upstream.outcome'],
    allowed: true,
    executed: 0,
    replay: 409,
    review: null,
  },
  'approved, executed': {
    state: 'completed',
    kinds: [...JUDGED, 'hil.created', 'hil.approved', 'upstream.outcome'],
    allowed: false,
    executed: 1,
    replay: 200,
    review: 'approved',
  },
  'approved by two, executed': {
    state: 'completed',
    kinds: [...JUDGED, 'hil.created', 'hil.vote', 'hil.approved', 'upstream.outcome'],
    allowed: false,
    executed: 1,
    replay: 200,
    review: 'approved',
  },
  'approved by the rule, executed': {
    state: 'completed',
    kinds: [...JUDGED, 'hil.created', 'hil.approved', 'upstream.outcome'],
    allowed: false,
    executed: 1,
    replay: 200,
    review: 'approved',
    by: 'system:policy-tier',
  },
  'asked, approved': {
    state: 'approved',
    kinds: ['hil.created', 'hil.approved'],
    allowed: null,
    executed: 0,
    replay: 200,
    review: 'approved',
  },
  'changed, executed': {
    state: 'completed',
    kinds: [...JUDGED, 'hil.created', 'hil.modified', 'hil.approved', 'upstream.outcome'],
    allowed: false,
    executed: 1,
    replay: 200,
    review: 'approved',
  },
  'escalated, approved, executed': {
    state: 'completed',
    kinds: [...JUDGED, 'hil.created', 'hil.escalated', 'hil.approved', 'upstream.outcome'],
    allowed: false,
    executed: 1,
    replay: 200,
    review: 'approved',
  },
  'approved, not run': {
    state: 'not_run',
    kinds: [...JUDGED, 'hil.created', 'hil.approved', 'upstream.outcome'],
    allowed: false,
    executed: 0,
    replay: 503,
    review: 'approved',
  },
  'approved, uncertain, not sent': {
    state: 'uncertain',
    kinds: [...JUDGED, 'hil.created', 'hil.approved', 'upstream.outcome'],
    allowed: false,
    executed: 0,
    replay: 409,
    review: 'approved',
  },
  'approved, uncertain, sent': {
    state: 'uncertain',
    kinds: [...JUDGED, 'hil.created', 'hil.approved', 'upstream.outcome'],
    allowed: false,
    executed: 1,
    replay: 409,
    review: 'approved',
  },
  'denied by the operator': {
    state: 'denied',
    kinds: [...JUDGED, 'hil.created', 'hil.denied'],
    allowed: false,
    executed: 0,
    replay: 403,
    review: 'denied',
  },
  expired: {
    state: 'expired',
    kinds: [...JUDGED, 'hil.created', 'hil.expired'],
    allowed: false,
    executed: 0,
    replay: 403,
    review: 'expired',
  },
} as const satisfies Record<string, End>;
export type EndName = keyof typeof ENDS;
type OneOrMore = EndName | readonly EndName[];

/** How the case may have ended on this host. */
export function endsOf({ end }: KillCase, host: HostKind): readonly End[] {
  const names = typeof end === 'object' && 'lite' in end ? end[host] : end;
  return [names].flat().map((name) => ENDS[name]);
}

const each = (
  story: Story,
  step: Step,
  moments: readonly Moment[],
  end: KillCase['end'],
  more: Partial<KillCase> = {},
) => moments.map((when): KillCase => ({ story, step, when, end, ...more }));
const AROUND = ['before', 'during', 'after'] as const;

/** A claim that was never made is the engine's to give up (one attempt) and the journal's to make: there nobody else can hold it. */
const unclaimed = { temporal: 'not run', lite: 'executed' } as const;
const unclaimedApproved = { temporal: 'approved, not run', lite: 'approved, executed' } as const;

/**
 * After the last step before the attempt the engine hands the attempt to this worker at once. Killed before the worker has taken it up, it
 * is given up like one whose claim was never made; killed before the engine heard of the step, the next worker makes it.
 */
const handedOver = { temporal: ['executed', 'not run'], lite: 'executed' } as const;
const handedOverApproved = {
  temporal: ['approved, executed', 'approved, not run'],
  lite: 'approved, executed',
} as const;

const TABLE: readonly KillCase[] = [
  // Until a verdict stands, nothing has happened: the caller's second request is judged by what inspection and policy say then.
  ...each('allow', 'inspect', AROUND, 'denied'),
  ...each('allow', 'evaluate', AROUND, 'denied'),
  ...each('allow', 'commitVerdict', ['before'], 'denied'),
  ...each('deny', 'commitVerdict', ['before'], 'executed'),
  // From here on the first verdict stands.
  ...each('allow', 'commitVerdict', ['during', 'after'], 'executed'),
  ...each('deny', 'commitVerdict', ['during', 'after'], 'denied', {
    known: 'verdict committed, worker killed, inspector now answers otherwise: the first verdict stands',
  }),
  ...each('allow', 'tryAppendRows', ['before', 'during'], 'executed', {
    known: 'kill -9 between append and end of the workflow task: every row once',
  }),
  ...each('allow', 'tryAppendRows', ['after'], handedOver),
  ...each('deny', 'tryAppendRows', AROUND, 'denied'),

  // The one attempt.
  ...each('allow', 'callUpstream', ['before'], unclaimed),
  ...each('allow', 'callUpstream', ['claimed'], 'uncertain, not sent'),
  ...each('allow', 'callUpstream', ['bytes sent'], 'uncertain, sent', {
    known: 'kill -9 of the worker during the upstream call: uncertain, never executed twice',
  }),
  ...each('allow', 'callUpstream', ['during', 'after'], 'executed'),
  ...each('allow', 'tryAppendRows', AROUND, 'executed', { nth: 2 }),

  // A probe reads, and may look again; what it found stands, and the tool is not run again.
  ...each('probe', 'callUpstream', ['claimed'], 'found not to have run'),
  ...each('probe', 'callUpstream', ['during', 'after'], 'found to have run'),
  ...each('probe', 'probeCall', AROUND, 'found to have run', {
    known: 'kill -9 in a look of a probe: one end, one row of it, nothing executed twice',
  }),

  // Parking: the verdict stands whatever is said later, and the call waits for its decision.
  // What the sandbox says is asked again, and is the same.
  ...each('approve', 'analyzeCall', AROUND, 'approved, executed'),
  ...each('approve', 'openReview', ['before', 'row stored', 'during', 'after'], 'approved, executed'),
  ...each('approve', 'tryAppendRows', AROUND, 'approved, executed'),

  // A decision that was stored stands, and the opposite one is refused.
  ...each('approve', 'applyDecision', ['before'], 'approved, executed'),
  ...each('approve', 'applyDecision', ['during', 'after'], 'approved, executed', { operatorThen: 'deny' }),
  // A vote that was stored counts, and nobody's counts twice.
  // Before its step nothing of a vote is stored, as with `approve`. Killed during the first one's step, the next process has a vote, no row of it
  // and no second vote.
  // Lite asks one person.
  ...each('quorum', 'applyDecision', ['during', 'after'], 'approved by two, executed', { only: 'temporal' }),
  ...each('quorum', 'applyDecision', ['during', 'after'], 'approved by two, executed', { nth: 2, only: 'temporal' }),
  // The row of the first vote, and the review row once there are enough.
  ...each('quorum', 'tryAppendRows', ['before', 'during'], 'approved by two, executed', { nth: 2, only: 'temporal' }),
  ...each('quorum', 'settleReviewRow', ['before', 'during'], 'approved by two, executed', { only: 'temporal' }),
  // Its change is part of the decision: the review row is settled with it, and the rules are asked once more before it runs.
  ...each('modify', 'settleReviewRow', ['before'], 'changed, executed', { operatorThen: 'deny' }),
  // What a rule signed and nobody stored is gone: the next process finds a call that waits and asks the rule again. Nobody else decides here.
  ...each('rule', 'openReview', ['row stored', 'during', 'after'], 'approved by the rule, executed'),
  ...each('rule', 'decideByRule', AROUND, 'approved by the rule, executed'),
  ...each('rule', 'applyDecision', ['before'], 'approved by the rule, executed'),
  // Once it is stored, nobody undoes it.
  ...each('rule', 'applyDecision', ['during', 'after'], 'approved by the rule, executed', { operatorThen: 'deny' }),
  ...each('rule', 'settleReviewRow', AROUND, 'approved by the rule, executed', { operatorThen: 'deny' }),
  // The engine has not heard of the park and of the decision, which are one step there.
  ...each('rule', 'tryAppendRows', ['before', 'during'], 'approved by the rule, executed', { operatorThen: 'deny' }),
  // Nobody decided, and the time is over when the next process comes: the rule is too late as well.
  ...each('rule too late', 'decideByRule', ['before'], 'expired'),
  // Lite has no reviews without a call. Before its run has taken a review in there is its row at most; asked for again, it is the same review.
  ...each('asked', 'takeIn', AROUND, 'asked, approved', { only: 'temporal' }),
  ...each('asked', 'applyDecision', ['during'], 'asked, approved', { only: 'temporal', operatorThen: 'deny' }),
  // A change that was stored is not judged again, and what runs is what its approver made of the call.
  ...each('modify', 'applyDecision', ['during', 'after'], 'changed, executed', { operatorThen: 'deny' }),
  ...each('refuse', 'applyDecision', ['before'], 'denied by the operator'),
  ...each('refuse', 'applyDecision', ['during', 'after'], 'denied by the operator', { operatorThen: 'approve' }),
  // The row is settled with the decision, before the call goes on.
  ...each('approve', 'settleReviewRow', AROUND, 'approved, executed', { operatorThen: 'deny' }),
  ...each('refuse', 'settleReviewRow', AROUND, 'denied by the operator', { operatorThen: 'approve' }),
  ...each('approve', 'tryAppendRows', ['before', 'during'], 'approved, executed', { nth: 2 }),
  ...each('approve', 'tryAppendRows', ['after'], handedOverApproved, { nth: 2 }),
  ...each('approve', 'callUpstream', ['before'], unclaimedApproved),
  ...each('approve', 'callUpstream', ['claimed'], 'approved, uncertain, not sent'),
  // The rules are asked for the second time, right before the attempt.
  ...each('approve', 'callUpstream', ['rules asked'], 'approved, uncertain, not sent'),
  ...each('approve', 'callUpstream', ['bytes sent'], 'approved, uncertain, sent'),
  ...each('approve', 'callUpstream', ['during', 'after'], 'approved, executed'),
  ...each('approve', 'tryAppendRows', AROUND, 'approved, executed', { nth: 3 }),
  ...each('refuse', 'deliver', AROUND, 'denied by the operator', { operatorThen: 'approve' }),

  // Said once, and the call waits on.
  ...each('escalate', 'escalateReview', ['record moved', 'during'], 'escalated, approved, executed', {
    operatorThen: 'approve',
  }),

  // A deadline that passed is not undone by a restart.
  ...each('expire', 'expireReview', AROUND, 'expired', { operatorThen: 'approve' }),

  // The in-process host lets many calls share one sync: what was not on disk has not happened, and nobody was told that it had.
  ...each('allow', 'commitVerdict', ['unsynced'], 'denied', { only: 'lite' }),
  ...each('deny', 'commitVerdict', ['unsynced'], 'executed', { only: 'lite' }),
  ...each('approve', 'applyDecision', ['unsynced'], 'denied by the operator', { only: 'lite', operatorThen: 'deny' }),
  ...each('refuse', 'applyDecision', ['unsynced'], 'approved, executed', { only: 'lite', operatorThen: 'approve' }),
  ...each('expire', 'expireReview', ['unsynced'], 'expired', { only: 'lite', operatorThen: 'approve' }),
  ...each('allow', 'callUpstream', ['unsynced'], 'uncertain, sent', { only: 'lite' }),
];

/**
 * The cases of one host that a run plays: each kill point in one of its stories, each story at least once, and each case that a fault is known
 * by. Which story a point is met in differs from run to run, and `GATE_TEST_ALL=1` plays all.
 */
export function killPointsOf(host: HostKind): readonly KillCase[] {
  const all = TABLE.filter(({ only }) => only === undefined || only === host);
  const points = oneOfEach(`kill points on ${host}`, all, ({ step, when, nth = 1 }) => `${when} ${step} ${nth}`);
  const told = new Set(points.map(({ story }) => story));
  const untold = all.filter(({ story }) => !told.has(story));
  const stories = oneOfEach(`stories of kill points on ${host}`, untold, ({ story }) => story);
  const played = new Set([...points, ...stories, ...all.filter(({ known }) => known !== undefined)]);
  return all.filter((given) => played.has(given));
}

export const nameOf = ({ story, step, when, nth, known }: KillCase): string =>
  `${story}: killed ${when} ${step}${nth ? ` (${nth})` : ''}${known ? ` — ${known}` : ''}`;
