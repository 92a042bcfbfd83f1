import type { Advice, DenialDetail, ResolveOptions, ToolCall } from './types.js';

/** What every error of this package is. */
export class GateError extends Error {
  override name = 'GateError';
}

/** The call of this package cannot be carried out as it was written; nothing was sent to Gate. Thrown in both modes. */
export class GateConfigError extends GateError {
  override name = 'GateConfigError';
}

/**
 * What a model wrote cannot be shown to Gate as it would be run: arguments that are no JSON, or a response that announces tool calls and has
 * none. Nothing may run of it.
 */
export class GateMalformedCall extends GateError {
  override name = 'GateMalformedCall';
  readonly toolName: string;

  constructor(toolName: string, message: string) {
    super(message);
    this.toolName = toolName;
  }
}

/** Gate gave no verdict: it was not reached, or what answered is not Gate's. Never an allow, never a deny. */
export class GateTransportError extends GateError {
  override name = 'GateTransportError';
  /** HTTP status of the answer; absent where none came. */
  readonly status: number | undefined;
  /** Gate's stable error code, where the answer has one. */
  readonly code: string | undefined;

  constructor(message: string, facts: { status?: number; code?: string; cause?: unknown } = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.code = facts.code;
  }
}

/** What is known of a call that waits, and how it is waited for. */
export interface Waiting {
  readonly correlationId: string;
  readonly reviewReasons: readonly string[];
  readonly ttlSecs: number | undefined;
  resolve(options?: ResolveOptions): Promise<void>;
}

export interface DenialFacts {
  readonly call: ToolCall;
  readonly code: string;
  readonly reasons: readonly string[];
  readonly reviewReasons: readonly string[];
  readonly intentCategory: string;
  readonly layer?: string | undefined;
  readonly correlationId?: string | undefined;
  readonly advice?: Advice | undefined;
  readonly detail?: DenialDetail | undefined;
}

/** Gate, or a person, said no. `code` is stable (docs/reference/errors.md of Gate); `reasons` are for the reader. */
export class GateDenied extends GateError {
  override name = 'GateDenied';
  readonly toolName: string;
  readonly toolUseId: string;
  readonly code: string;
  readonly reasons: readonly string[];
  readonly reviewReasons: readonly string[];
  readonly intentCategory: string;
  /** The part of Gate that refused: `brain`, `policy`, `hil`, `proxy`, … */
  readonly layer: string | undefined;
  readonly correlationId: string | undefined;
  /** Whether to ask again, whether a person can help, and what would be allowed; of a rule's denial, not of a person's. */
  readonly advice: Advice | undefined;
  readonly detail: DenialDetail | undefined;

  constructor(facts: DenialFacts) {
    super(`gate denied tool "${facts.call.name}": ${facts.reasons.join(' | ')}`);
    this.toolName = facts.call.name;
    this.toolUseId = facts.call.id;
    this.code = facts.code;
    this.reasons = facts.reasons;
    this.reviewReasons = facts.reviewReasons;
    this.intentCategory = facts.intentCategory;
    this.layer = facts.layer;
    this.correlationId = facts.correlationId;
    this.advice = facts.advice;
    this.detail = facts.detail;
  }
}

/**
 * The call waits for a person. `resolve()` waits with it; `correlationId` is all that another process needs to go on waiting
 * (`resolvePending`). After an approval run the calls of `toolCalls`, or `response`: asking the model again makes another call, which waits again.
 */
export class GatePending extends GateError {
  override name = 'GatePending';
  readonly toolName: string;
  readonly correlationId: string;
  readonly reviewReasons: readonly string[];
  /** Seconds that a person has, as Gate said when the call began to wait. */
  readonly ttlSecs: number | undefined;
  readonly tier: string | undefined;
  readonly toolCalls: readonly ToolCall[];
  /** The model's response that is held back, where a wrapped client made the call and the calls of it are those of `toolCalls`. */
  response: unknown;
  readonly #waiting: Waiting;

  constructor(waiting: Waiting, facts: { calls: readonly ToolCall[]; tier?: string | undefined }) {
    const toolName = facts.calls[0]?.name ?? '';
    super(`gate parked tool "${toolName}" for review (correlation_id=${waiting.correlationId})`);
    this.toolName = toolName;
    this.toolCalls = facts.calls;
    this.correlationId = waiting.correlationId;
    this.reviewReasons = waiting.reviewReasons;
    this.ttlSecs = waiting.ttlSecs;
    this.tier = facts.tier;
    this.#waiting = waiting;
  }

  /** Returns when somebody approved the call. Throws `GateDenied` where it was refused or expired, `GateTransportError` where nothing is known in time. */
  resolve(options: ResolveOptions = {}): Promise<void> {
    return this.#waiting.resolve(options);
  }
}

/** Too many calls, or a budget that is spent (`code` `quota_exceeded`). Nothing was judged. */
export class GateRateLimited extends GateError {
  override name = 'GateRateLimited';
  readonly toolName: string;
  readonly code: string;
  readonly reasons: readonly string[];
  readonly retryAfterSecs: number | undefined;
  readonly scope: string | undefined;
  readonly correlationId: string | undefined;

  constructor(facts: {
    call: ToolCall;
    code: string;
    reasons: readonly string[];
    retryAfterSecs?: number | undefined;
    scope?: string | undefined;
    correlationId?: string | undefined;
  }) {
    super(`gate limited tool "${facts.call.name}": ${facts.reasons.join(' | ') || facts.code}`);
    this.toolName = facts.call.name;
    this.code = facts.code;
    this.reasons = facts.reasons;
    this.retryAfterSecs = facts.retryAfterSecs;
    this.scope = facts.scope;
    this.correlationId = facts.correlationId;
  }
}
