import type { AssertionJson } from '../contracts/approval.js';
import type { VerifiedDecisionLink } from '../contracts/decision-link.js';
import type { PolicyList } from '../contracts/policy.js';
import type { PendingRequest, PendingSummary } from '../contracts/review.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { InclusionProof } from '../contracts/ledger-proof.js';
import type {
  AgentActivity,
  FleetBehavioralDiff,
  Hunt,
  Narrative,
  NarrativeWindow,
  SilentAgents,
} from '../contracts/ledger-reports.js';
import type { Json, JsonObject } from '../contracts/json.js';
import { errorText, GateError } from '../domain/errors.js';

export interface QueueQuery {
  readonly status: 'pending' | 'approved' | 'denied' | 'expired';
  readonly cursor?: string | undefined;
  readonly q?: string | undefined;
  readonly riskTier?: string | undefined;
  readonly sort: 'newest' | 'oldest';
  readonly limit: number;
}

export interface QueuePage {
  readonly items: readonly PendingSummary[];
  readonly next_cursor: string | null;
  readonly pending_count: number;
}

export interface Deciding {
  readonly decision: 'approve' | 'deny' | 'modify';
  readonly reason: string | null;
  /** The digest of the arguments as the person saw them. */
  readonly actionDigest: string;
  readonly modificationDiff?: JsonObject;
  /** What the person's passkey signed of this decision. */
  readonly passkey?: AssertionJson;
  /** The same decision sent again has the same id. */
  readonly requestId: string;
}

export interface RowsQuery {
  /** A name, or with `*` for any characters. */
  readonly agent: string;
  readonly limit: number;
  readonly before?: number | undefined;
  readonly verdict?: string | undefined;
  readonly methods?: string | undefined;
  readonly tool?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface HuntQuery {
  readonly method?: string | undefined;
  readonly signal?: string | undefined;
  readonly authorized?: 'true' | 'false' | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly limit: number;
}

/** What the last walk of the chain found, and the newest checkpoint where the ledger signs any. */
export interface ChainHealth {
  readonly valid: boolean;
  readonly entries_checked: number;
  /** Rows in all. */
  readonly length: number;
  readonly head_hash: string | null;
  readonly checked_at: string;
  readonly checkpoint: { readonly origin: string; readonly size: number; readonly root: string } | null;
}

/** The other services as one person may ask them. Each throws `GateError`: a refusal, or `console_neighbour_away` for one that is away. */
export interface Services {
  readonly hil: {
    summaries(query: QueueQuery): Promise<QueuePage>;
    /** A row with its payload and what people were told of it; `null` where there is none for this person. */
    row(id: string): Promise<PendingRequest | null>;
    byCorrelation(correlationId: string): Promise<PendingRequest | null>;
    /** The newest calls of an agent that somebody decided, without their values. */
    lately(agentId: string): Promise<readonly PendingRequest[]>;
    decide(id: string, decision: Deciding): Promise<PendingRequest>;
    assign(id: string, to: string): Promise<PendingRequest>;
    /** Where a decision link leads. It decides nothing. */
    verifyLink(token: string): Promise<VerifiedDecisionLink>;
  };
  readonly ledger: {
    /** The rows of one call, in the order of the chain. */
    call(correlationId: string): Promise<readonly LedgerEntry[]>;
    /** The same once the call has ended, or as they are after that time. */
    ended(correlationId: string, withinMs: number): Promise<readonly LedgerEntry[]>;
    /** Newest first. */
    rows(query: RowsQuery): Promise<readonly LedgerEntry[]>;
    /** The parameters that a row commits to, masked; `null` where it commits to none, or where they were purged. */
    maskedParams(entryId: string): Promise<{ readonly masked_params: Json; readonly retention_class: string | null }>;
    /** Proves a row under the newest checkpoint; `null` for a row of another tenant. */
    inclusion(seq: number): Promise<InclusionProof | null>;
    hunt(query: HuntQuery): Promise<Hunt>;
    narrative(agent: string, window: NarrativeWindow): Promise<Narrative>;
    activity(sinceHours: number, limit: number): Promise<AgentActivity>;
    drift(limit: number): Promise<FleetBehavioralDiff>;
    silent(sinceHours: number): Promise<SilentAgents>;
    /** Not older than five minutes, unless the ledger is slow to say. */
    chain(): Promise<ChainHealth | 'walking'>;
    /** The same where the last walk found that it does not hold; at once, and without a walk. */
    broken(): ChainHealth | null;
  };
  readonly policy: {
    /** The rules that judge now. */
    list(): Promise<PolicyList>;
  };
  /** Whether each service answers, and is ready. */
  health(): Promise<readonly ServiceHealth[]>;
}

export interface ServiceHealth {
  readonly name: string;
  readonly ok: boolean;
  readonly words: string;
}

/** What a page asked for; or which service is away, for the page to say beside what it can show. */
export type Settled<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly service: string; readonly why: string };

/** Lets a page go on without a service. A refusal stays an error. */
export async function settled<Value>(service: string, asked: Promise<Value>): Promise<Settled<Value>> {
  try {
    return { ok: true, value: await asked };
  } catch (error) {
    if (error instanceof GateError && error.status < 500) throw error;
    return { ok: false, service, why: errorText(error) };
  }
}
