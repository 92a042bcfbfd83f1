import type { CallInput } from '../../contracts/call.js';
import type { TakenOut, TenantDisposition, TenantDispositions } from '../../contracts/tenant-dispositions.js';
import type {
  Approval,
  ApprovalStats,
  CarriedSettlement,
  ListedReview,
  ListedStatus,
  ModificationDiff,
  NewReview,
  PendingRequest,
  ReviewOrder,
  ReviewStatus,
  RiskTier,
  SettledReview,
  SignedDecision,
  SinceLastCall,
  StatsWindow,
  SummariesPage,
} from '../../contracts/review.js';
import type { LegalHoldReceipt, LegalHoldRequest } from '../../contracts/legal-hold.js';
import type { ChatLinkStore } from './chat-links.js';
import type { TenantReviewsKind, TenantReviewsReceipt } from '../../contracts/tenant-reviews.js';
import type { ChangeSeal } from './carried-change.js';
import type { ReviewChanges } from './feed.js';
import type { Notes } from './notes.js';
import type { PasskeyStore } from './passkey-store.js';
import type { Summarized } from './summary.js';
import type { VouchingStore } from './vouched-people.js';
import type { DecisionRefusal } from '../decision/transitions.js';

/**
 * The review rows as the pipeline needs them, in the same process or over HTTP (`activities/clients/hil-client.ts`). All methods are
 * safe to repeat. They throw GateError; `store_unavailable` and `pipeline_unavailable` may be retried, no other code may.
 */
export interface Reviews {
  /**
   * Returns the row of this correlation id, created if it does not exist. `pending_conflict`: it exists with another payload, agent or
   * tenant; `review_held`: it was withdrawn, and a legal hold keeps it; `review_tampered`.
   */
  createOnce(review: NewReview): Promise<PendingRequest>;
  /** The row of this correlation id; `null` for none, a withdrawn one, and one of another tenant. */
  byCorrelation(correlationId: string, tenant: string): Promise<PendingRequest | null>;
  /**
   * Withdraws the row of a call that was answered 503. A missing row is fine. A row that a later attempt opened stays. `already_decided`
   * when somebody decided it.
   */
  withdraw(correlationId: string, attemptMs?: number): Promise<void>;
  /** The first settlement wins, and repeating it returns the same row; a different one is `already_decided`. */
  settle(settled: SettledReview): Promise<PendingRequest>;
  /** Nobody had decided the row by these times. Those that it has stand; a row that is settled or gone stays as it is. */
  escalated(id: string, times: readonly string[]): Promise<void>;
  /** Throws `tenant_offboarded` where nothing of this tenant may be asked for, approved or run any more. */
  assertOpen(tenant: string): Promise<void>;
  /** HIL's signed approval of a row that policy's tier lets the machine decide; `null` where a person must. Nothing is decided by asking. */
  decideByRule(pendingId: string): Promise<SignedDecision | null>;
  /** The change of a decision that came through the engine (ChangeSeal). */
  openedChange(pendingId: string, sealed: string): Promise<ModificationDiff>;
  /**
   * Rows that nobody has decided, whoever's, by their deadlines; a page begins behind the row `after`. An empty page is the end. What the call
   * of a row says is not asked here.
   */
  undecided(after: UndecidedPlace, limit: number): Promise<UndecidedRow[]>;
  /** Only when the store is in this process: called for each row that was just closed because Gate did not write it. */
  onTampered?(listener: (row: { readonly id: string; readonly correlation_id: string }, why: string) => void): void;
}

/** Whose call is withdrawn: what the proxy verified of who asks. */
export interface WithdrawnCall {
  readonly correlation_id: string;
  readonly tenant: string;
  readonly agent_id: string;
}

/**
 * Denies an agent's own call that waits, because the agent does not want it any more. Resolves whichever decision was first: the call's record
 * says which. Repeated, it is the same decision. `not_found`: no row of this agent's; `orchestrator_unavailable`, `store_unavailable`: it may
 * have been denied or not, and may be withdrawn again.
 */
export type WithdrawCall = (call: WithdrawnCall) => Promise<void>;

/** The review service as other services use it. */
export interface ReviewService extends Reviews {
  readonly withdrawCall: WithdrawCall;
}

/** A place in the walk over undecided rows: the deadline of a row, and its id. */
export interface UndecidedPlace {
  readonly ms: number;
  readonly id: string;
}
export interface UndecidedRow extends UndecidedPlace {
  readonly correlation_id: string;
}

/** Starts what waits for the decision of a review that no call asked for (docs/architecture/reviews.md#a-review-without-a-call). */
export interface ReviewStarter {
  /**
   * Has `open` store the row once something waits for its decision, and resolves when the review is under way. `over` when what waited under
   * this id has ended. Throws `pending_conflict`: the id belongs to something else; `tenant_offboarded`; `orchestrator_unavailable` and
   * `pipeline_unavailable`: it may be under way or not, and may be asked for again; and whatever `open` throws.
   */
  start(call: CallInput, open: () => Promise<unknown>): Promise<'under way' | 'over'>;
}

export type DecisionOutcome =
  | {
      readonly outcome: 'applied';
      readonly settled: CarriedSettlement;
      /** The row was written with the decision. */
      readonly row_settled?: boolean | undefined;
    }
  | {
      /** One approval of several. Everybody's who has approved so far. */
      readonly outcome: 'voted';
      readonly approvals: readonly Approval[];
    }
  | {
      readonly outcome: 'refused';
      readonly code: DecisionRefusal;
      /** The review's settlement, if the refusing side knows it. */
      readonly settled?: CarriedSettlement;
      /** Where it was late: what the clock said of whoever found it so. */
      readonly clock_ms?: number;
      /** What to tell of it beyond what the code says. */
      readonly reason?: string;
    };

/**
 * Sends a decision to the one place that decides which decision is first. Throws `orchestrator_unavailable` when no answer came in time:
 * the decision may still take effect until its `not_after`; `store_unavailable` when that place could not write it down, or not say that it
 * had. Sending it again under the same request id counts as one decision.
 */
export interface DecisionSender {
  decide(decision: SignedDecision): Promise<DecisionOutcome>;
}

/**
 * Has the row of a call that is over say what the call's record says; for a HIL that cannot read records. Rejects when that was not done in time.
 */
export type RowSettler = (correlationId: string) => Promise<void>;

export interface ListReviews {
  readonly tenant: string | readonly string[];
  readonly status?: ReviewStatus | readonly ReviewStatus[];
  readonly limit?: number;
  /** Row id; the page starts after that row. */
  readonly before?: string;
  /** Sort order by creation time; default `newest` first. */
  readonly sort?: ReviewOrder;
  readonly agent_id?: string;
}

export interface SummariesQuery {
  readonly tenants: readonly string[];
  readonly status: ListedStatus;
  readonly limit: number;
  readonly sort: ReviewOrder;
  /**
   * In any case: a part of the agent's name, the method, the tool, the summary of the risk or, of whoever sees all, of what the sandbox predicts; or
   * the beginning of the row's or the call's id, 8 digits or more.
   */
  readonly q?: string | undefined;
  /** Only what is left of them when secrets and personal data are masked is searched. */
  readonly isMasked?: boolean;
  readonly risk_tier?: RiskTier | undefined;
  /** `next_cursor` of an earlier page of the same list. */
  readonly cursor?: string | undefined;
}

export interface StatsQuery {
  readonly tenants: readonly string[];
  readonly window: StatsWindow;
}

/** Single rows, with their requests. */
export interface ReviewReads {
  /**
   * `null` for an unknown row, a withdrawn one, and one of another tenant. `payload_unavailable` when it does not decrypt;
   * `review_tampered` when Gate did not write the row, of which nothing is shown.
   */
  get(id: string, tenant?: string): Promise<PendingRequest | null>;
  byCorrelation(correlationId: string, tenant?: string): Promise<PendingRequest | null>;
  /** The same, also where the request does not decrypt: how the row stands is known without it (`payload_availability`). */
  anyway(correlationId: string, tenant: string): Promise<PendingRequest | null>;
  /**
   * What a row that was read has other than the last call of the same agent and tool before it; `null` where none of the agent's last 200 calls
   * that waited is of that tool. As much of that row is told as of any other; what costs too much to compare is not compared.
   */
  sinceLast(row: PendingRequest): Promise<SinceLastCall | null>;
}

/** Where calls begin to wait. */
export interface ReviewParking {
  /**
   * Returns the row of this correlation id, created if it does not exist (docs/architecture/reviews.md#one-row-per-call). With the same
   * payload, agent and tenant the first row is returned unchanged, whatever its status; otherwise `pending_conflict`. A withdrawn row is
   * replaced by a later create; an earlier or equal one is a late attempt of the withdrawn call and is `not_pending`; under a legal hold it is `review_held`. `invalid_request` for
   * text that no store can hold; `tenant_offboarded`; `review_backlog_full` when one agent has too many rows or bytes waiting, or
   * the tenant too many reviews without a call.
   *
   * Where `isAwaited` says that whoever asks has left, its call waits for nothing: no row is created, or it is withdrawn again (`not_pending`).
   */
  createOnce(review: NewReview, isAwaited?: () => boolean): Promise<{ row: PendingRequest; created: boolean }>;
  /**
   * Hides an undecided row and deletes its payload, unless an attempt that began after `attemptMs` opened it (again). Idempotent;
   * `already_decided` once it is settled.
   */
  withdraw(correlationId: string, attemptMs?: number): Promise<void>;
  /** Throws `tenant_offboarded` where nothing of this tenant may be asked for, approved or run any more. */
  assertOpen(tenant: string): Promise<void>;
  /**
   * Throws `invalid_request` naming what of this review no store keeps, and `review_backlog_full` where this row, as who asked for it, would be
   * refused now. `isThere`: it has a row already, which needs no room.
   */
  assertTakes(review: NewReview, isThere: boolean): Promise<void>;
}

/** How a wait goes on and ends. The workflow decides; these rows follow it. */
export interface ReviewSettling {
  /**
   * Compare-and-set from pending. Repeating the same settlement returns the row; a different one is `already_decided` with the row's state.
   * The deadline is not checked here, because the workflow decides. `not_found`, `not_pending` (withdrawn).
   */
  settle(settled: SettledReview): Promise<PendingRequest>;
  /**
   * Who has approved so far, where several must; shown with the row. A row that is settled or gone stays as it is. Compare-and-set. `null`
   * when the row is gone.
   */
  voted(id: string, approvals: readonly Approval[]): Promise<PendingRequest | null>;
  /**
   * Nobody had decided the row by these times (RFC 3339), in order: shown with it. Those that it has stand; a row that is settled or gone stays as
   * it is. Compare-and-set.
   */
  escalated(id: string, times: readonly string[]): Promise<void>;
  /** `listener` is called with each row that this process has just escalated, once for each time. */
  onEscalated(listener: (row: PendingRequest) => void): void;
}

/** Many rows, without their requests, and what is counted over them. */
export interface ReviewLists {
  /**
   * Rows in the requested order, without payloads: `request_payload` is the minimized one and `payload_summary` is true, so that no row is
   * too large to list; `get` returns the whole. `next_before` is the next cursor, `null` at the end. `invalid_request` when `before` names
   * no row of the tenant. A row that Gate did not write is `tampered` and shows nothing else; such rows are listed together with the
   * pending ones.
   */
  list(query: ListReviews): Promise<{ rows: ListedReview[]; next_before: string | null }>;
  /**
   * A page of short rows. It looks at a bounded number of rows, so that a rare `q` costs as much as a common one. `invalid_cursor` for a cursor
   * of another list. `asShown` makes of the rows of the page, without their requests, what is told of them.
   */
  summaries(
    query: SummariesQuery,
    asShown?: (rows: readonly Summarized[]) => Promise<readonly Summarized[]>,
  ): Promise<SummariesPage>;
  /** How the decisions of these tenants in a window until now went. */
  stats(query: StatsQuery): Promise<ApprovalStats>;
  /** Across all tenants, for metrics: the number of pending rows and the creation time of the oldest. */
  backlog(): Promise<{ pending: number; oldest_created_ms: number | null }>;
}

/** Rows as they are compared with the records of their calls. */
export interface ReviewWalk {
  /** As the port `Reviews` has it. */
  undecided(after: UndecidedPlace, limit: number): Promise<UndecidedRow[]>;
}

/** What people note on a row. */
export interface ReviewNotes {
  /**
   * Writes what people note on a row; `write` says what, of the row as it stands, or throws. `not_found` also for a withdrawn row and for one of
   * another tenant; `review_tampered`. Writing the same again changes nothing.
   */
  note(id: string, tenant: string | undefined, write: (row: PendingRequest) => Partial<Notes>): Promise<PendingRequest>;
}

/** What changes. */
export interface ReviewFeed {
  /** A reader of what changes from its first look on, by whichever process. */
  changes(): ReviewChanges;
  /** `listener` is called after each change that this process made. */
  onChange(listener: () => void): void;
}

/** What goes at its date. */
export interface ReviewSweeping {
  /**
   * Deletes what is past its date: first requests, later whole rows, each in a transaction with the record of its deletion. Rows under a
   * legal hold stay. Safe to repeat and to interrupt, in several processes at once. `operation_unfinished` where what is deleted may still be in
   * the log of the store. A row that nobody has decided stays, without its request; reconciliation ends it. By the time `atMs`, which
   * `timeToSweep` gave.
   */
  sweep(atMs?: number): Promise<Swept>;
  /** The time by which a sweep may delete, or why the clock of this process is not believed, so that nothing may be deleted by it. */
  timeToSweep(): Promise<TimeToSweep>;
}

/** What goes when somebody says so, and what must stay. */
export interface ReviewRetention {
  /**
   * Applies or releases a legal hold; a release deletes what is overdue before it returns. The same operation again returns the same receipt.
   * `operation_unfinished` as of `sweep`; `operation_conflict` for another one under its id, `hold_conflict` where another hold is on the row, or none; `not_found`;
   * `review_tampered`.
   */
  hold(id: string, tenant: string | undefined, request: LegalHoldRequest, by: HeldBy): Promise<LegalHoldReceipt>;
  /**
   * Deletes every row of these whatever its date, each with the record of its deletion, but what still waits, unless `waiting`. A row under a legal hold goes when
   * that is released. `complete` is false where the time was up or a row could not be dealt with; another call goes on. `operation_unfinished` as
   * of `sweep`.
   */
  erase(
    rows: ErasedRows,
    trigger: 'tenant_offboard' | 'namespace_cleanup',
    untilMs: number,
  ): Promise<{ readonly deleted: number; readonly held: number; readonly complete: boolean }>;
  /** How many rows of the tenant are not of the demonstration. */
  operatorRows(tenant: string): Promise<number>;
}

/** Rows that Gate did not write. */
export interface ReviewAlarms {
  /** `listener` is called with each row that was just closed as tampered, and the reason. The caller must append the alarm. */
  onTampered(listener: (row: { readonly id: string; readonly correlation_id: string }, why: string) => void): void;
}

/**
 * The review rows as whoever opens them gets them: one part for each thing that is done with them. Everyone else is handed the parts that he
 * needs; nobody gets all of them.
 */
export interface OpenedReviews {
  readonly reads: ReviewReads;
  readonly parking: ReviewParking;
  readonly settling: ReviewSettling;
  readonly lists: ReviewLists;
  readonly walk: ReviewWalk;
  readonly notes: ReviewNotes;
  readonly feed: ReviewFeed;
  readonly sweeping: ReviewSweeping;
  readonly retention: ReviewRetention;
  readonly alarms: ReviewAlarms;
  /** Whether a tenant may have reviews. */
  readonly tenants: TenantStates;
  /** The approvers' passkeys. */
  readonly passkeys: PasskeyStore;
  /** Seals changed values for the engine. */
  readonly changeSeal: ChangeSeal;
  /** Whose accounts in chats are whose, in the same store. */
  readonly chatLinks: ChatLinkStore;
  /** What the console said of people, in the same store. */
  readonly vouchings: VouchingStore;
  /** What the database's clock says; `null` where the store is a file of this host. */
  clockMs(): Promise<number | null>;
  /** Throws unless rows can be read and written. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Who a request for a legal hold comes from, on a row of this tenant. */
export type HeldBy = (tenant: string) => string;

export type TimeToSweep = { readonly atMs: number; readonly doubt: null } | { readonly doubt: string };

/** What one sweep did. `failed` are rows that could not be dealt with, for instance because their key is not here; they are tried again. */
export interface Swept {
  readonly purged: number;
  readonly deleted: number;
  readonly failed: number;
}

/** Rows of one tenant; of one namespace where it is given. */
export interface ErasedRows {
  readonly tenant: string;
  readonly namespace?: 'demo';
  /** Also those that wait: nobody can decide them any more. */
  readonly waiting?: boolean;
}

/** An operation of a tenant's life as it was begun. */
export interface TenantOperation {
  readonly tenant: string;
  readonly operation_id: string;
  readonly kind: TenantReviewsKind;
  /** Who asked, from the credential. */
  readonly asked_by: string;
}
export interface BegunOperation extends TenantOperation {
  /** Counts the operations of the tenant. */
  readonly generation: number;
  readonly begun_ms: number;
  /** What it came to; `null` while it is not finished. */
  readonly receipt: TenantReviewsReceipt | null;
}

/** Whether a tenant may have reviews, and the operations that said so. A store fault is `store_unavailable`. */
export interface TenantStates {
  /**
   * Stores the operation and the tenant's state with it, in one transaction; repeated, returns what was begun. From then on an offboarded
   * tenant gets no review (`tenant_offboarded`). `operation_conflict` for an id that belongs to another tenant or kind, and for one that a
   * later operation of the tenant has overtaken before it was finished. Nothing is begun while the last one is not recorded outside the store.
   */
  begin(operation: TenantOperation): Promise<BegunOperation>;
  /** Counts what the operation denied, and keeps the number: asked for before anything is deleted. */
  denied(operationId: string): Promise<number>;
  /** What the operation deleted so far, and what is left because of a legal hold. */
  erased(operationId: string): Promise<{ readonly rows_erased: number; readonly rows_held: number }>;
  /** Stores what the operation came to, and returns it; the first one stands. */
  finish(operationId: string, receipt: TenantReviewsReceipt): Promise<TenantReviewsReceipt>;
  /** Whether the operation was begun here and has no receipt yet. `review_tampered`. */
  isUnfinished(operationId: string): Promise<boolean>;
  /** The tenant's state and its newest operations, 100 at most. `review_tampered`. */
  of(
    tenant: string,
  ): Promise<{ readonly state: 'active' | 'offboarded'; readonly operations: readonly BegunOperation[] }>;
  /** What was decided last about each tenant. `review_tampered`. */
  standing(): Promise<TenantDisposition[]>;
  /** Takes over what was decided later than this store knows. */
  stand(disposition: TenantDisposition): Promise<void>;
}

/** What was decided about tenants and people, outside the store: a copy of the store that is put back is behind it. */
export interface Dispositions {
  /** `null` where one is to be begun. Throws, with the reason, where it is missing or not what Gate wrote. */
  read(): TenantDispositions | null;
  begin(standing: readonly TenantDisposition[]): TenantDispositions;
  /** Throws, with the reason, where nothing can be recorded now: the file is written with what it says. */
  check(): void;
  /**
   * That an operation was begun is written after the store: one that ended between the two is recorded when it goes on, before the tenant's
   * next one, or at the next start. That a departure is `done` is written before the store: nothing is left then that a start could delete.
   */
  record(disposition: TenantDisposition, done?: boolean): void;
  /** Written before the store: a removal that did not get further is finished by the next start. */
  recordTakenOut(person: TakenOut): void;
  /** How often somebody of this name was taken out, 0 for never. Throws, with the reason, where that cannot be read. */
  timesTakenOut(of: Pick<TakenOut, 'tenant' | 'subject'>): number;
}

export interface ReviewLimits {
  readonly rows: number;
  readonly bytes: number;
}
