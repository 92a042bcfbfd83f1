import { SERVER_EXECUTION_CONTRACT, type CallInput } from '../../contracts/call.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalDigest, canonicalJson, digestOf, sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { ledgerRowId } from './rows.js';

export const executionId = (correlationId: string): string => uuidFromDigest('gate.execution', correlationId);

/**
 * Gate's statement about a call that it executed (docs/architecture/requests-and-answers.md#receipts). The caller knows every field, so it
 * can compute the receipt and compare its digest with the header `X-Gate-Server-Execution-Receipt-Sha256` and with the `upstream.outcome`
 * row. `result` is the answer as parsed JSON, or its text when RFC 8785 has no form for it (a lone surrogate). `outbox_event_id` is the id
 * of that ledger row.
 */
function receiptOf(
  call: CallInput,
  { submitted, effective }: { readonly submitted: JsonObject; readonly effective: JsonObject },
  result: Buffer,
  status: number,
): JsonObject {
  const text = result.toString('utf8');
  const submittedSha256 = canonicalDigest(submitted);
  return {
    contract: SERVER_EXECUTION_CONTRACT,
    stage: 'execution.completed',
    execution_id: executionId(call.correlation_id),
    idempotency_id: call.idempotency_id,
    caller: call.agent_spiffe,
    route: '/mcp',
    method: call.method,
    tool_name: call.tool,
    submitted_request_sha256: submittedSha256,
    effective_request_sha256: effective === submitted ? submittedSha256 : canonicalDigest(effective),
    response_status: status,
    result_sha256: digestOf(result),
    result: canonicalOr(text),
    outbox_event_id: ledgerRowId(call.correlation_id, 'upstream.outcome'),
  };
}

/** SHA-256 over the RFC 8785 form of the receipt, 64 hex digits. */
export const receiptSha256 = (...receipt: Parameters<typeof receiptOf>): string =>
  sha256Hex(canonicalJson(receiptOf(...receipt)));

function canonicalOr(text: string): Json {
  const parsed = JSON.parse(text) as Json;
  try {
    canonicalJson(parsed);
    return parsed;
  } catch {
    return text;
  }
}
