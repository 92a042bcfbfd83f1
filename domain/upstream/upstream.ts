import type { JsonObject } from '../../contracts/json.js';
import type { ClientCapability, UnknownCause } from '../../contracts/call.js';
import type { Listener } from './call-talks.js';
import type { UpstreamStanding } from './upstream-circuit.js';

/** Whose upstream session carries the request: one session per agent, never shared. */
export interface UpstreamCaller {
  readonly tenant: string;
  readonly agent: string;
  /** Its SPIFFE id with its instance, where the upstream is another Gate that wants to know which agent asks. */
  readonly agent_spiffe?: string;
  /** What the agent's client can be asked while a call is under way. Clients that differ in it have sessions of their own. */
  readonly client_can?: readonly ClientCapability[];
}

/**
 * How one attempt ended. `reply`: the upstream answered, and `text` is one JSON-RPC object under the caller's own id, result or error as
 * the upstream wrote it. `not_sent`: certainly no byte of the request was sent. `unknown`: bytes were sent and no answer came. What a
 * longer call may result in is in docs/decisions/long-calls.md.
 */
export type UpstreamOutcome =
  | {
      readonly kind: 'reply';
      readonly statusCode: number;
      readonly text: string;
      readonly failed: boolean;
      /** Part of a list is missing, because one of several upstreams did not give it. What is not in it may still exist. */
      readonly partial?: true;
      /** The prefixes of the upstreams whose part of the list this page has, and of those whose part is missing. */
      readonly parts?: ListParts;
      /** What each of several upstreams says in its introduction, under its prefix: together they are the `instructions` of the answer. */
      readonly instructions?: readonly UpstreamInstructions[];
    }
  /**
   * `refused`: the upstream is there, and took nothing of this request for now. It says nothing of how other agents are served.
   * `noCredentials`: Gate cannot say who it is to the upstream, which was not asked.
   */
  | { readonly kind: 'not_sent'; readonly reason: string; readonly refused?: true; readonly noCredentials?: true }
  /** `status`: what a gateway answered instead of the upstream. */
  | { readonly kind: 'unknown'; readonly cause: UnknownCause; readonly reason: string; readonly status?: number };

export interface ListParts {
  readonly listed: readonly string[];
  readonly missing: readonly string[];
}

export interface UpstreamInstructions {
  readonly prefix: string;
  readonly text: string;
}

/** The `instructions` of several upstreams in one introduction. */
export const togetherSaid = (said: readonly UpstreamInstructions[]): string =>
  said.map(({ text }) => text).join('\n\n');

/**
 * The tools behind Gate. A tool call is sent at most once; nothing here retries an effect. `domain/mcp/outgoing.ts` builds what is sent
 * from the request; the request itself is never sent.
 */
export interface Upstream {
  callTool(
    caller: UpstreamCaller,
    request: JsonObject,
    limits: {
      timeoutMs: number;
      signal?: AbortSignal;
      listener?: Listener | null;
      /** Why nothing more may be sent of a call that takes several requests; `null` while it may. Asked before each but the first. */
      fault?: () => string | null;
    },
  ): Promise<UpstreamOutcome>;
  /** A control method that is a request; notifications end at Gate. `accepted`: the upstream answered without a body. */
  control(
    caller: UpstreamCaller,
    request: JsonObject,
    limits: { timeoutMs: number },
  ): Promise<UpstreamOutcome | { kind: 'accepted' }>;
  /**
   * Tells the listener what the upstream says outside of calls over the agent's session, until the signal. Resolves earlier where it says
   * nothing. Absent where it has no way to.
   */
  listen?(caller: UpstreamCaller, listener: Listener, signal: AbortSignal): Promise<void>;
  /** Why nothing behind Gate can be what this call names; `null` where something may be. Absent where every name is the upstream's. Asks nobody. */
  nameFault?(request: JsonObject): string | null;
  /** Whether requests wait for Gate's credentials now: then it is not the upstream that is late. Absent where nothing is waited for. */
  awaitsCredentials?(): boolean;
  /** How each of several upstreams stands; absent where there is one. Asks none of them. */
  standings?(): readonly NamedStanding[];
  close(): Promise<void>;
}

export interface NamedStanding extends UpstreamStanding {
  readonly name: string;
}
