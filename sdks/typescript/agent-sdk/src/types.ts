/** A tool call as a model wrote it. `id` is the provider's own, `input` plain JSON: what is judged is what runs. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** What each detector of Gate's inspection said; sent by a Gate with verbose verdicts alone. */
export interface DenialDetail {
  readonly detectors: readonly { readonly detector: string; readonly score: number; readonly flagged?: boolean }[];
  readonly degraded?: readonly string[];
}

/** What an agent can do about a refusal. */
export interface Advice {
  /** Whether the same request may be sent again: `yes`, `no` or `after_wait`. */
  readonly retry: string;
  /** Whether a person can bring it about that this action is done. */
  readonly person_can_help: boolean;
  /** What would be allowed, or what to do instead. */
  readonly allowed?: string | undefined;
}

/** The body of a refusal, with the words of the wire. */
export interface Denial {
  readonly error: string;
  readonly verdict?: string | undefined;
  readonly layer?: string | undefined;
  readonly reasons: readonly string[];
  readonly review_reasons: readonly string[];
  readonly intent_category: string;
  readonly correlation_id?: string | undefined;
  /** The sibling of a batch that the refusal names. */
  readonly call_id?: string | undefined;
  readonly advice?: Advice | undefined;
  readonly detail?: DenialDetail | undefined;
}

export interface Limited {
  readonly error: string;
  readonly verdict: 'rate_limited' | 'quota_exceeded';
  readonly reasons: readonly string[];
  readonly retry_after_secs?: number | undefined;
  readonly scope?: string | undefined;
}

/**
 * What Gate said of one call, or of one batch as a whole. `would_deny` and a `pending` with `wouldOnly` are of a Gate, or of an SDK, that
 * only observes. `uninspected` is of an observing SDK that had no verdict at all.
 */
export type Verdict =
  | { readonly kind: 'allow'; readonly correlationId?: string | undefined }
  | { readonly kind: 'would_deny'; readonly correlationId?: string | undefined; readonly payload?: Denial | undefined }
  | { readonly kind: 'deny'; readonly correlationId?: string | undefined; readonly payload: Denial }
  | {
      readonly kind: 'pending';
      readonly correlationId: string;
      readonly reviewReasons: readonly string[];
      readonly ttlSecs?: number | undefined;
      readonly tier?: string | undefined;
      readonly pollAfterMs?: number | undefined;
      readonly wouldOnly?: true;
    }
  | { readonly kind: 'rate_limited'; readonly correlationId?: string | undefined; readonly payload: Limited }
  | { readonly kind: 'uninspected'; readonly error: Error };

/** Which call a callback is about. */
export interface CallContext {
  readonly toolName: string;
  readonly toolUseId: string;
  readonly toolInput: unknown;
}

export interface ResolveOptions {
  /** Between two questions, ±20 %. Default: what Gate said, else 2,000 ms; 30,000 where a callback is waited for. */
  readonly pollIntervalMs?: number;
  /** Default: what the person has, at most 600,000 ms. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}
