import type { JsonObject } from '../../contracts/json.js';

/** Whose upstream session carries the request: one session per agent, never shared. */
export interface UpstreamCaller {
  readonly tenant: string;
  readonly agent: string;
}

/**
 * How one attempt ended. `reply`: the upstream answered, and `text` is one JSON-RPC object under the caller's own id, result or error as the upstream wrote it. `not_sent`: surely
 * no byte of the request left. `unknown`: bytes left and no answer came in time (`timeout`), or none that could be
 * read (`invalid_answer`, which a connection that ended is too); nobody knows whether the tool ran.
 */
export type UpstreamOutcome =
  | { readonly kind: 'reply'; readonly statusCode: number; readonly text: string; readonly failed: boolean }
  | { readonly kind: 'not_sent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly cause: 'timeout' | 'invalid_answer'; readonly reason: string };

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
