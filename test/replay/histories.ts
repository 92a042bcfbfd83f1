import proto from '@temporalio/proto';

/** Where recorded histories lie, from the project's root: those of an earlier Gate, and in a folder of its own each shape since. */
export const HISTORIES = 'workflows/tool-call/histories';
/** Shapes that were recorded before, named as the patches that began them. */
export const EARLIER_SHAPES = ['.', 'steps-under-their-own-names'] as const;
/** The shape that the workflow of now records. */
export const CURRENT_SHAPE: string = 'sandbox-report';
/** Ways that calls go only where many are parked at once: as recorded before, and now. */
export const EARLIER_BURSTS = ['room-for-parked'] as const;
export const IN_BURSTS = 'answer-in-line';
/** A call of tier `auto` that a later worker found parked: an earlier Gate let it wait for a person. */
export const RULE_ASKED_AGAIN = 'rule-asked-again';
export const BEFORE_RULE_ASKED_AGAIN = 'rule-not-asked-again';
/** Calls that models inspect, in an activity of its own. */
export const INSPECTED_BY_MODELS = 'inspected-by-models';
export const REVIEW_HISTORIES = 'workflows/review/histories';
export const STREAM_HISTORIES = 'workflows/egress/histories';
export const CALLBACK_HISTORIES = 'workflows/callback/histories';
export const PROBE_HISTORIES = 'workflows/probe/histories';
export const RECONCILE_HISTORIES = 'workflows/reconcile/histories';

const { History } = proto.temporal.api.history.v1;
export type RecordedHistory = proto.temporal.api.history.v1.IHistory;

/** A history as the engine's own protobuf bytes (`temporal.api.history.v1.History`). */
export const encodeHistory = (history: RecordedHistory): Uint8Array => History.encode(history).finish();
export const decodeHistory = (bytes: Uint8Array): RecordedHistory => History.decode(bytes);
