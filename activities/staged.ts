import type { CallInput } from '../contracts/call.js';
import type { CallStore } from '../domain/call-record/call-store.js';
import { NotAsStaged, type StagedRequest } from '../domain/call-record/record.js';
import { PipelineUnavailable } from '../domain/pipeline/pipeline.js';

/** The request that is to be judged. Throws NotAsStaged where something else lies in its place, PipelineUnavailable where nothing does. */
export async function requestToJudge(calls: CallStore, call: CallInput): Promise<StagedRequest> {
  const request = await calls.request(call.correlation_id, call.digest);
  if (request instanceof NotAsStaged) throw request;
  if (!request) throw new PipelineUnavailable('proxy', 'the staged request is not in the store');
  return request;
}
