import type { PendingRequest } from '../../contracts/review.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { ReviewReads } from '../../domain/review/ports.js';
import { isOfCall } from '../../domain/review/rehearsal.js';
import { comparedWith, MAX_COMPARED_BYTES } from '../../domain/review/since-last.js';
import { type Ask, statement } from '../store/statement.js';

/** How many of an agent's calls are looked at for one of the same tool. */
const LOOKED_AT = 200;
/** The index `reviews_of_agent` gives these in order. Its condition is repeated here word for word, or SQLite would not use it. */
const SELECT_EARLIER = statement<{
  id: string;
  agent_spiffe: string | null;
  method: string;
  minimized_payload: string;
  payload_bytes: number | string;
}>(
  `select id, agent_spiffe, method, minimized_payload, payload_bytes from reviews
     where tenant = ? and agent_id = ? and (created_ms, id) < (?, ?) and withdrawn_at is null
     order by created_ms desc, id desc limit ${LOOKED_AT}`,
);

/**
 * What changed since the agent's last call of the same tool that HIL still has a row of. `opened` reads that row: as a summary, or with its
 * request; what Gate did not write is not shown. One request is opened, and none where either is large.
 */
export const sinceLast =
  (parts: {
    readonly ask: Ask;
    readonly opened: (id: string, form: 'whole' | 'summary') => Promise<PendingRequest | null>;
  }): ReviewReads['sinceLast'] =>
  async (row) => {
    if (row.status === 'tampered') return null;
    const tool = toolIn(row.retention['minimized_payload']);
    const { rows } = await parts.ask(SELECT_EARLIER, row.tenant, row.agent_id, Date.parse(row.created_at), row.id);
    const earlier = rows.find(
      ({ agent_spiffe, method, minimized_payload }) =>
        isOfCall({ agent_spiffe }) && method === row.method && toolIn(parsed(minimized_payload)) === tool,
    );
    if (!earlier) return null;
    const tooLarge = Math.max(Number(earlier.payload_bytes), row.payload_bytes ?? 0) > MAX_COMPARED_BYTES;
    const last = await parts.opened(earlier.id, tooLarge ? 'summary' : 'whole');
    return (
      last && {
        pending_id: last.id,
        correlation_id: last.correlation_id,
        created_at: last.created_at,
        status: last.status,
        decided_at: last.decided_at,
        decided_by: last.decided_by,
        modified: last.reviewed_payload_digest != null,
        ...comparedWith(last, row, tooLarge),
      }
    );
  };

/** Of a long name the beginning, as minimized payloads hold it. A row that was changed behind Gate may hold anything. */
function toolIn(minimized: Json | undefined): Json {
  const params = isObject(minimized) ? minimized['params'] : null;
  return isObject(params) ? (params['name'] ?? null) : null;
}
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}
