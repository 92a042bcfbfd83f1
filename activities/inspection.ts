import type { CallInput } from '../contracts/call.js';
import type { Behaviour, InspectionResponse } from '../contracts/inspection.js';
import type { JsonObject } from '../contracts/json.js';
import type { AgentHistory } from '../contracts/policy.js';
import { NotAsStaged, type KeptInspection } from '../domain/call/record.js';
import { canonicalJson, sha256Hex } from '../domain/crypto/digest.js';
import { errorText } from '../domain/errors.js';
import { historiesOf, siblingsOf } from '../domain/mcp/batch.js';
import { compareWithHistory, worstBehaviour } from '../domain/inspection/behaviour/compare.js';
import type { Inspector } from '../domain/inspection/port.js';
import { worstInspection } from '../domain/inspection/worst-inspection.js';
import type { Inspected } from '../domain/call/pipeline.js';
import { isSpent } from '../domain/spend/spend.js';
import { foreignText } from '../domain/text.js';
import type { ObservedCalls } from './observed-call.js';
import type { OpenedCalls } from './opened-call.js';
import type { CallStore } from '../domain/call/ports.js';

/** An inspection that took this long is stored, so that it is not repeated. Repeating a shorter one takes less time than storing it. */
const WORTH_KEEPING_MS = 50;

interface InspectionPorts {
  readonly calls: CallStore;
  readonly inspector: Inspector;
  /** Reads what a call does. Without it calls are not compared with their agent's history. */
  readonly observed?: ObservedCalls | undefined;
  readonly monotonic?: () => number;
}

export const createInspectionActivities = ({
  opened,
  ...ports
}: InspectionPorts & { readonly opened: OpenedCalls }) => ({
  /** Asks Brain once (`inspectOnce`). An outage is an answer, not an error: policy is still asked. */
  async inspect(call: CallInput): Promise<Inspected> {
    const uninspected = uninspectedOf(call);
    if (uninspected) return uninspected;
    const { request, history } = await opened.first(call);
    try {
      return { available: true, inspection: await inspectOnce(ports, call, request.body, history) };
    } catch (error) {
      if (!(error instanceof BrainAway)) throw error;
      return { available: false, reason: foreignText(error.message, 300) };
    }
  },

  /**
   * What `inspect` found for this very request, in another process that did not come to say so. Nobody is asked: a model is paid once, and may
   * answer otherwise the second time.
   */
  async inspectedBefore(call: CallInput): Promise<Inspected> {
    const uninspected = uninspectedOf(call);
    if (uninspected) return uninspected;
    const { request, history } = await opened.first(call);
    const kept = await keptOf(ports, call);
    if (kept?.received_ms !== call.received_ms)
      return { available: false, reason: 'the inspection did not end, or its worker was lost; it is not paid twice' };
    const behaviour = await compared(ports, call, request.body, history);
    return { available: true, inspection: behaviour ? { ...kept.inspection, behaviour } : kept.inspection };
  },
});

/** The rules say no to it, whatever models would say. */
const NOT_PAID_FOR: Inspected = { available: false, reason: 'not inspected: the budget of its agent is spent' };
const TOUCHES_DECOY: Inspected = { available: false, reason: 'not inspected: it touches a decoy' };
const uninspectedOf = (call: CallInput): Inspected | null =>
  call.decoy ? TOUCHES_DECOY : isSpent(call) ? NOT_PAID_FOR : null;

async function keptOf({ calls }: InspectionPorts, call: CallInput): Promise<KeptInspection | null> {
  const kept = await calls.inspection(call.correlation_id, call.digest);
  if (kept instanceof NotAsStaged) throw kept;
  return kept;
}

/** Brain did not answer; the message is its own error's. */
class BrainAway extends Error {}

/**
 * What Brain says of a body for a call: the request itself, or that as an approver changed it. A verdict that cost money or time is stored
 * before policy is asked, so that a second run, after a crash or a 503, asks Brain only if the question has changed. One is stored per call,
 * the newest: a call that is changed has its verdict, and its first inspection in the record. Throws BrainAway when Brain does not answer,
 * NotAsStaged when what is stored is no inspection of this call.
 */
export async function inspectOnce(
  ports: InspectionPorts,
  call: CallInput,
  body: JsonObject,
  history: AgentHistory,
): Promise<InspectionResponse> {
  const [inspection, behaviour] = await Promise.all([
    askOnce(ports, call, body, history),
    compared(ports, call, body, history),
  ]);
  return behaviour ? { ...inspection, behaviour } : inspection;
}

/** How far the calls of a request are from what their agent did before; it is read anew each time, and the first verdict stands. */
async function compared(
  { calls, observed }: InspectionPorts,
  call: CallInput,
  body: JsonObject,
  history: AgentHistory,
): Promise<Behaviour | null> {
  const traits = observed?.of(call, body, history);
  if (!traits) return null;
  const profiles = await calls.profiles(
    call.tenant,
    call.agent,
    traits.map(({ tool }) => tool),
  );
  return worstBehaviour(traits.map((one) => compareWithHistory(one, profiles, call.received_ms)));
}

async function askOnce(
  ports: InspectionPorts,
  call: CallInput,
  body: JsonObject,
  history: AgentHistory,
): Promise<InspectionResponse> {
  const { calls, inspector, monotonic = () => performance.now() } = ports;
  const asked = askedOf(call, body, history);
  const digest = () => sha256Hex(canonicalJson(asked));
  const kept = await keptOf(ports, call);
  if (kept && kept.asked_sha256 === digest()) return kept.inspection;
  const beganMs = monotonic();
  const { inspection_timeout_ms: timeoutMs } = call;
  const inspection = await inspectWith(inspector, asked, timeoutMs).catch((error: unknown) => {
    throw new BrainAway(errorText(error), { cause: error });
  });
  // A store that refuses this write will refuse the verdict too, and that error is reported.
  if (timeoutMs !== undefined || inspection.cost_micros > 0 || monotonic() - beganMs >= WORTH_KEEPING_MS)
    await calls
      .keepInspection(call, {
        asked_sha256: digest(),
        received_ms: call.received_ms,
        inspection,
      })
      .catch(() => undefined);
  return inspection;
}

/** What Brain is asked about a request: each call in it, with what its agent did before. */
function askedOf(call: CallInput, body: JsonObject, history: AgentHistory) {
  const siblings = siblingsOf(call.method, call.tool, body);
  const histories = historiesOf(history, siblings, call.received_ms);
  return siblings.map(({ method, params }, index) => ({
    agent_id: call.agent,
    tenant: call.tenant,
    jsonrpc: '2.0' as const,
    method,
    params,
    correlation_id: call.correlation_id,
    prior_requests: (histories[index] ?? history).recent_sequence.map((prior) => ({
      method: prior.method,
      tool: prior.tool,
    })),
  }));
}

async function inspectWith(
  inspector: Inspector,
  asked: ReturnType<typeof askedOf>,
  timeoutMs: number | undefined,
): Promise<InspectionResponse> {
  const limit = timeoutMs === undefined ? undefined : { timeoutMs };
  const one = (request: (typeof asked)[number]) => inspector.inspect(request, limit);
  return worstInspection(await (inspector.inspectAll?.(asked) ?? Promise.all(asked.map(one))));
}

export type InspectionActivities = ReturnType<typeof createInspectionActivities>;
