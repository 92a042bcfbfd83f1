import { setTimeout as sleep } from 'node:timers/promises';
import { requestText } from './calls.js';
import { denialPanel } from './denial-panel.js';
import { GateConfigError, GateDenied, GateError, GatePending, GateRateLimited, GateTransportError } from './errors.js';
import { type HttpAnswer, send } from './http.js';
import { type GateOptions, type Settings, settingsOf } from './options.js';
import { PendingCall } from './pending.js';
import type { ResolveOptions, ToolCall, Verdict } from './types.js';
import { DECISION_CONTRACT, readVerdict } from './verdict.js';

export interface CallOptions extends GateOptions {
  /** A lower-case UUID that names the request; the same one again gets the same verdict. Default: a new one. */
  readonly idempotencyId?: string;
  readonly signal?: AbortSignal;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const LONGEST_PAUSE_MS = 60_000;

export interface Request {
  readonly idempotencyId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const partsOf = ({ idempotencyId, signal, ...options }: CallOptions): readonly [Settings, Request] => [
  settingsOf(options),
  { idempotencyId, signal },
];

/** Gate's verdict on one call. Throws only where there is none: `GateConfigError`, and in enforce mode `GateTransportError`. */
export const inspectToolUse = (call: ToolCall, options: CallOptions = {}): Promise<Verdict> =>
  inspectToolUses([call], options);

/** One verdict on all calls of one turn of a model: where one may not run, none may. */
export function inspectToolUses(calls: readonly ToolCall[], options: CallOptions = {}): Promise<Verdict> {
  return inspect(calls, ...partsOf(options));
}

/** Asks, tells `onVerdict` of each call, and gives the verdict back. */
export async function inspect(calls: readonly ToolCall[], settings: Settings, request: Request = {}): Promise<Verdict> {
  const verdict = await verdictOf(calls, settings, request);
  if (settings.devMode && verdict.kind === 'deny')
    process.stderr.write(`${denialPanel(errorOf(verdict, calls, settings) as GateDenied)}\n`);
  for (const { id, name, input } of calls) {
    // A copy: what they do to it, such as blackening a secret, is not done to the call that runs.
    const context = { toolName: name, toolUseId: id, toolInput: structuredClone(input) };
    if (verdict.kind === 'uninspected') await settings.onPolicyError?.(verdict.error, context);
    else await settings.onVerdict?.(verdict, context);
  }
  return verdict;
}

async function verdictOf(calls: readonly ToolCall[], settings: Settings, request: Request): Promise<Verdict> {
  const idempotencyId = request.idempotencyId ?? crypto.randomUUID();
  if (!UUID.test(idempotencyId)) throw new GateConfigError('idempotencyId must be a lower-case UUID');
  const body = requestText(calls, idempotencyId);
  try {
    const verdict = readVerdict(await sendAgain(settings, idempotencyId, body, request.signal));
    return settings.mode === 'observe' && verdict.kind === 'deny' ? { ...verdict, kind: 'would_deny' } : verdict;
  } catch (error) {
    if (settings.mode !== 'observe' || !(error instanceof GateTransportError)) throw error;
    return { kind: 'uninspected', error };
  }
}

/** The same bytes under the same id, until an answer comes that is not a failure of Gate. */
async function sendAgain(
  settings: Settings,
  idempotencyId: string,
  body: string,
  signal?: AbortSignal,
): Promise<HttpAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt >= settings.maxAttempts;
    try {
      const answer = await send(settings, {
        method: 'POST',
        path: '/mcp',
        headers: {
          'Content-Type': 'application/json',
          'X-Gate-Decision-Contract': DECISION_CONTRACT,
          'X-Gate-Idempotency-Id': idempotencyId,
          ...(settings.callback === undefined ? {} : { 'X-Gate-Callback-URL': settings.callback.url }),
        },
        body,
        signal,
      });
      if (answer.status < 500 || isLast) return answer;
    } catch (error) {
      if (isLast || !(error instanceof GateTransportError) || error.status !== undefined) throw error;
    }
    const pause = Math.min(settings.baseDelayMs * 2 ** (attempt - 1), LONGEST_PAUSE_MS) * (0.5 + 0.5 * Math.random());
    await sleep(pause, undefined, signal === undefined ? {} : { signal });
  }
}

/** What a verdict is thrown as; `undefined` where the calls may run. */
export function errorOf(verdict: Verdict, calls: readonly ToolCall[], settings: Settings): GateError | undefined {
  const [first] = calls as readonly [ToolCall, ...ToolCall[]];
  switch (verdict.kind) {
    case 'deny': {
      const { payload, correlationId } = verdict;
      return new GateDenied({
        call: calls.find(({ id }) => id === payload.call_id) ?? first,
        code: payload.error,
        reasons: payload.reasons,
        reviewReasons: payload.review_reasons,
        intentCategory: payload.intent_category,
        layer: payload.layer,
        correlationId,
        advice: payload.advice,
        detail: payload.detail,
      });
    }
    case 'pending': {
      if (verdict.wouldOnly) return undefined;
      const pending = new PendingCall(settings, { ...verdict, call: first });
      return new GatePending(pending, { calls, tier: verdict.tier });
    }
    case 'rate_limited':
      return new GateRateLimited({
        call: first,
        code: verdict.payload.verdict,
        reasons: verdict.payload.reasons,
        retryAfterSecs: verdict.payload.retry_after_secs,
        scope: verdict.payload.scope,
        correlationId: verdict.correlationId,
      });
    default:
      return undefined;
  }
}

/** Returns where the calls may run; otherwise throws what Gate said. In observe mode everything may run. */
export async function guard(calls: readonly ToolCall[], settings: Settings, request: Request = {}): Promise<Verdict> {
  const verdict = await inspect(calls, settings, request);
  const error = settings.mode === 'enforce' ? errorOf(verdict, calls, settings) : undefined;
  if (error !== undefined) throw error;
  return verdict;
}

export interface GuardOptions extends CallOptions {
  /** `wait` stays with a call that waits for a person until it is decided; `throw` (the default) throws `GatePending`. */
  readonly onPending?: 'throw' | 'wait';
  readonly wait?: ResolveOptions;
}

/** Returns where the call may run, and throws what Gate said where it may not. */
export async function guardToolCall(
  call: Omit<ToolCall, 'id'> & { readonly id?: string },
  { onPending = 'throw', wait, ...options }: GuardOptions = {},
): Promise<{ readonly correlationId: string | undefined }> {
  const named: ToolCall = { id: call.id ?? crypto.randomUUID(), name: call.name, input: call.input };
  const [settings, request] = partsOf(options);
  try {
    const verdict = await guard([named], settings, request);
    return { correlationId: verdict.kind === 'uninspected' ? undefined : verdict.correlationId };
  } catch (error) {
    if (onPending !== 'wait' || !(error instanceof GatePending)) throw error;
    await error.resolve({ ...(options.signal === undefined ? {} : { signal: options.signal }), ...wait });
    return { correlationId: error.correlationId };
  }
}

/** Waits for the decision on a call that another process, or this one before it was started again, had parked. */
export const resolvePending = (
  correlationId: string,
  options: GateOptions = {},
  wait: ResolveOptions = {},
): Promise<void> => pendingOf(correlationId, settingsOf(options)).resolve(wait);

/**
 * One question about a call that waits, for whoever has a way of his own to wait: whether it was approved. `false` while nobody decided, and
 * while Gate is away. Throws `GateDenied` where it was refused or expired.
 */
export function isApproved(
  correlationId: string,
  { signal, ...options }: Omit<CallOptions, 'idempotencyId'> = {},
): Promise<boolean> {
  const settings = settingsOf(options);
  return pendingOf(correlationId, settings).isApproved(settings.timeoutMs, signal);
}

const pendingOf = (correlationId: string, settings: Settings): PendingCall =>
  new PendingCall(settings, {
    correlationId,
    reviewReasons: [],
    call: { id: correlationId, name: correlationId, input: null },
  });
