import { AsyncLocalStorage } from 'node:async_hooks';
import {
  GateConfigError,
  GateDenied,
  GateMalformedCall,
  type GateOptions,
  GateTransportError,
  inspectToolUse,
  isApproved,
} from '@gate/agent-sdk';
import { activityInfo, cancellationSignal, type Context } from '@temporalio/activity';
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import {
  type Allowed,
  type AskedCall,
  type AskedDecision,
  type Authorization,
  AUTHORIZATION_HEADER,
  DECIDE,
  DECISION,
  type Refused,
  type Waits,
} from './wire.js';

export type { Authorization } from './wire.js';

export interface ActivityOptions extends Omit<GateOptions, 'callback'> {
  /** Where Gate posts when somebody decided a call of this workflow; what is there signals `decided` to it. Default: nowhere. */
  readonly callbackUrl?: (workflowId: string, runId: string) => string;
}

/** The two short activities by which workflows ask Gate; they go into the `activities` of the worker, beside its own. */
export function gateActivities({ callbackUrl, ...options }: ActivityOptions = {}) {
  return {
    async [DECIDE]({ name, arguments: input, idempotencyId }: AskedCall): Promise<Allowed | Refused | Waits> {
      const of = activityInfo().workflowExecution;
      const callback =
        callbackUrl && of ? { callback: { url: callbackUrl(of.workflowId, of.runId), wait: never } } : {};
      const call = { id: idempotencyId, name, input };
      const verdict = await asked(() =>
        inspectToolUse(call, { ...options, ...callback, idempotencyId, signal: cancellationSignal() }),
      );
      switch (verdict.kind) {
        case 'deny':
          return {
            kind: 'deny',
            code: verdict.payload.error,
            reasons: verdict.payload.reasons,
            correlationId: verdict.correlationId,
            advice: verdict.payload.advice,
          };
        case 'pending': {
          const { correlationId, pollAfterMs } = verdict;
          return verdict.wouldOnly ? { kind: 'allow', correlationId } : { kind: 'pending', correlationId, pollAfterMs };
        }
        case 'rate_limited': {
          const { verdict: code, reasons, retry_after_secs: secs } = verdict.payload;
          // What is spent comes back with the next month: nothing to wait for.
          if (code === 'quota_exceeded') return { kind: 'deny', code, reasons, correlationId: verdict.correlationId };
          throw ApplicationFailure.create({
            message: reasons.join(' | ') || code,
            type: code,
            ...(secs === undefined ? {} : { nextRetryDelay: `${Math.max(secs, 1)}s` }),
          });
        }
        case 'uninspected':
          return { kind: 'allow' };
        default:
          return { kind: 'allow', correlationId: verdict.correlationId };
      }
    },

    /** `null` while nobody decided. */
    async [DECISION]({ correlationId }: AskedDecision): Promise<Allowed | Refused | null> {
      try {
        const approved = await asked(() => isApproved(correlationId, { ...options, signal: cancellationSignal() }));
        return approved ? { kind: 'allow', correlationId } : null;
      } catch (error) {
        if (!(error instanceof GateDenied)) throw error;
        return { kind: 'deny', code: error.code, reasons: error.reasons, correlationId };
      }
    },
  };
}

const never = (): Promise<never> => new Promise(() => {});

/** A Gate that is away is asked again, as the engine asks again; what will not get better fails the workflow. */
async function asked<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof GateConfigError) throw ApplicationFailure.nonRetryable(error.message, 'gate_misconfigured');
    if (error instanceof GateMalformedCall) throw ApplicationFailure.nonRetryable(error.message, 'gate_malformed_call');
    if (error instanceof GateTransportError && error.status !== undefined && error.status >= 400 && error.status < 500)
      throw ApplicationFailure.nonRetryable(error.message, error.code ?? 'gate_refused');
    throw error;
  }
}

const running = new AsyncLocalStorage<Authorization>();

/** Of the tool whose activity runs now: what Gate allowed, and the id under which its effect happens once. */
export function currentAuthorization(): Authorization {
  const authorization = running.getStore();
  if (authorization === undefined) throw new Error('no tool runs here that Gate was asked about');
  return authorization;
}

/**
 * Goes into `interceptors.activity` of the worker: an activity of these types runs with what Gate allowed, and not at all where its workflow
 * did not ask, since it was started by a worker without Gate's interceptors.
 */
export const gateActivityInterceptor =
  ({ tools }: { readonly tools: readonly string[] }): ActivityInterceptorsFactory =>
  ({ info: { activityType } }: Context) => ({
    inbound: {
      execute(input, next) {
        if (!tools.includes(activityType)) return next(input);
        const carried = input.headers[AUTHORIZATION_HEADER];
        const authorization = carried && defaultPayloadConverter.fromPayload<Authorization>(carried);
        if (authorization?.activityType !== activityType)
          throw ApplicationFailure.nonRetryable(`Gate was not asked about ${activityType}`, 'gate_not_asked');
        return running.run(authorization, () => next(input));
      },
    },
  });
