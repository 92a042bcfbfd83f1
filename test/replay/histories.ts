import proto from '@temporalio/proto';

/** Where recorded histories lie, from the project's root. */
export const HISTORIES = 'workflows/tool-call/histories';
export const STREAM_HISTORIES = 'workflows/egress/histories';
export const CALLBACK_HISTORIES = 'workflows/callback/histories';
export const RECONCILE_HISTORIES = 'workflows/reconcile/histories';

const { History } = proto.temporal.api.history.v1;
export type RecordedHistory = proto.temporal.api.history.v1.IHistory;

/** A history as the engine's own protobuf bytes (`temporal.api.history.v1.History`). */
export const encodeHistory = (history: RecordedHistory): Uint8Array => History.encode(history).finish();
export const decodeHistory = (bytes: Uint8Array): RecordedHistory => History.decode(bytes);
