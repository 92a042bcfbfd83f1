import { unlessAborted } from '../unless-aborted.js';
import type { CallInput, ClientCapability } from '../../contracts/call.js';

/** The requests of an upstream that are handed on, with what the client must have declared for them. */
export const ASKED_OF_CLIENTS: ReadonlyMap<string, ClientCapability> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
]);

/** A member of a JSON-RPC answer, in the client's own text. */
export type ClientAnswer = readonly ['result' | 'error', string];

/** A question that is kept where every process over one store finds it. */
export interface KeptQuestion {
  readonly id: string;
  /** Under which a client is asked it in this session: an answer under that is to this question, and comes from there. */
  nameIn(session: string): string;
  /** What it was answered, whoever took the answer; rejects once it is withdrawn. */
  readonly over: Promise<ClientAnswer>;
}

/** What whoever asks knows of a question beside its words. */
export interface AskedMeanwhile {
  /** Where another process asks: the answer then comes by that, whichever process is given it. */
  readonly kept?: KeptQuestion;
  /** The name of the upstream that asks, where it has one. */
  readonly from?: string | undefined;
  /** Fires once the upstream wants no answer any more. */
  readonly givenUp?: AbortSignal;
}

/** Nobody who comes back for the call can be asked that either. */
export class Unaskable extends Error {}

export const LOG_METHOD = 'notifications/message';

/** How a client is told that it did not hear of everything, as the `params` of a log message. */
export const droppedText = (count: number): string =>
  JSON.stringify({
    level: DROPPED_LEVEL,
    logger: 'gate',
    data: { message: `${count} messages were dropped: more were said than could be handed on`, dropped: count },
  });
export const DROPPED_LEVEL = 'warning';

/** Whoever holds the agent's open request. Texts are JSON as the upstream wrote it. */
export interface Listener {
  /** The agent asked to be told of progress. */
  readonly progress: boolean;
  /** False while what is told reaches nobody: where another process says it, it waits then. */
  readonly hears?: boolean;
  /** Whether this is dropped: it need not be looked at then, and is not told. */
  drops?(method: string, params: string): boolean;
  told(method: string, params: string): void;
  /**
   * Rejects where the client is gone, does not answer in time, or need not any more. `key` is the upstream's own name for the question, where it has
   * one.
   */
  asked(method: string, params: string, timeoutMs: number, key?: string, of?: AskedMeanwhile): Promise<ClientAnswer>;
  /** The resources that its agent is subscribed to, where somebody knows them better than the upstream's client. */
  readonly resources?: HeardResources;
  /** To be called once all is heard that the upstream says outside of calls from now on. */
  readonly opened?: () => void;
}

export interface HeardResources {
  of(): Promise<readonly string[]>;
  /** To be called once the upstream was asked for one of them again. */
  askedFor(uri: string): Promise<void>;
}

/**
 * What is said while a call is under way, between the process that sends it and the one that holds the agent's request: the same one, or two over one
 * store (`talks-apart.ts`). Nothing depends on it: a call has the same verdict and the same outcome when nobody listens.
 */
export interface CallTalks {
  /** The newest listener of a call is told; what comes back ends that. */
  listen(correlationId: string, listener: Listener): () => void;
  /** `null` where nobody is to be asked or told anything. */
  listenerOf(call: Pick<CallInput, 'correlation_id' | 'client_can' | 'client_hears'>): Listener | null;
  /** The tool goes no further with this call: what it asked is withdrawn, and what it said can be heard once this resolves. */
  over(correlationId: string): void | Promise<void>;
  /** Questions of other processes; absent where there are none. */
  readonly kept?: KeptQuestions;
  /** Resolves soon, once who listens to this call was told what its tool said before it was over; absent where that needs no look. */
  caughtUp?(correlationId: string): Promise<void>;
  /** How much of what tools said was dropped: too much, or more than could be kept. */
  dropped?(): number;
}

export interface OpenedQuestion {
  readonly id: string;
  readonly key: string;
  readonly method: string;
  /** In the upstream's own text. */
  readonly params: string;
  readonly from?: string | undefined;
}

/** A question whose answer counts. */
export interface AnsweredQuestion {
  readonly correlationId: string;
  readonly method: string;
}

/** Answers to questions that another process asks: the first one counts, and `false` is what came too late or belongs to none. */
export interface KeptQuestions {
  /** Those of a call that nobody answered yet. Whoever looks holds a request of its client. */
  openOf(correlationId: string): Promise<readonly OpenedQuestion[]>;
  give(id: string, answer: ClientAnswer): Promise<boolean>;
  /** The same by the name that the question had in this session: which one it was, or `null`. */
  giveIn(session: string, name: string, answer: ClientAnswer): Promise<AnsweredQuestion | null>;
  /** Of a call whose attempt was lost: whoever asked waits for no answer any more. */
  withdraw(correlationId: string): Promise<void>;
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
    listenerOf({ correlation_id: correlationId }) {
      const first = listeners.get(correlationId);
      if (!first) return null;
      // A client that lost its connection may have come back since.
      const newest = () => listeners.get(correlationId) ?? first;
      return {
        get progress() {
          return newest().progress;
        },
        drops: (...said) => newest().drops?.(...said) ?? false,
        told: (...said) => newest().told(...said),
        asked: (...question) => newest().asked(...question),
      };
    },
    // Whoever holds the request has its answer by then.
    over: () => undefined,
  };
}

const LONGEST_KEY = 128;

/** The key of a question: the upstream's own, and once in the life of a call. */
export function keyFor(used: Set<string>, id: string, wanted = id): string {
  const name = wanted.length > LONGEST_KEY ? id : wanted;
  let key = name;
  for (let again = 2; used.has(key); again += 1) key = `${name}.${again}`;
  used.add(key);
  return key;
}

/** Rejects once the upstream wants no answer any more. */
export const untilGivenUp = (answer: Promise<ClientAnswer>, givenUp: AbortSignal | undefined): Promise<ClientAnswer> =>
  givenUp ? unlessAborted(givenUp, answer, () => undefined) : answer;
