import { setTimeout as sleep } from 'node:timers/promises';
import { GateDenied, GateTransportError, type Waiting } from './errors.js';
import { quoted, send } from './http.js';
import type { Settings } from './options.js';
import type { ResolveOptions, ToolCall } from './types.js';
import { objectIn } from './verdict.js';

export interface PendingFacts {
  readonly correlationId: string;
  readonly reviewReasons: readonly string[];
  readonly ttlSecs?: number | undefined;
  readonly pollAfterMs?: number | undefined;
  /** For the error of a refusal. */
  readonly call: ToolCall;
}

const MOST_WAIT_MS = 600_000;
const POLL_MS = 2_000;
/** Whatever an answer says: an agent that waits does not ask without a pause. */
const LEAST_POLL_MS = 50;
const POLL_BESIDE_CALLBACK_MS = 30_000;

/** A call that waits, and what is needed to hear what became of it. */
export class PendingCall implements Waiting {
  readonly correlationId: string;
  readonly reviewReasons: readonly string[];
  readonly ttlSecs: number | undefined;
  readonly #settings: Settings;
  readonly #facts: PendingFacts;

  constructor(settings: Settings, facts: PendingFacts) {
    this.#settings = settings;
    this.#facts = facts;
    this.correlationId = facts.correlationId;
    this.reviewReasons = facts.reviewReasons;
    this.ttlSecs = facts.ttlSecs;
  }

  /**
   * Asks at once, and then until it is decided. A Gate that is away is asked again; a time that is over is no decision, and throws a
   * `GateTransportError` that says so.
   */
  async resolve(options: ResolveOptions = {}): Promise<void> {
    const callback = this.#settings.callback;
    const interval =
      options.pollIntervalMs ??
      (callback === undefined ? Math.max(this.#facts.pollAfterMs ?? POLL_MS, LEAST_POLL_MS) : POLL_BESIDE_CALLBACK_MS);
    const timeoutMs = options.timeoutMs ?? Math.min(MOST_WAIT_MS, (this.ttlSecs ?? MOST_WAIT_MS / 1_000) * 1_000);
    const end = performance.now() + timeoutMs;
    const left = (): number => end - performance.now();
    const stopped = new AbortController();
    const signal = options.signal ? AbortSignal.any([stopped.signal, options.signal]) : stopped.signal;
    // Whoever posts is not known by the post, so it only ends the pause before the next question.
    const posted = callback?.wait(this.correlationId, signal).then(
      () => 'posted' as const,
      () => new Promise<never>(() => {}),
    );
    let waited: Promise<unknown> | undefined = posted;
    try {
      for (;;) {
        options.signal?.throwIfAborted();
        if (await this.isApproved(Math.max(1, Math.min(this.#settings.timeoutMs, left())), options.signal)) return;
        if (left() <= 0) throw new GateTransportError(`not decided within ${timeoutMs}ms`);
        const pause = Math.min(interval * (0.8 + 0.4 * Math.random()), Math.max(0, left()));
        const slept = sleep(pause, undefined, { signal });
        slept.catch(() => {});
        const woken = await (waited === undefined ? slept : Promise.race([slept, waited]));
        if (woken === 'posted') waited = undefined;
      }
    } finally {
      stopped.abort();
    }
  }

  /** One question. `false` while nobody decided, and while Gate is away. Throws as `resolve` does where it was refused or expired. */
  async isApproved(timeoutMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    let answer;
    try {
      answer = await send(this.#settings, {
        method: 'GET',
        path: `/pending/${encodeURIComponent(this.correlationId)}`,
        timeoutMs,
        signal,
      });
    } catch (error) {
      if (error instanceof GateTransportError && error.status === undefined) return false;
      throw error;
    }
    if (answer.status >= 500 || answer.status === 429) return false;
    const view = objectIn(answer.text);
    if (answer.status !== 200 || view === undefined)
      throw new GateTransportError(`HTTP ${answer.status} for a call that waits: ${quoted(answer.text)}`, {
        status: answer.status,
        ...(typeof view?.['error'] === 'string' ? { code: view['error'] } : {}),
      });
    if (view['correlation_id'] !== this.correlationId)
      throw new GateTransportError('the answer is about another call', { status: answer.status });
    const { status, decision } = view;
    if (typeof view['authorization_refused'] === 'string')
      throw this.#denied(view['authorization_refused'], ['approved, and the approval counts no more'], 'PendingDenied');
    // What was approved is then another call than the one that would run here.
    if (view['modified_payload_digest'] !== undefined)
      throw this.#denied(
        'call_changed',
        ['approved with other arguments, which this package does not run'],
        'PendingDenied',
      );
    if (decision === 'allow' || (decision === undefined && status === 'approved')) return true;
    if (decision === 'deny' || status === 'denied') {
      const note = view['decider_note'] ?? view['reason'];
      throw this.#denied('review_denied', [typeof note === 'string' ? note : 'operator denied'], 'PendingDenied');
    }
    if (status === 'expired') throw this.#denied('review_expired', ['review expired'], 'PendingExpired');
    if (status === 'withdrawn')
      throw this.#denied('call_withdrawn', ['the agent withdrew the call'], 'PendingWithdrawn');
    if (status === 'aborted') throw this.#denied('call_aborted', ['gate closed the call'], 'PendingAborted');
    if (status === 'pending') return false;
    throw new GateTransportError(`a call that waits has no state ${quoted(String(status))}`, { status: answer.status });
  }

  #denied(code: string, reasons: readonly string[], intentCategory: string): GateDenied {
    return new GateDenied({
      call: this.#facts.call,
      code,
      reasons,
      reviewReasons: this.reviewReasons,
      intentCategory,
      layer: 'hil',
      correlationId: this.correlationId,
    });
  }
}
