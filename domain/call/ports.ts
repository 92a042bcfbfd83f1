import type { CallDecoy, CallInput, CallSpend, CallState, ReachedRecord } from '../../contracts/call.js';
import type { AgentHistory, Taint } from '../../contracts/policy.js';
import type { AnsweredCall, FlowCall, FlowOwner } from '../information-flow/flow.js';
import type { AgentsProfiles } from '../inspection/behaviour/profile.js';
import type { StoppedCalls } from './at-stop.js';
import type {
  CallRecord,
  KeptInspection,
  NotAsStaged,
  RecordedDecision,
  RecordedOutcome,
  RecordedStep,
  StagedRequest,
  VerdictEvidence,
} from './record.js';
import type { CallMove, FirstState } from './transitions.js';
import type { WalkPlace } from './walk.js';
import type { Reconciliation } from './reconciliation.js';
import type { Setbacks } from './setbacks.js';
import type { AskedSpend, Budgets, OverBudget, Spent } from '../spend/spend.js';
import type { RecordedVote } from '../decision/quorum.js';

export type Admission =
  /** `digest` binds the request that was staged under this id; if it is not the caller's, that is a conflict. */
  | { readonly admitted: true; readonly recent: number; readonly digest: string; readonly spend?: CallSpend }
  | { readonly admitted: false; readonly retryAfterSecs: number; readonly first: boolean }
  | { readonly admitted: false; readonly over: OverBudget }
  /** The id was used before and its record was purged; `digest` is what it was bound to. */
  | { readonly admitted: false; readonly purged: true; readonly digest: string }
  /** The grant that the call came with is used up, or has fewer uses left than the call has calls. */
  | { readonly admitted: false; readonly exhausted: true };

/** How often a grant was used in all. */
export interface GrantUse {
  readonly jti: string;
  readonly uses: number;
}

/** What of a call is counted where it touches a decoy. */
export type TouchingCall = Pick<CallInput, 'tenant' | 'agent' | 'correlation_id' | 'received_ms' | 'mode'>;
/** How often the calls of an agent touched a decoy in all. */
export interface DecoyHits {
  readonly decoyId: string;
  readonly tenant: string;
  readonly agent: string;
  readonly hits: number;
  /** Of the last call. */
  readonly correlationId: string;
  readonly lastMs: number;
  /** False in observe mode. */
  readonly contain: boolean;
}

/** An attempted transition: `applied` says whether this attempt made it; `record` is the stored record afterwards. */
export interface Moved {
  readonly applied: boolean;
  readonly record: CallRecord;
}

export interface MovePatch {
  readonly pending_id?: string;
  readonly deadline_ms?: number;
  /** The evidence, with what was added when the call was parked. */
  readonly evidence?: VerdictEvidence;
  readonly decision?: RecordedDecision;
  /** Added to the votes of the record that the transition starts from. */
  readonly vote?: RecordedVote;
  /** Added to the steps of the batch that the transition starts from. */
  readonly step?: RecordedStep;
  /** Of a batch: the tools that count in its agent's history, where not all of them do. */
  readonly counted_tools?: readonly string[];
  /** When the review was escalated, and which escalation that is, by the time when it was due. The first time of each stands. */
  readonly escalated?: { readonly due_ms: number; readonly at_ms: number };
  readonly outcome?: RecordedOutcome;
  /** Added to the outcome of the uncertain record that the transition starts from. */
  readonly reconciliation?: Reconciliation;
  /** The retained answer, sealed at rest. */
  readonly result?: Uint8Array;
  /** The call counts in its agent's history from this time on (docs/architecture/record-and-claim.md#agent-history). */
  readonly counted_ms?: number;
  /** Only before this time; later the transition is not made. */
  readonly before_ms?: number;
  /** The caller asked to be told how its review ended. */
  readonly callback?: boolean;
  /** What the answer brought in, stored with it. */
  readonly flow?: KeptFlow | undefined;
  /** The version of this record that the host has seen. An older record was put back by somebody and is closed as tampered. */
  readonly version?: number;
}

/** What is kept of an answer's values, sealed, and how many there are. */
export interface KeptFlow {
  readonly sealed: Uint8Array;
  readonly digests: number;
}
/** What the answers of tools brought to an agent (docs/architecture/information-flow.md). */
export interface CallFlow {
  /** What untrusted answers brought into the arguments of these calls of one request. */
  taint(owner: FlowOwner, calls: readonly FlowCall[]): Promise<readonly Taint[]>;
  /** What is to be stored with an answer, before its agent gets it; `null` where it holds nothing that counts. */
  kept(owner: FlowOwner, answered: AnsweredCall): KeptFlow | null;
}

/**
 * What calls cost (docs/architecture/budgets.md). What a call reserved is given back, and what it cost is counted, in the transaction that ends its record.
 */
export interface CallSpending {
  /** What a tenant, or one agent of it, spent in a month. */
  of(tenant: string, agent: string | null, month: string): Promise<Spent>;
  /** The agents of a tenant that spent or reserved something in a month, the dearest first. */
  byAgent(tenant: string, month: string, most: number): Promise<readonly (Spent & { readonly agent: string })[]>;
  /** Which of the budgets does not bear by now what was reserved for this call among others; `null` where both do. */
  over(call: CallInput, budgets: Budgets): Promise<OverBudget | null>;
  /**
   * Gives back what calls reserved that ended without a record, or whose record says no more what they cost, and that might have begun before the given
   * time; returns how many those were. They are looked at so many at once, and `progress` is called for each. One that cannot be read stays as it is.
   * Safe to repeat, and among several processes.
   */
  settleLost(beforeMs: number, atOnce: number, progress?: () => void): Promise<number>;
}

/** What remains to be done when a review has ended: settle its row in HIL, tell the caller. When an outcome is unknown: probe for it. */
export type FollowUp = 'review' | 'callback' | 'probe';

/** A call with a duty that is still to be done, and since when. */
export interface DueCall {
  readonly correlation_id: string;
  readonly due_ms: number;
}

/** An open call that has not moved for a while, as reconciliation sees it. */
export interface OpenCall {
  readonly correlation_id: string;
  readonly state: CallState;
  readonly deadline_ms: number | null;
  readonly updated_ms: number;
}

/**
 * The proxy's store (docs/architecture/record-and-claim.md): one synced record per call, unique by correlation id; every transition is a
 * compare-and-set; the request is staged before the workflow starts; the answer is retained. It survives the engine's retention, reset and
 * restore. Editing the store must decide nothing, so every record that any method reads was written by Gate and is not older than what this
 * process has seen; for an open record that this process did not just write, the ledger has no later row either. Any other record is closed
 * as `tampered` when it is read, and returned in that state.
 */
export interface CallStore {
  /**
   * Counts the call in its agent's sliding window, each call of a batch separately, and stages its request, in one transaction. Refuses
   * what exceeds the limit (`limit` 0 = unlimited), a batch as a whole, and then counts nothing of it; `retryAfterSecs` is when enough has
   * left the window. `first` is true for the first refusal of the window. Staging the same id again changes nothing. A call with a grant uses it, in
   * the same transaction and once under its id, each call of a batch separately. Throws `control_state_unavailable` where its uses cannot be counted.
   *
   * With `spend`, in the same transaction, the most that the call may cost is reserved of both budgets (docs/architecture/budgets.md); the same id again
   * reserves nothing more. Refused (`over`) where that does not fit, and nothing is kept or counted. An agent that has spent its own budget is let in without
   * a reservation, for the rules to deny; in observe mode with one, since they deny nothing there.
   */
  admit(
    call: CallInput,
    request: StagedRequest,
    window: { limit: number; windowMs: number },
    spend?: AskedSpend | null,
  ): Promise<Admission>;
  /** Grants whose uses nobody told identity yet. */
  grantUsesUntold(most: number): Promise<readonly GrantUse[]>;
  grantUsesTold(told: readonly GrantUse[]): Promise<void>;
  /** Decoys of which identity was not told yet how often they were touched. A call that touches one is counted when it is admitted, once under its id. */
  decoyHitsUntold(most: number): Promise<readonly DecoyHits[]>;
  /** Counts one that is refused without being admitted. */
  decoyTouched(call: TouchingCall, decoy: CallDecoy): Promise<void>;
  decoyHitsTold(told: readonly DecoyHits[]): Promise<void>;
  /** Of a tenant that has gone nothing is kept, told or not. */
  forgetDecoyHits(tenant: string): Promise<void>;
  /** The staged request, `null` when there is none, or why the stored bytes are not that request. */
  request(correlationId: string, digest: string): Promise<StagedRequest | NotAsStaged | null>;
  /** The stored inspection of the staged request; `null` when none was stored. */
  inspection(correlationId: string, digest: string): Promise<KeptInspection | NotAsStaged | null>;
  /** Stores an inspection, for the process that judges the call after a crash, and counts what it cost: each one that was paid for. */
  keepInspection(call: CallInput, kept: KeptInspection): Promise<void>;
  /**
   * The record as it is now. With `reached`, the one that the previous step left: if this process still has it decrypted, it is not read
   * again, whatever became of it since.
   */
  find(correlationId: string, reached?: ReachedRecord): Promise<CallRecord | null>;
  /**
   * Inserts the verdict or returns the existing record: the first verdict stands. Throws `store_unavailable` for one by which a call may run where what
   * that reserved was given back before.
   */
  commitVerdict(state: FirstState, evidence: VerdictEvidence, outcome?: RecordedOutcome): Promise<CallRecord>;
  move(correlationId: string, move: CallMove, patch?: MovePatch): Promise<Moved>;
  /**
   * Removes a record that is still `decided`, and gives back what it reserved: nothing followed from its verdict, and the same id may start again. Any
   * other record stays.
   */
  takeBack(correlationId: string): Promise<void>;
  /**
   * The retained answer; `null` when there is none. Throws `call_tampered`, and closes the record, when it is not the one that the outcome
   * names.
   */
  result(correlationId: string): Promise<Buffer | null>;
  /**
   * Closes a record as tampered because another store contradicts it, which this store cannot see itself. With `version`, only if the
   * record still has that version. Returns the record as it is afterwards; `null` when there is none.
   */
  condemn(correlationId: string, why: string, version?: number): Promise<CallRecord | null>;
  /** The listener gets each record that was just closed as tampered, so that its alarm row is appended. */
  onTampered(listener: (record: CallRecord) => void): void;
  /** The listener gets each record after a transition that this process made. */
  onMoved(listener: (record: CallRecord) => void): void;
  /**
   * Steps of this agent that succeeded within the window, oldest first, at most 16; each call of a batch is one. In addition, however many
   * steps came since, the newest step of each sensitive tool.
   */
  history(tenant: string, agent: string, sinceMs: number): Promise<AgentHistory>;
  readonly flow: CallFlow;
  readonly spend: CallSpending;
  /**
   * What is remembered of this agent's calls of these tools. Only calls that ran teach it, and each does so in the transaction that counts it;
   * where two processes teach one profile at once, it keeps one of the calls. A profile that Gate did not write counts as none.
   */
  profiles(tenant: string, agent: string, tools: readonly string[]): Promise<AgentsProfiles>;
  /** Every row of the record is in the ledger, as of the given `updated_ms`. A later transition makes rows due again. */
  rowsAppended(correlationId: string, updatedMs: number): Promise<void>;
  /** What reconciliation could not do, by call and duty. */
  readonly setbacks: Setbacks;
  /**
   * Since when the oldest record waits for its rows, or `null`. Records whose rows had a setback have their own alarm and are not counted.
   */
  oldestRowsDueMs(): Promise<number | null>;
  /**
   * Calls without an end that did not move since the given time, oldest first; `after` continues behind a call that was returned. Each was
   * verified: an invalid one is closed and left out, and does not hide others. One whose key is missing is returned as its row has it.
   */
  openCalls(untouchedSinceMs: number, limit: number, after?: WalkPlace): Promise<OpenCall[]>;
  /**
   * The calls of a tenant, or of one agent or tool of it, that had not ended at the given time, in the order of their ids; at most so many, and how many
   * others there are. With them those that ended since.
   */
  openSince(
    of: StoppedCalls,
    sinceMs: number,
    most: number,
  ): Promise<{ readonly records: readonly CallRecord[]; readonly leftOut: number }>;
  /** A call of the tenant that may be at its tool; `null` where none is. */
  atTool(tenant: string): Promise<string | null>;
  /** Records whose rows are due since before the given time. */
  rowsDue(sinceMs: number, limit: number, after?: WalkPlace): Promise<DueCall[]>;
  /**
   * Records whose review ended before the given time and whose row, or callback, is still to be done; or whose outcome was lost before it and
   * that are still to be probed.
   */
  followUpsDue(what: FollowUp, sinceMs: number, limit: number, after?: WalkPlace): Promise<DueCall[]>;
  followedUp(correlationId: string, what: FollowUp): Promise<void>;
  /** Calls of a tenant whose outcome is unknown, newest first; `tenant` null for all of them. Each was verified. */
  uncertain(tenant: string | null, limit: number): Promise<CallRecord[]>;
  /**
   * HIL says that the rows of these calls wait. Those of them whose review is over are due for `review` again, since their record moved; as for
   * every due date, what is settled then is what the record says.
   */
  reviewsOwed(correlationIds: readonly string[]): Promise<void>;
  /**
   * Deletes hits outside every window, staged requests that never got a record, and records past retention; returns how many rows were
   * deleted. The id and digest of each record are kept for `TOMBSTONE_LIVES` times as long, so that the id does not execute again.
   */
  purge(before: { hitsMs: number; stagedMs: number; recordsMs: number }): Promise<number>;
  /**
   * Resolves with the record when it satisfies the condition, or as it is at the deadline; as it was seen last where it cannot be read then. Rejects
   * where none was seen: whoever is told `null` may say that nothing was executed.
   */
  waitFor(
    correlationId: string,
    condition: (record: CallRecord) => boolean,
    deadlineMs: number,
  ): Promise<CallRecord | null>;
  /** What the database's clock says; `null` where the store is a file of this host, which has no other clock than this process. */
  clockMs(): Promise<number | null>;
  ready(): Promise<void>;
  close(): Promise<void>;
}
