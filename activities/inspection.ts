import type { CallInput } from '../contracts/call.js';
import { errorText } from '../domain/errors.js';
import { historiesOf, siblingsOf, worstInspection } from '../domain/mcp/batch.js';
import type { Inspector } from '../domain/inspection/port.js';
import type { Inspected } from '../domain/pipeline/pipeline.js';
import { foreignText } from '../domain/text.js';
import type { OpenedCalls } from './opened-call.js';

export const createInspectionActivities = ({ opened, inspector }: { opened: OpenedCalls; inspector: Inspector }) => ({
  /** Asks Brain. Read-only: a second run asks again. An outage is an answer, not an error: policy must still be heard. */
  async inspect(call: CallInput): Promise<Inspected> {
    const { request, history } = await opened.first(call);
    const siblings = siblingsOf(call.method, call.tool, request.body);
    const histories = historiesOf(history, siblings, call.received_ms);
    try {
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
      const found = await (inspector.inspectAll?.(asked) ??
        Promise.all(asked.map((request) => inspector.inspect(request))));
      return { available: true, inspection: worstInspection(found) };
    } catch (error) {
      return { available: false, reason: foreignText(errorText(error), 300) };
    }
  },
});
export type InspectionActivities = ReturnType<typeof createInspectionActivities>;
