import type { Json, JsonObject } from '../../contracts/json.js';

/** What of a verdict a replay derives anew, and what it takes as it was recorded. */
export interface ReplayParts {
  readonly derived: readonly string[];
  readonly recorded: readonly string[];
  /** The lanes in which a model judged, with the model. Its word cannot be had a second time. `null` where that is not known any more. */
  readonly models: readonly string[] | null;
}

const TOLD =
  "what the rules were told besides: the agent's history, what is usual of it, where values came from, the time";

/** Which model answered in which lane, as the evidence of an inspection has it; `null` without evidence. */
export function modelsIn(evidence: JsonObject | null): readonly string[] | null {
  if (evidence === null) return null;
  const answered = evidence['answered_by'];
  return isObject(answered)
    ? Object.entries(answered).flatMap(([lane, by]) => (typeof by === 'string' ? [`${lane} by ${by}`] : []))
    : [];
}

/** Models have read the request, whether or not one of them had an answer. */
export const isOfModels = (evidence: JsonObject | null): boolean => evidence?.['mock_mode'] === false;

/** Of a call whose inspection a replay derives where rules alone made it, as that of lite does. */
export function partsOfWhole({
  available,
  evidence,
}: {
  readonly available: boolean;
  readonly evidence: JsonObject | null;
}): ReplayParts {
  const again = available && !isOfModels(evidence);
  return {
    derived: [
      'the chain',
      'the request',
      ...(again ? ['the inspection, by rules'] : []),
      'the decision of the rules',
      'the verdict',
    ],
    recorded: [...(again ? [] : [INSPECTION(available)]), TOLD],
    models: available ? modelsIn(evidence) : [],
  };
}

/** Of a call whose rules alone are asked again, as the running stack does. */
export const partsOfDecision = (inspection: JsonObject | null): ReplayParts => {
  const available = inspection?.['available'] === true;
  const named = inspection?.['models'];
  return {
    derived: ['the decision of the rules', 'the verdict'],
    recorded: ['the request', INSPECTION(available), TOLD],
    models: !available ? [] : Array.isArray(named) ? named.filter((one) => typeof one === 'string') : null,
  };
};

const INSPECTION = (available: boolean): string => (available ? 'the inspection' : 'that inspection did not answer');
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
