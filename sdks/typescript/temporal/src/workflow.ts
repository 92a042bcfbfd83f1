import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import {
  ActivityCancellationType,
  condition,
  defineSignal,
  proxyActivities,
  setHandler,
  uuid4,
  type WorkflowInterceptorsFactory,
} from '@temporalio/workflow';
import {
  type Allowed,
  type AskedCall,
  type AskedDecision,
  type Authorization,
  AUTHORIZATION_HEADER,
  DECIDE,
  DECIDED_SIGNAL,
  DECISION,
  type Refused,
  type Waits,
} from './wire.js';

export interface WorkflowOptions {
  /** The activities that are tools, by their types. */
  readonly tools: readonly string[];
  /** How Gate is asked about an activity. Default: its type, and its one argument where that is an object, else `{ arguments: [...] }`. */
  readonly callOf?: (activityType: string, args: readonly unknown[]) => { name: string; arguments: unknown };
  /** The pauses between two questions about a call that waits, in ms: the first, by default what Gate says or 2,000, and the longest, by default 300,000. */
  readonly firstPauseMs?: number;
  readonly longestPauseMs?: number;
}

/** Somebody decided the call with this correlation id. It ends the pause before the next question, and is believed no further. */
export const decided = defineSignal<[correlationId: string]>(DECIDED_SIGNAL);

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 300_000;
const SLOWER = 1.5;

interface GateActivities {
  [DECIDE](call: AskedCall): Promise<Allowed | Refused | Waits>;
  [DECISION](asked: AskedDecision): Promise<Allowed | Refused | null>;
}

function plainCall(activityType: string, args: readonly unknown[]): { name: string; arguments: unknown } {
  const [only] = args;
  const isObject = args.length === 1 && typeof only === 'object' && only !== null && !Array.isArray(only);
  return { name: activityType, arguments: isObject ? only : { arguments: args } };
}

/**
 * The interceptors of a workflow whose tools Gate judges: `export const interceptors = gateInterceptors({ tools: ['wire_transfer'] })` in a
 * module that the worker is given as one of `interceptors.workflowModules`, the last of them. A call that Gate refuses is an
 * `ApplicationFailure` whose type is Gate's code, and which is not retried.
 */
export const gateInterceptors =
  ({
    tools,
    callOf = plainCall,
    firstPauseMs,
    longestPauseMs = LONGEST_PAUSE_MS,
  }: WorkflowOptions): WorkflowInterceptorsFactory =>
  () => {
    const judged = new Set(tools);
    const gate = proxyActivities<GateActivities>({
      startToCloseTimeout: '2 minutes',
      cancellationType: ActivityCancellationType.TRY_CANCEL,
    });
    /** Of which calls somebody said that they are decided. */
    const told = new Set<string>();
    let listens = false;

    async function verdictOn(call: AskedCall): Promise<Allowed> {
      const verdict = await gate[DECIDE](call);
      if (verdict.kind === 'allow') return verdict;
      if (verdict.kind === 'deny') throw refusal(call, verdict);
      return decisionOn(call, verdict);
    }

    /** Waits as a workflow waits: a timer, or the signal, and then a short question. No slot of a worker is held. */
    async function decisionOn(call: AskedCall, { correlationId, pollAfterMs }: Waits): Promise<Allowed> {
      if (!listens) setHandler(decided, (id) => void told.add(id));
      listens = true;
      for (let pauseMs = firstPauseMs ?? pollAfterMs ?? FIRST_PAUSE_MS; ; pauseMs *= SLOWER) {
        await condition(() => told.has(correlationId), Math.ceil(Math.min(pauseMs, longestPauseMs)));
        told.delete(correlationId);
        const decision = await gate[DECISION]({ correlationId });
        if (decision?.kind === 'allow') return decision;
        if (decision !== null) throw refusal(call, decision);
      }
    }

    return {
      outbound: [
        {
          async scheduleActivity(input, next) {
            const { activityType, args, headers } = input;
            if (!judged.has(activityType)) return next(input);
            const idempotencyId = uuid4();
            const call = callOf(activityType, args);
            const shown = JSON.stringify(call);
            const { correlationId } = await verdictOn({ ...call, idempotencyId });
            // A call may wait for days, while its workflow goes on with the same objects.
            if (JSON.stringify(callOf(activityType, args)) !== shown)
              throw ApplicationFailure.nonRetryable(
                `the arguments of ${activityType} are not those that Gate judged: the workflow changed them meanwhile`,
                'gate_arguments_changed',
              );
            const authorization: Authorization = { correlationId, idempotencyId, activityType };
            const carried = defaultPayloadConverter.toPayload(authorization);
            return next({ ...input, headers: { ...headers, [AUTHORIZATION_HEADER]: carried } });
          },
          scheduleLocalActivity(input, next) {
            if (!judged.has(input.activityType)) return next(input);
            throw ApplicationFailure.nonRetryable(
              `${input.activityType} is a tool, and a local activity would hold its worker while a person decides; run it as an activity`,
              'gate_local_activity',
            );
          },
        },
      ],
    };
  };

const refusal = ({ name }: AskedCall, { code, reasons, correlationId, advice }: Refused): ApplicationFailure =>
  ApplicationFailure.nonRetryable(`gate denied tool "${name}": ${reasons.join(' | ') || code}`, code, {
    code,
    reasons,
    correlationId,
    advice,
  });
