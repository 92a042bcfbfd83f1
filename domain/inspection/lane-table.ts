import type { Behaviour, InspectionResponse } from '../../contracts/inspection.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { PolicyInput } from '../../contracts/policy.js';
import { intentScore } from './intent-score.js';

/** One value for several calls of a request: from that of each call, and that of the call whose inspection applies to all. */
type Combine<Value> = (values: readonly Value[], worst: Value) => Value;

/** What becomes of one field of an inspection. */
export interface LaneField<Value = unknown> {
  readonly combine: Combine<Value>;
  /** Where the row `brain.inspection` has it: with the scores, numbers as basis points; with what was found; or not at all. */
  readonly row: 'score' | 'finding' | 'none';
}

/** What becomes of a lane's results after the inspector. */
export interface LaneRules {
  /** Its fields in the contract (`contracts/inspection.ts`). */
  readonly fields: { readonly [Field in keyof InspectionResponse]?: LaneField<InspectionResponse[Field]> };
  /** Whether it can answer with a fallback, which `gate_brain_detector_degraded` counts under the lane's name. */
  readonly fallsBack: boolean;
  /** What policy is told; of nothing when Brain did not answer. */
  readonly policy: (said: InspectionResponse | null) => Partial<PolicyInput>;
  /** What an operator who tunes it sees in an answer. */
  readonly detail: (said: InspectionResponse) => { readonly score: number; readonly flagged?: boolean };
}

const highest: Combine<number> = (values) => Math.max(...values);
const some: Combine<boolean> = (values) => values.includes(true);
const every: Combine<boolean> = (values) => !values.includes(false);
const ofTheWorst = <Value>(_values: readonly Value[], worst: Value): Value => worst;
export const united = (lists: readonly (readonly string[] | undefined)[]): string[] | undefined => {
  const all = [...new Set(lists.flatMap((list) => list ?? []))];
  return all.length > 0 ? all : undefined;
};
const MOST_PLACES = 16;
/** Places in the calls of a batch, each with its call. */
const ofEachCall: Combine<InspectionResponse['injected_at']> = (lists) => {
  const all = lists.flatMap((places, call) => (places ?? []).map(({ at }) => ({ at, call })));
  return all.length > 0 ? all.slice(0, MOST_PLACES) : undefined;
};
const driftOf = ({ available, score_bp, reasons }: Behaviour): NonNullable<PolicyInput['drift']> => ({
  available,
  score: score_bp / 10_000,
  reasons: reasons.map(({ text }) => text),
  kinds: [...new Set(reasons.map(({ kind }) => kind))],
});
const nothing = (): Partial<PolicyInput> => ({});

/**
 * The lanes of an inspection. Batches, metrics, policy's input, rows and answers go through this table and name no lane themselves; a lane
 * that stands here is in all of them (docs/architecture/verdict.md#inspection-lanes).
 */
export const LANES = {
  persona_drift: {
    fields: {
      persona_drift_score: { combine: highest, row: 'score' },
      drift_available: { combine: every, row: 'score' },
      behaviour: { combine: ofTheWorst, row: 'finding' },
    },
    fallsBack: true,
    policy: (said) => ({
      persona_drift_score: said?.drift_available ? said.persona_drift_score : 0,
      ...(said?.behaviour && { drift: driftOf(said.behaviour) }),
    }),
    detail: (said) => ({ score: said.persona_drift_score }),
  },
  injection: {
    fields: {
      injection_detected: { combine: some, row: 'finding' },
      injection_confidence: { combine: highest, row: 'score' },
      injection_suspicions: { combine: united, row: 'none' },
      injected_at: { combine: ofEachCall, row: 'none' },
    },
    fallsBack: true,
    policy: (said) => ({
      injection_detected: said?.injection_detected ?? false,
      injection_suspicions: said?.injection_suspicions ?? [],
      ...(said?.injected_at && { injected_at: said.injected_at }),
    }),
    detail: (said) => ({ score: said.injection_confidence, flagged: said.injection_detected }),
  },
  malicious_code: {
    fields: {
      malicious_code_detected: { combine: some, row: 'none' },
      malicious_code_confidence: { combine: highest, row: 'score' },
    },
    fallsBack: true,
    policy: nothing,
    detail: (said) => ({ score: said.malicious_code_confidence, flagged: said.malicious_code_detected }),
  },
  compromised_package: {
    fields: {
      compromised_package_detected: { combine: some, row: 'none' },
      compromised_package_confidence: { combine: highest, row: 'score' },
    },
    fallsBack: true,
    policy: nothing,
    detail: (said) => ({ score: said.compromised_package_confidence, flagged: said.compromised_package_detected }),
  },
  sequence_escalation: {
    fields: { sequence_escalation_score: { combine: highest, row: 'score' } },
    fallsBack: false,
    policy: nothing,
    detail: (said) => ({ score: said.sequence_escalation_score }),
  },
  intent: {
    fields: {
      intent_category: { combine: ofTheWorst, row: 'none' },
      intent_suspicions: { combine: united, row: 'none' },
    },
    fallsBack: true,
    policy: (said) => ({ intent_suspicions: said?.intent_suspicions ?? [] }),
    detail: (said) => ({ score: intentScore(said) }),
  },
} as const satisfies Readonly<Record<string, LaneRules>>;

export type Lane = keyof typeof LANES;

/** Named in `degraded` beside the lanes: nothing could be shown to models, because it could not be told what to leave out. */
export const MASKING = 'pii_masking';
type FieldOfALane = { [Name in Lane]: keyof (typeof LANES)[Name]['fields'] }[Lane];
/** Fields of an inspection that belong to no lane. Who combines several inspections states each of them. */
export type FieldOfNoLane = Exclude<keyof InspectionResponse, FieldOfALane>;

export const eachLane = (): readonly (readonly [Lane, LaneRules])[] =>
  Object.entries(LANES) as readonly (readonly [Lane, LaneRules])[];

type NamedField = readonly [name: keyof InspectionResponse, field: LaneField];
/** The fields of every lane. */
export const laneFields = (): readonly NamedField[] =>
  eachLane().flatMap(([, { fields }]) => Object.entries(fields) as unknown as readonly NamedField[]);

/** The fields that a row has in one place, by name, as `shown` says them. */
export const inRow = (
  place: LaneField['row'],
  said: InspectionResponse,
  shown: (value: Json) => Json = (value) => value,
): JsonObject =>
  Object.fromEntries(
    laneFields()
      .filter(([name, { row }]) => row === place && said[name] !== undefined)
      .map(([name]) => [name, shown(said[name] as Json)]),
  );

/** What policy is told of an inspection, or of none. */
export const lanesForPolicy = (said: InspectionResponse | null): Partial<PolicyInput> =>
  Object.assign({}, ...eachLane().map(([, { policy }]) => policy(said))) as Partial<PolicyInput>;
