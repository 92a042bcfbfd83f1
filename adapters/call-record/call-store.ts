import { callMigrations } from '../../migrations/calls.js';
import type { CallInput, CallState, ReachedRecord } from '../../contracts/call.js';
import type { AgentHistory } from '../../contracts/policy.js';
import type { HeldRows } from '../../contracts/ledger.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { jobsInFile, jobsOver } from '../store/jobs.js';
import type { LocalFile } from '../store/local-file.js';
import { handedCalls, keptCalls } from '../../domain/call-record/kept-calls.js';
import { sealCalls } from './seal-calls.js';
import type {
  CallRecord,
  KeptInspection,
  NotAsStaged,
  RecordedDecision,
  RecordedOutcome,
  StagedRequest,
  VerdictEvidence,
} from '../../domain/call-record/record.js';
import type { Setbacks, SetbackTables } from './setbacks.js';
import type { FirstState, StoredRecord } from '../../domain/call-record/sealed-record.js';
import { storedCalls } from './stored-calls.js';
import type { CallMove } from '../../domain/call-record/transitions.js';
import type { WalkPlace } from '../../domain/call-record/walk.js';

export interface CallTables extends SetbackTables {
  call_requests: {
    correlation_id: string;
    tenant: string;
    agent: string;
    digest: string;
    sealed: Uint8Array;
    /** `KeptInspection`, where one was worth keeping. */
    inspection_sealed: Uint8Array | null;
    created_ms: number;
  };
  call_records: StoredRecord;
  call_seal: { id: number; mac: string };
  call_tombstones: { correlation_id: string; digest: string; purged_ms: number };
  rate_hits: { key: string; at_ms: number; correlation_id: string };
  sensitive_steps: { tenant: string; agent: string; tool: string; at_ms: number };
}

export type Admission =
  /** `digest` binds the request that is staged under this id; if it is not the caller's, that is a conflict. */
  | { readonly admitted: true; readonly recent: number; readonly digest: string }
  | { readonly admitted: false; readonly retryAfterSecs: number; readonly first: boolean }
  /** The id was used before and its record has been purged; `digest` is what it was bound to. */
  | { readonly admitted: false; readonly purged: true; readonly digest: string };

/** A move that was tried: `applied` says whether this attempt made it; `record` is what stands now. */
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
  readonly outcome?: RecordedOutcome;
  /** The retained answer, sealed at rest. */
  readonly result?: Uint8Array;
  /** The call counts in its agent's history from this moment (docs/architecture/record-and-claim.md#agent-history). */
  readonly counted_ms?: number;
  /** Only before this moment; later the move is not made. */
  readonly before_ms?: number;
  /** The caller asked to be told how its review ended. */
  readonly callback?: boolean;
  /** The version that the host has seen of this record. An older one was put back by somebody and is closed as tampered. */
  readonly version?: number;
}

/** What is still to be done when a review has ended: settle its row in HIL, tell the caller. */
export type FollowUp = 'review' | 'callback';

/** A call with a duty still to be done, and since when. */
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
 * The proxy's store (docs/architecture/record-and-claim.md): one fsynced record per call, unique by correlation id, every move a
 * compare-and-set; the request staged before the workflow starts; the retained result. Survives engine retention, reset and restore.
 *
 * Editing the store must not decide anything. Every record that is read from it, by any method, was written by Gate and is not older than
 * what this process has seen; of an open record that was not made here just now the ledger has no later row either. Any other record is
 * closed as `tampered` when it is read, and returned in that state.
 */
export interface CallStore {
  /**
   * Counts the call in its agent's sliding window, each call of a batch by itself, and stages its request, in one transaction. Refuses
   * what goes over the limit (`limit` 0 = unlimited), a batch as a whole, and then counts nothing of it; `retryAfterSecs` is when enough
   * has left the window. `first` is true for the first refusal of the window. Staging the same id again changes nothing.
   */
  admit(call: CallInput, request: StagedRequest, window: { limit: number; windowMs: number }): Promise<Admission>;
  /** The staged request, `null` where there is none, or why the stored bytes are not that request. */
  request(correlationId: string, digest: string): Promise<StagedRequest | NotAsStaged | null>;
  /** What was kept of an inspection of the staged request; `null` where nothing was. */
  inspection(correlationId: string, digest: string): Promise<KeptInspection | NotAsStaged | null>;
  /** Keeps what an inspection found, on disk, for whoever judges the call after a crash. */
  keepInspection(correlationId: string, digest: string, kept: KeptInspection): Promise<void>;
  /**
   * The record as it stands. With `reached`, the one that a step before left: where this process still has that one opened, it is not
   * read again, whatever became of it since.
   */
  find(correlationId: string, reached?: ReachedRecord): Promise<CallRecord | null>;
  /** Inserts the verdict or returns the record that is there: the first verdict stands. */
  commitVerdict(state: FirstState, evidence: VerdictEvidence, outcome?: RecordedOutcome): Promise<CallRecord>;
  move(correlationId: string, move: CallMove, patch?: MovePatch): Promise<Moved>;
  /** Removes a record that is still `decided`: nothing followed from its verdict, and the same id may start again. Any other stays. */
  takeBack(correlationId: string): Promise<void>;
  /** The retained answer; `null` when there is none. Throws `call_tampered`, and closes the record, when it is not the one of the outcome. */
  result(correlationId: string): Promise<Buffer | null>;
  /**
   * Closes a record as tampered because another store contradicts it, which this store cannot see itself. With `version`, only if the
   * record still has that version. Returns the record that stands then; `null` when there is none.
   */
  condemn(correlationId: string, why: string, version?: number): Promise<CallRecord | null>;
  /** The listener gets each record that was just closed as tampered, so that its alarm row is appended. */
  onTampered(listener: (record: CallRecord) => void): void;
  /** The listener gets each record as it stands after a move of this process. */
  onMoved(listener: (record: CallRecord) => void): void;
  /**
   * Steps of this agent that succeeded within the window, oldest first, at most 16; each call of a batch is one. Beside them, however
   * many steps came since, the newest of each sensitive tool.
   */
  history(tenant: string, agent: string, sinceMs: number): Promise<AgentHistory>;
  /** Every row of the record is in the ledger, as of the given `updated_ms`. A later move makes rows due again. */
  rowsAppended(correlationId: string, updatedMs: number): Promise<void>;
  /** What reconciliation could not do, by call and duty. */
  readonly setbacks: Setbacks;
  /** Since when the oldest record waits for its rows, or `null`. Records whose rows had a setback have their own alarm and are left out. */
  oldestRowsDueMs(): Promise<number | null>;
  /**
   * Calls without an end that did not move since the moment, oldest first; `after` goes on behind a call that was returned. Each was looked
   * at: what does not hold is closed and left out, and keeps no other from being found. One whose key is missing comes as its row has it.
   */
  openCalls(untouchedSinceMs: number, limit: number, after?: WalkPlace): Promise<OpenCall[]>;
  /** Records whose rows are due since before the moment. */
  rowsDue(sinceMs: number, limit: number, after?: WalkPlace): Promise<DueCall[]>;
  /** Records whose review ended before the moment and that still owe its row, or its callback. */
  followUpsDue(what: FollowUp, sinceMs: number, limit: number, after?: WalkPlace): Promise<DueCall[]>;
  followedUp(correlationId: string, what: FollowUp): Promise<void>;
  /**
   * Removes hits outside every window, staged requests that never got a record, and records past retention; returns how many rows went. Of
   * each record its id and digest stay for `TOMBSTONE_LIVES` times as long, so that the id does not execute again.
   */
  purge(before: { hitsMs: number; stagedMs: number; recordsMs: number }): Promise<number>;
  /** Resolves with the record when it satisfies the condition, or with what stands at the deadline. */
  waitFor(
    correlationId: string,
    condition: (record: CallRecord) => boolean,
    deadlineMs: number,
  ): Promise<CallRecord | null>;
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface CallStoreOptions {
  readonly target: StoreTarget;
  readonly keys: KeyRing;
  readonly now?: () => number;
  /** This deployment's name for the replica that wrote a history event. */
  readonly replica?: string;
  /** The ledger, whose rows show that an older record was put back. Without it only a process that saw the newer record notices. */
  readonly ledger?: HeldRows | undefined;
}

export async function openCallStore({ target, ...options }: CallStoreOptions): Promise<CallStore> {
  const store = await openStore<CallTables>(target, callMigrations);
  try {
    await sealCalls(store, options.keys, options.now);
  } catch (error) {
    await store.close();
    throw error;
  }
  return callStoreOver(store, options);
}

/** The call records over a store that is open and migrated, and that other processes may write. Takes it over: `close` closes it. */
export const callStoreOver = (
  store: Store<CallTables>,
  { replica = 'gate-0', ...options }: Omit<CallStoreOptions, 'target'>,
): CallStore =>
  storedCalls({
    ...options,
    replica,
    jobs: jobsOver(store),
    setbacks: store as unknown as Store<SetbackTables>,
    kept: handedCalls(),
    vouchedMs: VOUCHED_MS,
  });

export interface FileCallStoreOptions extends Pick<CallStoreOptions, 'keys' | 'now' | 'replica'> {
  /** The ledger in the same file: whether there is a row of this id. */
  readonly ledger?: { holds(id: string): boolean };
}

/**
 * The call records inside a file that this process alone writes, in the file's open transaction. A returned record is valid in this
 * process; `durable()` of the file says when it is on disk.
 */
export function callStoreInFile(
  file: LocalFile,
  { replica = 'gate-lite', ledger, ...options }: FileCallStoreOptions,
): CallStore {
  return storedCalls({
    ...options,
    replica,
    jobs: jobsInFile(file),
    setbacks: file.store<SetbackTables>(),
    kept: keptCalls(),
    ledger: ledger && { held: async (ids) => new Set(ids.filter((id) => ledger.holds(id))) },
    onUndone: (forget) => file.onUndone(forget),
  });
}

/** How long the ledger's answer about an open call holds before it is asked again: another replica may move the call meanwhile. */
const VOUCHED_MS = 60_000;
