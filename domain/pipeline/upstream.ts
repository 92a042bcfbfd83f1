import type { JsonObject } from '../../contracts/json.js';

/** Whose upstream session carries the request: one session per agent, never shared. */
export interface UpstreamCaller {
  readonly tenant: string;
  readonly agent: string;
}

/**
 * Why nobody knows whether the tool ran. `timeout`: no answer came in time. `invalid_answer`: none that could be read, which a connection
 * that ended is too. `cancelled`: this side stopped waiting before the time was over, because its worker ends.
 */
export type UnknownCause = 'timeout' | 'invalid_answer' | 'cancelled';

/**
 * How one attempt ended. `reply`: the upstream answered, and `text` is one JSON-RPC object under the caller's own id, result or error as
 * the upstream wrote it. `not_sent`: surely no byte of the request left. `unknown`: bytes left and no answer came. What a call that goes on
 * for longer may come to is in docs/decisions/long-calls.md.
 */
export type UpstreamOutcome =
  | { readonly kind: 'reply'; readonly statusCode: number; readonly text: string; readonly failed: boolean }
  | { readonly kind: 'not_sent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly cause: UnknownCause; readonly reason: string };

/**
 * The tools behind Gate. A tool call is sent at most once; nothing here retries an effect. What is sent is built from the request
 * by `domain/mcp/outgoing.ts`, never the request itself.
 */
export interface Upstream {
  callTool(
    caller: UpstreamCaller,
    request: JsonObject,
    limits: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<UpstreamOutcome>;
  /** A control method that is a request: what a client merely tells ends at Gate. `accepted`: the upstream answered without a body. */
  control(
    caller: UpstreamCaller,
    request: JsonObject,
    limits: { timeoutMs: number },
  ): Promise<UpstreamOutcome | { kind: 'accepted' }>;
  close(): Promise<void>;
}
