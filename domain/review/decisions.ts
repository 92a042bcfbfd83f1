import type { KeyObject } from 'node:crypto';
import type { AssertionJson, PasskeyApproval } from '../../contracts/approval.js';
import type {
  Approval,
  CarriedSettlement,
  DecisionPrincipal,
  Modification,
  ModificationDiff,
  PendingRequest,
  SignedDecision,
} from '../../contracts/review.js';
import { canonicalDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { approvalStatementOf } from './approval-challenge.js';
import { isWhole } from './carried-change.js';
import { effectsOfChange, whyRowNotChangeable } from './changeable.js';
import { signedAbout } from './decision-signature.js';
import { type DecisionTurns, type Turn, untold } from './decision-turns.js';
import { canonicalDiff, modified, ModificationRefused } from '../decision/modification.js';
import { ONE_APPROVER, type QuorumRule } from '../decision/quorum.js';
import type { Passkeys } from './passkeys.js';
import type { DecisionOutcome, DecisionSender, OpenedReviews, RowSettler } from './ports.js';
import { storable } from './storable.js';
import {
  DECISION_REFUSALS,
  type DecisionRefusal,
  isDecidedBy,
  isSettled,
  whyNotDecidable,
  whySettled,
} from '../decision/transitions.js';
import { settledView } from './review-view.js';

/**
 * A decision by somebody whose credential was checked. `principal` comes from the credential, never from a body
 * (docs/architecture/identity-and-routes.md#surfaces).
 */
export interface Decision {
  /** Of the row, or of its call. */
  readonly id: string;
  /** Whose row it is; `undefined` where somebody decides for every tenant. */
  readonly tenant: string | undefined;
  readonly decision: 'approve' | 'deny' | 'modify';
  /** Of `modify`. */
  readonly modification_diff?: ModificationDiff | undefined;
  readonly reason: string | null;
  readonly decided_via: string | null;
  /** Who decides a row of this tenant. */
  readonly principal: (tenant: string) => DecisionPrincipal;
  /** The operator by whose token a workload decides, whose passkey is asked for; absent where the decider is named by what he proves. */
  readonly operator?: string | undefined;
  readonly request_id: string;
  /** The digest of the action as it was shown to the decider. */
  readonly action_digest?: string | undefined;
  /** What the approver's passkey signed. */
  readonly passkey?: AssertionJson | undefined;
  /** Aborts when whoever asked has gone: a decision that waits for its turn is then not sent. */
  readonly left?: AbortSignal | undefined;
}

/** On a row that was found: by whom is known. */
type DecisionBy = Omit<Decision, 'principal'> & { readonly principal: DecisionPrincipal };

/** How a decision on an existing row ended, for the counter. */
export type DecisionResult = 'applied' | 'failed' | Extract<DecisionOutcome, { outcome: 'refused' }>['code'];

export interface DecisionsOptions {
  readonly reviews: Pick<OpenedReviews, 'reads' | 'settling' | 'ready' | 'parking'>;
  readonly sender: DecisionSender;
  /** Absent where the sender says itself how a call ended. */
  readonly settleRow?: RowSettler | undefined;
  readonly decisionKey: KeyObject;
  readonly clock: () => number;
  /** How long a signed decision may take to reach its workflow. */
  readonly decisionLifeMs: number;
  /** Who may approve for the tenant now, a call that was asked for then: an earlier approval counts only of these. */
  readonly approvers: (tenant: string, asked_ms?: number) => readonly string[] | Promise<readonly string[]>;
  /** The people for whom the agent of a row acts: they do not approve its calls. Nobody when absent. */
  readonly owners?: (of: Pick<PendingRequest, 'tenant' | 'agent_id'>) => readonly string[];
  readonly observe: (decision: Decision['decision'], result: DecisionResult) => void;
  /** How many people predicted effects ask for, where they do. */
  readonly quorum?: QuorumRule | undefined;
  /** Absent in an edition without passkeys. */
  readonly passkeys?: Pick<Passkeys, 'prove' | 'required'> | undefined;
  /** Absent where a decision takes no engine: then each is sent at once. */
  readonly turns?: Pick<DecisionTurns, 'take'> | undefined;
}

/**
 * HIL's side of a decision (docs/architecture/reviews.md#signed-decisions): read the row, sign, send the decision to the call's workflow, write
 * the row from the workflow's answer where the workflow has not, and only then answer. The workflow alone decides which decision was first;
 * reading the row only spares it some of the others. Repeating a decision, by the same decider under the same request id, returns its result.
 *
 * Before anything is sent, and so with nothing decided: `not_found` (unknown, gone, or another tenant's), `action_digest_mismatch`,
 * `own_request`, `tenant_offboarded`, `capability_denied`, `modify_under_quorum`, `unsupported_decision` (where the row says who runs its call),
 * `invalid_modification_diff`, `invalid_request`, `payload_unavailable`, `review_tampered`, `passkey_required`, `passkey_refused`, `passkeys_not_set_up`, `decision_not_sent`, and
 * `store_unavailable`. By the row or the workflow: `DECISION_REFUSALS`. After `orchestrator_unavailable` the row is unchanged and the decision
 * may still take effect until `not_after`; a `store_unavailable` after the sending says that it may have (`in_doubt`).
 */
export function createDecisions({
  reviews,
  sender,
  settleRow,
  decisionKey,
  clock,
  decisionLifeMs,
  approvers: operators,
  owners = () => [],
  observe,
  quorum = ONE_APPROVER,
  passkeys,
  turns = AT_ONCE,
}: DecisionsOptions): (decision: Decision) => Promise<PendingRequest> {
  /** Who may approve the call of this row now. */
  const approversOf = async (row: PendingRequest): Promise<string[]> => {
    const own = owners(row);
    return (await operators(row.tenant, Date.parse(row.created_at))).filter((subject) => !own.includes(subject));
  };
  const standingOf = async (row: PendingRequest): Promise<Approval[]> => {
    const now = await approversOf(row);
    return (row.approvals ?? []).filter(({ by }) => now.includes(by));
  };

  /** Who asked for the call, or whose agent did. A workload with an operator's token does not say which operator it is. */
  const isOwn = ({ agent_spiffe, ...row }: PendingRequest, { subject, method }: DecisionPrincipal): boolean => {
    const own = owners(row);
    return subject === agent_spiffe || own.includes(subject) || (own.length > 0 && method === WORKLOAD);
  };

  const sign = async (
    row: PendingRequest,
    decision: DecisionBy,
    now: number,
    { change, approval }: { readonly change: Change; readonly approval: PasskeyApproval | null },
  ): Promise<SignedDecision> =>
    signedAbout(
      row,
      {
        decision: decision.decision,
        reason: decision.reason,
        decided_via: decision.decided_via,
        principal: decision.principal,
        request_id: decision.request_id,
        ...change,
        ...effectsOf(row, decision),
        ...(approval && { approval }),
        // Everybody, not those whom the row shows: of two who approve at once the second one's decision is complete by itself.
        ...((row.required_approvers ?? 1) > 1 && { standing_approvers: await approversOf(row) }),
      },
      { key: decisionKey, now, lifeMs: decisionLifeMs },
    );

  /** Of a change: with which predicted effects it needs nobody else, where that depends on its effect. */
  function effectsOf(row: PendingRequest, { decision }: DecisionBy): Pick<SignedDecision, 'approvable_effects'> {
    const effects = decision === 'modify' ? effectsOfChange(row, quorum) : null;
    return effects === null ? {} : { approvable_effects: [...effects] };
  }

  /** What the approver's passkey says of this decision; `null` where none is asked for. Denying never needs one. */
  async function proved(row: PendingRequest, decision: DecisionBy, change: Change): Promise<PasskeyApproval | null> {
    const { passkey, principal } = decision;
    if (passkey === undefined) {
      const asked = { tenant: principal.tenant, subject: decision.operator ?? principal.subject };
      if (decision.decision !== 'deny' && (await passkeys?.required(row, asked)) === true)
        throw new GateError('passkey_required');
      return null;
    }
    if (!passkeys) throw new GateError('passkeys_not_set_up', 'this edition has no passkeys: decide without one');
    const statement = approvalStatementOf(row, principal.subject, { decision: decision.decision, ...change });
    return passkeys.prove(principal, statement, passkey);
  }

  /** What the row already says of this decision; `null` while its call has to be asked. */
  function known(row: PendingRequest, given: DecisionBy): PendingRequest | null {
    // Whether a pending row is too late is up to its call, whose clock ends the wait.
    const late = whySettled(row);
    const same = given.action_digest === undefined || given.action_digest === row.original_payload_digest;
    // After a 503, or no answer, the operator repeats the decision and must get its result, not "already decided".
    if (late && same && isDecidedBy(standing(row), sentAs(given))) return row;
    // One of several who approved it, saying so again.
    if (late && same && given.decision === 'approve' && hasApproved(row, given.principal.subject)) return row;
    if (late) throw refusal(late, row);
    if (!same)
      throw new GateError('action_digest_mismatch', undefined, {
        fields: { action_digest: row.original_payload_digest },
      });
    return null;
  }

  async function decide(row: PendingRequest, given: DecisionBy): Promise<PendingRequest> {
    return (
      known(row, given) ??
      turns.take(
        async (turn) => {
          if (!turn.waited) return send(row, given, turn);
          // Meanwhile somebody else may have decided, or this decision came twice.
          const now = await reviews.reads.get(row.id, row.tenant);
          if (now === null) throw new GateError('not_found');
          return known(now, given) ?? send(now, given, turn);
        },
        `${given.principal.tenant}/${given.principal.subject}`,
        given.left,
      )
    );
  }

  /** From here on the time of a decision runs: it is signed now. */
  async function send(row: PendingRequest, given: DecisionBy, turn: Turn): Promise<PendingRequest> {
    const now = clock();
    // If the row cannot be written, do not send the decision: it would wait until the workflow, which uses the same stores, gives up.
    await reviews.ready();
    // The door is closed before what waits is denied: nothing of that tenant is approved in between.
    if (given.decision !== 'deny') await reviews.parking.assertOpen(row.tenant);
    if (given.decision !== 'deny' && isOwn(row, given.principal)) throw new GateError('own_request');
    // The simulator decides with an operator's token, and would be that person a second time.
    if (given.decision === 'approve' && (row.required_approvers ?? 1) > 1 && given.principal.method === WORKLOAD)
      throw new GateError('capability_denied', 'a workload is not one of the people whom this call needs');
    // What cannot be changed at all needs no passkey.
    const change = modificationOf(row, given, quorum);
    const approval = await proved(row, given, change);
    const decision = approval === null ? given : { ...given, principal: withPasskey(given.principal, approval) };
    const signed = await sign(row, decision, now, { change, approval });
    turn.sends();
    try {
      return await cameOf(row, given, signed, await sender.decide(signed));
    } catch (error) {
      // As before the sending it would say: nothing happened, decide again.
      if (!(error instanceof GateError) || error.code !== 'store_unavailable') throw error;
      throw untold(error);
    }
  }

  /** What became of a decision that was sent, as its row shows it. */
  async function cameOf(
    row: PendingRequest,
    given: DecisionBy,
    signed: SignedDecision,
    outcome: DecisionOutcome,
  ): Promise<PendingRequest> {
    if (outcome.outcome === 'voted') {
      const voted = await countVotes(row, outcome.approvals);
      if (voted.status === 'pending' || voted.status === 'approved') return voted;
      // Somebody said no since, or the time was over.
      throw refusal(whyNotDecidable(voted, clock()) ?? 'already_decided', voted);
    }
    if (outcome.settled && outcome.settled.pending_id !== row.id)
      throw new GateError('internal_error', 'the workflow answered for another review');
    // Another change of the same person under the same request id may have been first.
    if (outcome.outcome === 'applied' && !isDecidedBy(outcome.settled, signed)) {
      await settleAnyway(outcome.settled);
      throw refusal('already_decided', outcome.settled);
    }
    if (outcome.outcome === 'applied') {
      if (!isWhole(outcome.settled)) throw new GateError('internal_error', 'the workflow answered for another change');
      if (!outcome.row_settled) return reviews.settling.settle(outcome.settled);
      // Read anew: while the workflow decided, somebody may have written a note on the row.
      const now = await reviews.reads.get(row.id, row.tenant).catch(() => null);
      return now !== null && isSettled(now.status) ? now : settledView(row, outcome.settled);
    }
    if (outcome.settled) await settleAnyway(outcome.settled);
    const stands = await standsNow(row, outcome);
    // With many decisions at once, or after a worker was lost, the sender learns only that the call no longer waits. This very decision may
    // have ended it.
    if (isDecidedBy(standing(stands), signed)) return stands;
    // Of several who approved it at once, somebody else was the last, and this approval is among theirs.
    if (given.decision === 'approve' && hasApproved(stands, given.principal.subject)) return stands;
    // A finished call can only answer "not pending". Its row shows whether somebody decided first or its time was over, which is what the
    // operator needs to know.
    const late = LATE.has(outcome.code) ? whyNotDecidable(stands, clock()) : null;
    throw refusal(late ?? outcome.code, outcome.settled ?? stands, outcome.reason);
  }

  /**
   * A refusal stands even if its row cannot be written now, because the workflow writes the same settlement itself. It alone does where somebody
   * else changed the call: what they changed was not told here.
   */
  const settleAnyway = async (settled: CarriedSettlement): Promise<void> => {
    if (isWhole(settled)) await reviews.settling.settle(settled).catch(() => undefined);
  };

  /**
   * The row after its call refused a decision. One that still waits although nothing waits for it comes from a copy of the store: the call's
   * record knows how it ended.
   */
  async function standsNow(row: PendingRequest, { code, settled }: Refused): Promise<PendingRequest> {
    const read = async () => (await reviews.reads.get(row.id, row.tenant)) ?? row;
    const stands = await read();
    if (stands.status !== 'pending' || code !== 'not_pending' || settled !== undefined || !settleRow) return stands;
    await settleRow(row.correlation_id).catch(() => undefined);
    return read();
  }

  /** Shows with the row who has approved, as far as they still may. */
  async function countVotes(row: PendingRequest, approvals: readonly Approval[]): Promise<PendingRequest> {
    const standing = await standingOf({ ...row, approvals: [...approvals] });
    const voted = (await reviews.settling.voted(row.id, standing)) ?? (await reviews.reads.get(row.id, row.tenant));
    return voted ?? { ...row, approvals: standing };
  }

  return async (decision) => {
    storable('reason', decision.reason);
    storable('decided_via', decision.decided_via);
    const { id, tenant } = decision;
    const row = (await reviews.reads.get(id, tenant)) ?? (await reviews.reads.byCorrelation(id, tenant));
    if (!row) throw new GateError('not_found');
    try {
      const settled = await decide(row, { ...decision, principal: decision.principal(row.tenant) });
      observe(decision.decision, 'applied');
      return settled;
    } catch (error) {
      observe(decision.decision, resultOf(error));
      throw error;
    }
  };
}

const AT_ONCE: Pick<DecisionTurns, 'take'> = { take: (work) => work({ waited: false, sends: () => undefined }) };

/** What a decision changes of its call; `null` where it changes nothing. */
type Change = ReturnType<typeof modificationOf>;
type Refused = Extract<DecisionOutcome, { outcome: 'refused' }>;

/** What is told of a call that is over, by a workflow that need not know how it ended. */
const LATE: ReadonlySet<DecisionRefusal> = new Set(['not_pending', 'already_decided']);

const standing = (row: PendingRequest) => ({
  status: row.status,
  decided_at: row.decided_at,
  decided_by: row.decided_by,
  request_id: row.decision_request_id,
  modification: row.modification_diff && { diff: row.modification_diff },
});

/** The decider, as proved by the passkey too. */
const withPasskey = (principal: DecisionPrincipal, { passkey }: PasskeyApproval): DecisionPrincipal => ({
  ...principal,
  method: 'webauthn',
  credential: passkey.credential_id,
});

/** The change with the digest of what it makes of the request that the row shows. Throws what is wrong with it. */
export function modificationOf(
  row: PendingRequest,
  { decision, modification_diff }: Pick<Decision, 'decision' | 'modification_diff'>,
  quorum: QuorumRule,
): { modification: Modification } | null {
  if (decision !== 'modify' || !modification_diff) return null;
  const fault = whyRowNotChangeable(row, quorum);
  if (fault !== null) throw fault === 'modify_under_quorum' ? new GateError(fault) : refusal(fault, row);
  // What a passkey is asked to sign is in the order of what is decided, in whatever order it was sent.
  const diff = canonicalDiff(modification_diff);
  try {
    return { modification: { diff, reviewed_digest: canonicalDigest(modified(row.request_payload, diff)) } };
  } catch (error) {
    if (!(error instanceof ModificationRefused)) throw error;
    throw new GateError('invalid_modification_diff', undefined, { fields: { detail: error.message } });
  }
}

/** How a workload proves itself that decides without a person's name. */
const WORKLOAD = 'workload-mtls';

const hasApproved = ({ status, approvals = [] }: PendingRequest, subject: string): boolean =>
  status === 'approved' && approvals.some(({ by }) => by === subject);

const sentAs = ({ modification_diff: diff, ...decision }: DecisionBy) => ({
  ...decision,
  ...(diff && { modification: { diff } }),
});

const refusal = (
  code: DecisionRefusal,
  { status, decided_by, decided_at }: PendingRequest | CarriedSettlement,
  reason?: string,
): GateError => new GateError(code, reason, { fields: { status, decided_by, decided_at } });

const resultOf = (error: unknown): DecisionResult =>
  DECISION_REFUSALS.find((code) => error instanceof GateError && error.code === code) ?? 'failed';
