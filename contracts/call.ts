import { z } from 'zod';
import type { VerifiedAttestation } from './verified-attestation.js';
import type { CallActor, CallGrant } from './call-grant.js';
import type { DecoyAction, DecoyKind } from './decoy-kinds.js';
import type { StateNamespace } from './ledger.js';
import { approvalTier } from './policy.js';

/**
 * The contracts a tool call can select (docs/architecture/requests-and-answers.md#contract-selection). `decision/v1` is accepted as an
 * alias of the first, but never used in answers.
 */
export const DECISION_CONTRACT = 'gate.decision/v1';
export const SERVER_EXECUTION_CONTRACT = 'gate.server-execution/v1';
/** A review that no call asked for (docs/architecture/reviews.md#a-review-without-a-call): no caller can select it, and nothing runs. */
export const REVIEW_CONTRACT = 'gate.review/v1';
export type CallContract = typeof DECISION_CONTRACT | typeof SERVER_EXECUTION_CONTRACT | typeof REVIEW_CONTRACT;

/** What an upstream may ask of an agent's client, by the names of the client's capabilities. */
export const CLIENT_CAPABILITIES = ['elicitation', 'sampling', 'roots'] as const;
export type ClientCapability = (typeof CLIENT_CAPABILITIES)[number];
/** Those of them that an upstream is told of when a session with it opens: the roots of a client change what some servers let everybody reach. */
export const SESSION_CAPABILITIES: readonly ClientCapability[] = ['elicitation', 'sampling'];
/** What a client hears of what a tool says while it works. */
export type HeardOfTools = 'logs' | 'progress';

export const mode = z.enum(['observe', 'enforce']);
export type Mode = z.infer<typeof mode>;

export type Tier = 'green' | 'yellow' | 'red';

/**
 * One tool call as its workflow sees it: references, digests and deadlines, never a body (docs/architecture/record-and-claim.md).
 * Everything the pipeline branches on is in here and not in a worker's configuration, so that a replay takes the same branches. Times are
 * epoch milliseconds.
 */
export interface CallInput {
  readonly correlation_id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly agent_spiffe: string;
  /** SHA-256 of the caller's leaf certificate, 64 hex digits. */
  readonly credential_fingerprint: string;
  readonly contract: CallContract;
  readonly idempotency_id: string | null;
  readonly method: string;
  readonly tool: string;
  /** Binding digest: RFC 8785 over contract, route, method, tool and the whole body. */
  readonly digest: string;
  readonly mode: Mode;
  readonly received_ms: number;
  /** After this time nothing may start, because the caller has given up. */
  readonly not_after_ms: number;
  readonly ttl_secs: Readonly<Record<z.infer<typeof approvalTier>, number>>;
  readonly upstream_timeout_ms: number;
  /**
   * How long Brain may take, where it asks models; its inspection is then an activity of its own, made once. Without it Brain answers within
   * two seconds, and is asked again where nobody knows its answer.
   */
  readonly inspection_timeout_ms?: number;
  readonly has_callback: boolean;
  /** The namespace of the call's rows; `operator` when absent. It comes from the proxy's configuration, never from the request. */
  readonly state_namespace?: StateNamespace;
  readonly recent_request_count: number;
  readonly velocity_limit: number;
  /** Its agent was under containment when the call came: whatever may run waits for a person. */
  readonly force_hil?: true;
  /** On whose behalf its agent asks, where it showed that: looked at again before anything runs. */
  readonly grant?: CallGrant;
  /** As which agent of another Gate it asks, by a token that was used up for this call. */
  readonly actor?: CallActor;
  /** What was verified of the platform of its agent when the call came, `null` where nothing counted; absent where the deployment does not ask. */
  readonly attestation?: VerifiedAttestation | null;
  /** What nobody should call or use, and it does: denied in every mode. */
  readonly decoy?: CallDecoy;
  readonly upstream?: CallUpstream;
  /** What its client can be asked while the tool runs (`domain/upstream/call-talks.ts`); absent where it can be asked nothing. */
  readonly client_can?: readonly ClientCapability[];
  /** What its client hears of what the tool says meanwhile, where another process tells it; absent where it hears nothing. */
  readonly client_hears?: readonly HeardOfTools[];
  /** What is kept of what it costs; absent where it costs nothing and nobody set a budget. */
  readonly spend?: CallSpend;
  /** Task queue on which a parked call continues as a new run. Without it the call waits in the run that judged it. */
  readonly parked_task_queue?: string;
}

/** The upstream of a call, where somebody vouched for any (docs/architecture/upstreams.md#what-calls-say). */
export interface CallUpstream {
  /** `null` where nobody vouched for it. */
  readonly id: string | null;
  readonly signal?: 'upstream_not_registered' | 'upstream_identity_mutated';
}

/** The decoy that a call touches (docs/architecture/decoys.md); its value is in no history. */
export interface CallDecoy {
  readonly id: string;
  readonly kind: DecoyKind;
  readonly action: DecoyAction;
}

/** What a call may cost, in micro-units of the currency (docs/architecture/budgets.md). */
export interface CallSpend {
  /** The month in which it counts, in UTC: `2026-11`. */
  readonly month: string;
  /** The most that it may cost: reserved until it has ended. */
  readonly reserved_micros: number;
  /** What a call of its tools costs, by name; absent for those that cost nothing. */
  readonly prices: Readonly<Record<string, number>>;
  /**
   * The budget of which the least is left, its tenant's or its agent's, and what stood against it when the call came: what was spent, and what others
   * had reserved. Absent where nobody set one.
   */
  readonly budget?: { readonly of: 'tenant' | 'agent'; readonly budget_micros: number; readonly spent_micros: number };
}

/** States of a call record. The transitions between them are in `domain/call/transitions.ts`. */
export const CALL_STATES = [
  'decided',
  'denied',
  'allowed',
  'parked',
  'approved',
  'intended',
  'completed',
  'uncertain',
  'not_run',
  'expired',
  'abandoned',
  'aborted',
  'tampered',
] as const;
export type CallState = (typeof CALL_STATES)[number];

/** What the pipeline learns about the record after a step: enough to branch on, and nothing that must not be in a history. */
export interface CallSummary {
  readonly correlation_id: string;
  readonly state: CallState;
  readonly tier: Tier | null;
  readonly approval_tier: z.infer<typeof approvalTier>;
  readonly pending_id: string | null;
  /** Deadline of a parked call, epoch milliseconds. */
  readonly deadline_ms: number | null;
  /**
   * When the review of a parked call is escalated next if nobody decides before, epoch milliseconds; absent where it is not, or was, and in
   * histories of an earlier Gate.
   */
  readonly escalates_ms?: number;
  /** When its review was decided, epoch milliseconds. */
  readonly decided_ms: number | null;
  /** When the worker took that decision, by its own clock, epoch milliseconds; absent without one, and in histories of an earlier Gate. */
  readonly applied_ms?: number;
  /**
   * Number of transitions of the record so far; absent in histories of an earlier Gate. A record with a lower number was restored from an
   * older copy.
   */
  readonly version?: number;
  /** When the record came to this state, epoch milliseconds; absent in histories of an earlier Gate. */
  readonly updated_ms?: number;
}

/** A record as one step left it, for the next step: that version and no other. */
export type ReachedRecord = Pick<CallSummary, 'version' | 'updated_ms'>;

/**
 * Why it is unknown whether the tool ran. `timeout`: no answer in time. `invalid_answer`: no readable answer, which includes a connection
 * that ended. `cancelled`: this side stopped waiting before the time was over, because its worker stops.
 */
export type UnknownCause = 'timeout' | 'invalid_answer' | 'cancelled';
