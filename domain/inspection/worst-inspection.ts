import type { InspectionResponse } from '../../contracts/inspection.js';
import type { JsonObject } from '../../contracts/json.js';
import { type FieldOfNoLane, laneFields, united } from './lane-table.js';

/**
 * The worst inspection applies to all: refused if any call is, with the reasons of all refused calls, and each lane combined as its table
 * says. A field that neither a lane nor `whole` combines does not compile.
 */
export function worstInspection(found: readonly InspectionResponse[]): InspectionResponse {
  const refused = found.filter(({ authorized }) => !authorized);
  const worst = refused[0] ?? (found[0] as InspectionResponse);
  if (found.length === 1) return worst;
  const whole: { readonly [Field in FieldOfNoLane]: InspectionResponse[Field] | undefined } = {
    authorized: worst.authorized,
    reason: refused.length > 0 ? [...new Set(refused.map(({ reason }) => reason))].join(' | ') : worst.reason,
    degraded: united(found.map(({ degraded }) => degraded)),
    cost_micros: found.reduce((sum, one) => sum + one.cost_micros, 0),
    evidence: worst.evidence,
    masked_params: maskedTogether(found),
  };
  const lanes = laneFields().map(([name, { combine }]) => [
    name,
    combine(
      found.map((one) => one[name]),
      worst[name],
    ),
  ]);
  const combined = [...Object.entries(whole), ...lanes].filter(([, value]) => value !== undefined);
  return Object.fromEntries(combined) as InspectionResponse;
}

/** Of several calls in one request, each one's own. */
function maskedTogether(found: readonly InspectionResponse[]): JsonObject | undefined {
  const calls = found.flatMap(({ masked_params: masked }) => (masked ? [masked] : []));
  return calls.length === found.length ? { calls } : undefined;
}
