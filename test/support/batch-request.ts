import type { JsonObject } from '../../contracts/json.js';

/** So many calls of one tool, as members of a batch. */
export const callsOf = (tool: string, count: number): JsonObject[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${index}`, name: tool, arguments: {} }));

/** A batch as it is sent: in the shape of a tool call, as the SDKs do, or bare. */
export function batchRequest(calls: readonly JsonObject[], shape: 'bare' | 'sdk' = 'bare'): JsonObject {
  const batch = { contract: 'gate.atomic-tool-call-batch/v1', calls: [...calls] };
  const params = shape === 'bare' ? batch : { name: 'gate.atomic-batch', arguments: batch };
  return { jsonrpc: '2.0', id: 1, method: 'gate/tools.batch', params };
}
