import type { ClientCapability } from '../../contracts/call.js';

/** The requests of an upstream that are handed on, with what the client must have declared for them. */
export const ASKED_OF_CLIENTS: ReadonlyMap<string, ClientCapability> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
]);

/** A member of a JSON-RPC answer, in the client's own text. */
export type ClientAnswer = readonly ['result' | 'error', string];

/** Whoever holds the agent's open request. Texts are JSON as the upstream wrote it. */
export interface Listener {
  /** The agent asked to be told of progress. */
  readonly progress: boolean;
  told(method: string, params: string): void;
  /** Rejects where the client is gone, or does not answer in time. `key` is the upstream's own name for the question, where it has one. */
  asked(method: string, params: string, timeoutMs: number, key?: string): Promise<ClientAnswer>;
  /** The resources that its agent is subscribed to, where somebody knows them better than the upstream's client. */
  readonly resources?: HeardResources;
}

export interface HeardResources {
  of(): Promise<readonly string[]>;
  /** To be called once the upstream was asked for one of them again. */
  askedFor(uri: string): Promise<void>;
}

/**
 * What is said while a call is under way, between the process that sends it and the one that holds the agent's request: the same one, or
 * nothing is handed on. Nothing depends on it: a call has the same verdict and the same outcome when nobody listens.
 */
export interface CallTalks {
  /** The newest listener of a call is told; what comes back ends that. */
  listen(correlationId: string, listener: Listener): () => void;
  listenerOf(correlationId: string): Listener | null;
}

export function createCallTalks(): CallTalks {
  const listeners = new Map<string, Listener>();
  return {
    listen(correlationId, listener) {
      listeners.set(correlationId, listener);
      return () => {
        if (listeners.get(correlationId) === listener) listeners.delete(correlationId);
      };
    },
    listenerOf: (correlationId) => listeners.get(correlationId) ?? null,
  };
}
