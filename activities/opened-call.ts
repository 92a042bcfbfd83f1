import type { CallInput } from '../contracts/call.js';
import type { AgentHistory } from '../contracts/policy.js';
import { NotAsStaged, type StagedRequest } from '../domain/call/record.js';
import { PipelineUnavailable } from '../domain/call/pipeline.js';
import type { CallStore } from '../domain/call/ports.js';
import { handedOn } from './handed-on.js';

/** How far back an agent's successful steps count for inspection and policy. */
export const HISTORY_WINDOW_MS = 300_000;

/** What a call is judged by: the staged request, and what its agent did before. */
export interface OpenedCall {
  readonly request: StagedRequest;
  readonly history: AgentHistory;
}

/** Opens calls that are to be judged, and passes what one step opened to the next one in this process. */
export interface OpenedCalls {
  /** For the first step that needs it. */
  first(call: CallInput): Promise<OpenedCall>;
  /** For the next step, which judges by the same history. If that is not in this process, it is read from the store. */
  next(call: CallInput): Promise<OpenedCall>;
}

export function openedCalls(calls: CallStore): OpenedCalls {
  const histories = handedOn<AgentHistory>();
  const historyOf = (call: CallInput) => calls.history(call.tenant, call.agent, call.received_ms - HISTORY_WINDOW_MS);
  return {
    async first(call) {
      const request = await requestToJudge(calls, call);
      const history = await historyOf(call);
      histories.put(call, history);
      return { request, history };
    },
    async next(call) {
      const request = await requestToJudge(calls, call);
      const known = histories.take(call);
      return { request, history: known ? known.value : await historyOf(call) };
    },
  };
}

/** The request to be judged. Throws NotAsStaged when something else is stored in its place, PipelineUnavailable when nothing is. */
export async function requestToJudge(calls: CallStore, call: CallInput): Promise<StagedRequest> {
  const request = await calls.request(call.correlation_id, call.digest);
  if (request instanceof NotAsStaged) throw request;
  if (!request) throw new PipelineUnavailable('proxy', 'the staged request is not in the store');
  return request;
}
