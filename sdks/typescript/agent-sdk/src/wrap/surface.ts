import type { ToolCall } from '../types.js';

/**
 * Reads one stream. `push` gives the calls that are whole with this event: it is held until Gate allowed them. `end` throws where a call was
 * begun and never ended.
 */
export interface Assembler {
  push(event: unknown): readonly ToolCall[];
  end(): void;
}

/** How one API of a provider speaks of tool calls. All of it throws `GateMalformedCall` for what cannot be judged as it would run. */
export interface Surface {
  /** The name of a tool in a request that the provider itself would run. */
  hostedToolIn(request: unknown): string | undefined;
  /** The calls of a response, in groups that are judged together. */
  callsIn(response: unknown, allowHosted: boolean): readonly (readonly ToolCall[])[];
  assembler(allowHosted: boolean): Assembler;
}
