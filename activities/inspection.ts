import type { CallInput } from '../contracts/call.js';
import type { InspectionResponse } from '../contracts/inspection.js';
import { NotAsStaged } from '../domain/call-record/record.js';
import { canonicalJson, sha256Hex } from '../domain/crypto/digest.js';
import { errorText } from '../domain/errors.js';
import { historiesOf, siblingsOf, worstInspection } from '../domain/mcp/batch.js';
import type { Inspector } from '../domain/inspection/port.js';
import type { Inspected } from '../domain/pipeline/pipeline.js';
import { foreignText } from '../domain/text.js';
import type { OpenedCalls } from './opened-call.js';
import type { CallStore } from '../domain/call-record/ports.js';

/** An inspection that took this long is not done twice. A shorter one is done again in less time than it takes to keep it. */
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
   * Asks Brain. What cost money or time is kept before policy is heard, so that a second run, after a crash or a 503, asks only where the
   * question has changed. An outage is an answer, not an error: policy must still be heard.
   */
  async inspect(call: CallInput): Promise<Inspected> {
    const { request, history } = await opened.first(call);
    const siblings = siblingsOf(call.method, call.tool, request.body);
    const histories = historiesOf(history, siblings, call.received_ms);
    const asked = siblings.map(({ method, params }, index) => ({
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
    const digest = () => sha256Hex(canonicalJson(asked));
    const kept = await calls.inspection(call.correlation_id, call.digest);
    if (kept instanceof NotAsStaged) throw kept;
    if (kept && kept.asked_sha256 === digest()) return { available: true, inspection: kept.inspection };
    const beganMs = monotonic();
    let inspection: InspectionResponse;
    try {
      const found = await (inspector.inspectAll?.(asked) ??
        Promise.all(asked.map((request) => inspector.inspect(request))));
      inspection = worstInspection(found);
    } catch (error) {
      return { available: false, reason: foreignText(errorText(error), 300) };
    }
    // A store that does not take it will not take the verdict either, which says so.
    if (inspection.cost_micros > 0 || monotonic() - beganMs >= WORTH_KEEPING_MS)
      await calls
        .keepInspection(call.correlation_id, call.digest, { asked_sha256: digest(), inspection })
        .catch(() => undefined);
    return { available: true, inspection };
  },
});
export type InspectionActivities = ReturnType<typeof createInspectionActivities>;
