import { randomUUID } from 'node:crypto';
import { membersOf } from '../../../domain/mcp/reply.js';
import { type CallTalks, type ClientAnswer, keyFor, type Listener } from '../../../domain/upstream/call-talks.js';
import { type Askable, askedAs } from './askable.js';
import type { Conversation } from './conversation.js';
import type { AgentCaller } from '../mcp-requests.js';
import { agentKey } from '../refusals.js';

/** What an upstream asks of the client while its call is under way. */
export interface Question {
  readonly id: string;
  readonly key: string;
  readonly method: string;
  /** As its client is asked it. */
  readonly params: string;
}

export interface Round {
  /** Those that nobody answered yet, the oldest first. */
  questions(): readonly Question[];
  /** Resolves once there is a question. Whoever says that he waits no more leaves nothing behind. */
  asked(waits?: AbortSignal): Promise<void>;
  /** Gives the answer to the question of that id; something else is not given, and the question stays. */
  answer(id: string, text: string): void;
  /** Answers that came with the call itself: to what the upstream asks under these keys, until others come or none. */
  bring(answers: ReadonlyMap<string, string>): void;
  /** Whoever listens is told what the upstream says; what comes back ends that. */
  tell(conversation: Conversation): () => void;
  /** What its client said last that it can be asked. */
  askable(): Askable;
  /** The call is this request's: what its upstream says is heard from here on. */
  admit(): void;
  /** Resolves once it is. */
  admitted(): Promise<void>;
  /** How long it has been known here. */
  ageMs(): number;
  /** Nothing more is said of it. */
  end(): void;
}

/** As many calls as may be under way or wait. Beyond that room is made at the agent with the most, whatever is asked in its calls. */
const MAX_ROUNDS = 10_000;
const CLOSED = 'Gate closes, and nobody can answer';
const GIVEN_UP =
  'too many calls of this agent wait for answers, and this one was given up for the call of another agent';
/** So many calls are looked at in one sweep. */
const SWEPT_AT_ONCE = 1_000;

/**
 * What is asked of clients of the revision without sessions: such a question ends the request, and its answer comes with the next one. So a call is
 * listened to here for as long as it lasts, whoever holds a request of it meanwhile.
 */
export function createRounds(
  talks: CallTalks | undefined,
  onAsked: (caller: AgentCaller, method: string, correlationId: string, answered: boolean) => void,
  most = MAX_ROUNDS,
  steadyMs: () => number = () => performance.now(),
) {
  const rounds = heldRounds(most);
  let closed = false;
  let isSweeping = false;

  function made(caller: AgentCaller, correlationId: string, asks: string, first: Askable): Held {
    const open = new Map<
      string,
      { readonly question: Question; readonly give: (answer: ClientAnswer | null) => void }
    >();
    const keys = new Set<string>();
    const brought = new Map<string, string>();
    const waiting = new Set<() => void>();
    let over = 'the client did not answer in time';
    let listening: Conversation | null = null;
    const listener: Listener = {
      get progress() {
        return listening?.progress ?? false;
      },
      get hears() {
        return listening?.hears ?? false;
      },
      // While no request is held nobody is told anything.
      drops: (method, params) => listening?.drops(method, params) ?? true,
      told: (method, params) => listening?.told(method, params),
      async asked(method, params, timeoutMs, wanted, { kept, givenUp, from } = {}) {
        const told = askedAs(held.askable, method, params, from);
        if (closed) throw new Error(CLOSED);
        const given = wanted === undefined ? undefined : brought.get(wanted);
        if (given !== undefined && isAnswer(method, given)) {
          brought.delete(wanted as string);
          onAsked(caller, method, correlationId, true);
          return ['result', given];
        }
        const id = kept?.id ?? randomUUID();
        const question = {
          id,
          key: (kept && wanted) ?? keyFor(keys, id, wanted),
          method,
          params: told,
        };
        let timer: NodeJS.Timeout | undefined;
        const answer = new Promise<ClientAnswer | null>((give) => {
          timer = setTimeout(() => give(null), timeoutMs).unref();
          open.set(id, { question, give });
          const isOver = (answered: ClientAnswer | null) => {
            open.delete(id);
            give(answered);
          };
          kept?.over.then(isOver, () => isOver(null));
          givenUp?.addEventListener('abort', () => isOver(null), { once: true });
        });
        for (const wake of waiting) wake();
        waiting.clear();
        try {
          const said = await answer;
          // An answer to a question of another process counts where it was given: every replica that put it hears of it.
          if (!kept || !said) onAsked(caller, method, correlationId, said !== null);
          if (!said) throw new Error(closed ? CLOSED : over);
          return said;
        } finally {
          clearTimeout(timer);
          open.delete(id);
        }
      },
    };
    let stop: (() => void) | undefined;
    let isAdmitted: () => void = () => undefined;
    const admitted = new Promise<void>((resolve) => (isAdmitted = resolve));
    const round: Round = {
      questions: () => [...open.values()].map(({ question }) => question),
      asked(waits) {
        if (open.size > 0) return Promise.resolve();
        return new Promise((resolve) => {
          waiting.add(resolve);
          waits?.addEventListener('abort', () => waiting.delete(resolve), { once: true });
        });
      },
      answer(id, text) {
        const asked = open.get(id);
        if (!asked || !isAnswer(asked.question.method, text)) return;
        // From here on it is answered, whenever the upstream comes to hear of it.
        open.delete(id);
        asked.give(['result', text]);
      },
      bring(all) {
        brought.clear();
        for (const [key, text] of all) brought.set(key, text);
      },
      tell(conversation) {
        listening = conversation;
        return () => {
          if (listening === conversation) listening = null;
        };
      },
      askable: () => held.askable,
      admit() {
        // Where there is no room it is asked nothing.
        if (rounds.keep(held, true)) stop ??= talks?.listen(correlationId, listener);
        isAdmitted();
      },
      admitted: () => admitted,
      ageMs: () => steadyMs() - held.sinceMs,
      end: () => rounds.end(held),
    };
    const end = (why = over) => {
      over = why;
      stop?.();
      stop = undefined;
      for (const { give } of open.values()) give(null);
    };
    const isAsked = () => open.size > 0;
    const held: Held = {
      correlationId,
      caller,
      agent: agentKey(caller),
      round,
      asks,
      askable: first,
      isAsked,
      end,
      sinceMs: steadyMs(),
      sweptMs: steadyMs(),
    };
    return held;
  }

  return {
    /**
     * The round of the requests that ask for this under that id; nothing is heard in it before it is admitted. A request that asks for something
     * else under the same id has one of its own: whose call it is the record says.
     */
    of(
      caller: AgentCaller,
      correlationId: string,
      asks: string,
      askable: Askable,
    ): { readonly round: Round; readonly isNew: boolean } {
      const known = rounds.find(correlationId);
      if (known?.asks === asks) {
        // What its client can be asked it says in each request.
        known.askable = askable;
        return { round: known.round, isNew: false };
      }
      const held = made(caller, correlationId, asks, askable);
      if (!known) rounds.keep(held);
      return { round: held.round, isNew: true };
    },
    find: (correlationId: string): Round | null => rounds.find(correlationId)?.round ?? null,
    /** The call is over: nothing more is said of it. */
    over(correlationId: string): void {
      const held = rounds.find(correlationId);
      if (held) rounds.end(held);
    },
    /** Ends those whose call is over, as this says it: a client that never came back for its answer left one that listens. */
    async sweep(
      isOver: (of: { caller: AgentCaller; correlationId: string; round: Pick<Round, 'ageMs'> }) => Promise<boolean>,
    ) {
      if (isSweeping) return;
      isSweeping = true;
      try {
        for (const held of rounds.unswept(SWEPT_AT_ONCE)) {
          if (closed) return;
          held.sweptMs = steadyMs();
          if (await isOver(held)) rounds.end(held);
        }
      } finally {
        isSweeping = false;
      }
    },
    /** Nobody answers here any more: what is asked is not answered, and nothing more is asked. */
    close(): void {
      closed = true;
      rounds.endAll();
    },
  };
}

interface Held {
  readonly correlationId: string;
  readonly caller: AgentCaller;
  readonly agent: string;
  readonly round: Round;
  /** Digest of what its requests ask for. */
  readonly asks: string;
  askable: Askable;
  /** There is a question that nobody answered yet. */
  readonly isAsked: () => boolean;
  readonly end: (why?: string) => void;
  readonly sinceMs: number;
  sweptMs: number;
}

/**
 * The rounds by their calls, each agent's apart. Where there is no room for one more, the agent with the most gives one up: its oldest in which nothing is
 * asked, and where something is asked in all of them, its oldest for the call of an agent that has fewer. So nobody's calls keep those of another agent
 * from being asked something.
 */
function heldRounds(most: number) {
  const byCall = new Map<string, Held>();
  /** Of each agent those that nobody asked for the longest first. */
  const byAgent = new Map<string, Set<Held>>();

  function end(held: Held, why?: string): void {
    const own = byAgent.get(held.agent);
    if (!own?.delete(held)) return;
    if (own.size === 0) byAgent.delete(held.agent);
    if (byCall.get(held.correlationId) === held) byCall.delete(held.correlationId);
    held.end(why);
  }

  const unasked = (all: ReadonlySet<Held>): Held | null => {
    for (const held of all) if (!held.isAsked()) return held;
    return null;
  };

  /** The one that is given up for a call of this agent; `null` where it must do without. No question fails for a request that may be refused yet. */
  function spare(agent: string, isAdmitted: boolean): Held | null {
    const own = byAgent.get(agent) ?? new Set<Held>();
    const fullest = [...byAgent.values()].reduce((one, other) => (other.size > one.size ? other : one), own);
    const [oldest = null] = fullest;
    if (isAdmitted && fullest !== own && fullest.size > own.size + 1) return unasked(fullest) ?? oldest;
    // Nobody has more than this agent will: from here on only what nobody would miss.
    for (const all of [fullest, own, ...byAgent.values()]) {
      const held = all === own || all.size > own.size ? unasked(all) : null;
      if (held) return held;
    }
    return null;
  }

  return {
    find(correlationId: string): Held | null {
      const held = byCall.get(correlationId) ?? null;
      const own = held && byAgent.get(held.agent);
      if (held && own?.delete(held)) own.add(held);
      return held;
    },
    /** `false` where there is no room for it. */
    keep(held: Held, isAdmitted = false): boolean {
      const known = byCall.get(held.correlationId);
      if (known === held) return true;
      if (known) end(known);
      if (byCall.size >= most) {
        const given = spare(held.agent, isAdmitted);
        if (!given) return false;
        end(given, GIVEN_UP);
      }
      byCall.set(held.correlationId, held);
      byAgent.set(held.agent, (byAgent.get(held.agent) ?? new Set()).add(held));
      return true;
    },
    end,
    /** Those that were looked at the longest ago. */
    unswept: (most: number): readonly Held[] =>
      [...byCall.values()].toSorted((one, other) => one.sweptMs - other.sweptMs).slice(0, most),
    endAll(): void {
      for (const held of byCall.values()) end(held);
    },
  };
}

/** Whether this is an answer to such a question. */
export function isAnswer(method: string, text: string): boolean {
  const said = membersOf(text);
  if (!said) return false;
  switch (method) {
    case 'elicitation/create':
      return ['"accept"', '"decline"', '"cancel"'].includes(said.get('action') ?? '');
    case 'sampling/createMessage':
      return said.has('role') && said.has('content');
    default:
      return said.get('roots')?.startsWith('[') === true;
  }
}
