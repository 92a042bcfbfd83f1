import type { Json, JsonObject } from '../../contracts/json.js';
import type { CallRecord } from '../call-record/record.js';

/** Where an answer of a tool says that an approver changed the call (`_meta` of the Model Context Protocol). */
const CHANGED_META = 'gate/modified';

/**
 * The answer of a changed call, with what was changed in its `_meta`, so that its caller does not take it for the answer to what it asked.
 * An answer that has no place for it stays as it is; the header `X-Gate-Modified` says it in any case. A tool's own claim is taken out.
 */
export function toldOfChange(text: string, { decision }: CallRecord): string {
  const signed = decision?.signed;
  // Parsed and written again, a number with more digits than a double holds would be another one.
  if (/\d{16}/.test(text)) return text;
  if (!signed?.modification) return text.includes(`"${CHANGED_META}"`) ? withoutClaim(text) : text;
  const answer = JSON.parse(text) as Json;
  const told: JsonObject = {
    by: signed.principal.subject,
    paths: signed.modification.diff.replacements.map(({ path }) => path),
    original_payload_digest: signed.action_digest,
    executed_payload_digest: signed.modification.reviewed_digest,
  };
  if (!isObject(answer)) return text;
  if (isObject(answer.result)) {
    const { _meta: meta } = answer.result;
    const result = { ...answer.result, _meta: { ...(isObject(meta) ? meta : {}), [CHANGED_META]: told } };
    return JSON.stringify({ ...answer, result });
  }
  if (!isObject(answer.error)) return text;
  const { data } = answer.error;
  if (data !== undefined && !isObject(data)) return text;
  const error = { ...answer.error, data: { ...(isObject(data) ? data : {}), [CHANGED_META]: told } };
  return JSON.stringify({ ...answer, error });
}

/** The answer without a tool's own claim that somebody changed the call: only Gate says that. */
function withoutClaim(text: string): string {
  const answer = JSON.parse(text) as Json;
  if (!isObject(answer) || !isObject(answer.result) || !isObject(answer.result._meta)) return text;
  const { [CHANGED_META]: _claimed, ...meta } = answer.result._meta;
  return JSON.stringify({ ...answer, result: { ...answer.result, _meta: meta } });
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
