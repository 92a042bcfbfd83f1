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

export const createInspectionActivities = ({
  calls,
  opened,
  inspector,
  monotonic = () => performance.now(),
}: {
  calls: CallStore;
  opened: OpenedCalls;
  inspector: Inspector;
  monotonic?: () => number;
}) => ({
  /**
   * Asks Brain. A verdict that cost money or time is stored before policy is asked, so that a second run, after a crash or a 503, asks
   * Brain only if the question has changed. An outage is an answer, not an error: policy is still asked.
   */
  async inspect(call: CallInput): Promise<Inspected> {
    const { request, history } = await opened.first(call);
    const asked = askedOf(call, request.body, history);
    const digest = () => sha256Hex(canonicalJson(asked));
    const kept = await calls.inspection(call.correlation_id, call.digest);
    if (kept instanceof NotAsStaged) throw kept;
    if (kept && kept.asked_sha256 === digest()) return { available: true, inspection: kept.inspection };
    const beganMs = monotonic();
    let inspection: InspectionResponse;
    try {
      inspection = await inspectWith(inspector, asked);
    } catch (error) {
      return { available: false, reason: foreignText(errorText(error), 300) };
    }
    // A store that refuses this write will refuse the verdict too, and that error is reported.
    if (inspection.cost_micros > 0 || monotonic() - beganMs >= WORTH_KEEPING_MS)
      await calls
        .keepInspection(call.correlation_id, call.digest, { asked_sha256: digest(), inspection })
        .catch(() => undefined);
    return { available: true, inspection };
  },
});
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

/** Asks Brain about another body for a call, as an approver changed it. Throws when Brain does not answer. */
export const inspectChanged = (
  inspector: Inspector,
  call: CallInput,
  body: JsonObject,
  history: AgentHistory,
): Promise<InspectionResponse> => inspectWith(inspector, askedOf(call, body, history));

export type InspectionActivities = ReturnType<typeof createInspectionActivities>;
