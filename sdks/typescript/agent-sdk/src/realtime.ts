import { GateConfigError } from './errors.js';
import { type CallOptions, inspectToolUse } from './inspect.js';
import { strictJson } from './strict-json.js';
import type { ToolCall, Verdict } from './types.js';

/** The event by which OpenAI's Realtime API says that the arguments of a call are whole. */
export interface RealtimeFunctionCallDone {
  readonly type: 'response.function_call_arguments.done';
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

export function isRealtimeFunctionCallDone(event: unknown): event is RealtimeFunctionCallDone {
  const {
    type,
    call_id: id,
    name,
    arguments: text,
  } = (typeof event === 'object' && event !== null ? event : {}) as Record<string, unknown>;
  return (
    type === 'response.function_call_arguments.done' &&
    typeof id === 'string' &&
    typeof name === 'string' &&
    typeof text === 'string'
  );
}

/** The call of an event. Arguments that are no JSON, or that parsers may read differently, are judged as the text that they are, under `input`. */
export function normalizeRealtimeFunctionCall(event: RealtimeFunctionCallDone): ToolCall {
  const read = strictJson(event.arguments === '' ? '{}' : event.arguments);
  return { id: event.call_id, name: event.name, input: 'value' in read ? read.value : { input: event.arguments } };
}

/** Gate's verdict on the call of a realtime event. What it may not run is for the caller to answer in the conversation. */
export async function inspectRealtimeFunctionCall(event: unknown, options: CallOptions = {}): Promise<Verdict> {
  if (!isRealtimeFunctionCallDone(event))
    throw new GateConfigError('the event is no response.function_call_arguments.done');
  return inspectToolUse(normalizeRealtimeFunctionCall(event), options);
}
