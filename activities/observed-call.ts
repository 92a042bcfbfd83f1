import type { CallInput } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { AgentHistory } from '../contracts/policy.js';
import type { CallTraits, TraitsReader } from '../domain/inspection/behaviour/traits.js';
import { historiesOf, siblingsOf } from '../domain/mcp/batch.js';
import { handedOn } from './handed-on.js';

/** Reads what the calls of a request do, once for inspection and record where both are in this process. */
export interface ObservedCalls {
  of(call: CallInput, body: JsonObject, history: AgentHistory): readonly CallTraits[];
  /** For the record: what inspection read, or the same read anew. */
  again(call: CallInput, body: JsonObject, history: AgentHistory): readonly CallTraits[];
}

export function observedCalls(readTraits: TraitsReader): ObservedCalls {
  const read = handedOn<readonly CallTraits[]>();
  const of: ObservedCalls['of'] = (call, body, history) => {
    const siblings = siblingsOf(call.method, call.tool, body);
    const histories = historiesOf(history, siblings, call.received_ms);
    return siblings.map((one, at) => readTraits(call.tenant, one, (histories[at] ?? history).last_tool));
  };
  return {
    of(call, body, history) {
      const traits = of(call, body, history);
      read.put(call, traits);
      return traits;
    },
    again: (call, body, history) => read.take(call)?.value ?? of(call, body, history),
  };
}
