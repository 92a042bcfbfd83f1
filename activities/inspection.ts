import type { CallInput } from '../contracts/call.js';
import type { InspectionResponse } from '../contracts/inspection.js';
import type { JsonObject } from '../contracts/json.js';
import type { AgentHistory } from '../contracts/policy.js';
import { NotAsStaged } from '../domain/call-record/record.js';
import { canonicalJson, sha256Hex } from '../domain/crypto/digest.js';
import { errorText } from '../domain/errors.js';
import { historiesOf, siblingsOf, worstInspection } from '../domain/mcp/batch.js';
import type { Inspector } from '../domain/inspection/port.js';
import type { Inspected } from '../domain/pipeline/pipeline.js';
import { foreignText } from '../domain/text.js';
import type { OpenedCalls } from './opened-call.js';
import type { CallStore } from '../domain/call-record/ports.js';

/** An inspection that took this long is stored, so that it is not repeated. Repeating a shorter one takes less time than storing it. */
const WORTH_KEEPING_MS = 50;

interface InspectionPorts {
  readonly calls: CallStore;
  readonly inspector: Inspector;
  readonly monotonic?: () => number;
}

export const createInspectionActivities = ({
  opened,
  ...ports
}: InspectionPorts & { readonly opened: OpenedCalls }) => ({
  /** Asks Brain once (`inspectOnce`). An outage is an answer, not an error: policy is still asked. */
  async inspect(call: CallInput): Promise<Inspected> {
    const { request, history } = await opened.first(call);
    try {
      return { available: true, inspection: await inspectOnce(ports, call, request.body, history) };
    } catch (error) {
      if (!(error instanceof BrainAway)) throw error;
      return { available: false, reason: foreignText(error.message, 300) };
    }
  },
});

/** Brain did not answer; the message is its own error's. */
class BrainAway extends Error {}

/**
 * What Brain says of a body for a call: the request itself, or that as an approver changed it. A verdict that cost money or time is stored
 * before policy is asked, so that a second run, after a crash or a 503, asks Brain only if the question has changed. One is stored per call,
 * the newest: a call that is changed has its verdict, and its first inspection in the record. Throws BrainAway when Brain does not answer,
 * NotAsStaged when what is stored is no inspection of this call.
 */
export async function inspectOnce(
  { calls, inspector, monotonic = () => performance.now() }: InspectionPorts,
  call: CallInput,
  body: JsonObject,
  history: AgentHistory,
): Promise<InspectionResponse> {
  const asked = askedOf(call, body, history);
  const digest = () => sha256Hex(canonicalJson(asked));
  const kept = await calls.inspection(call.correlation_id, call.digest);
  if (kept instanceof NotAsStaged) throw kept;
  if (kept && kept.asked_sha256 === digest()) return kept.inspection;
  const beganMs = monotonic();
  const inspection = await inspectWith(inspector, asked).catch((error: unknown) => {
    throw new BrainAway(errorText(error), { cause: error });
  });
  // A store that refuses this write will refuse the verdict too, and that error is reported.
  if (inspection.cost_micros > 0 || monotonic() - beganMs >= WORTH_KEEPING_MS)
    await calls
      .keepInspection(call.correlation_id, call.digest, { asked_sha256: digest(), inspection })
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

const inspectWith = async (inspector: Inspector, asked: ReturnType<typeof askedOf>): Promise<InspectionResponse> =>
  worstInspection(
    await (inspector.inspectAll?.(asked) ?? Promise.all(asked.map((request) => inspector.inspect(request)))),
  );

export type InspectionActivities = ReturnType<typeof createInspectionActivities>;
