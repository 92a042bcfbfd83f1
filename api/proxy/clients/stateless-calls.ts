import { setTimeout as after } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { CLIENT_CAPABILITIES, SERVER_EXECUTION_CONTRACT } from '../../../contracts/call.js';
import type { JsonObject } from '../../../contracts/json.js';
import { GateError } from '../../../domain/errors.js';
import type { LeastLevel } from '../../../domain/mcp/log-levels.js';
import { objectText } from '../../../domain/mcp/reply.js';
import type { RequestState, RequestStates } from '../../../domain/mcp/request-state.js';
import { askedBy, type BroughtBack } from '../../../domain/mcp/rounds.js';
import { type CallTalks, Unaskable } from '../../../domain/upstream/call-talks.js';
import { isOver } from '../../../domain/probes/due.js';
import { type Answer, answerOf } from '../answers.js';
import { NEVER_BEGAN } from './call-events.js';
import type { ClientCall } from './call-streams.js';
import type { CallHandler, ToolCallRequest } from '../calls.js';
import type { Controls } from './controls.js';
import { decisionPage, openRequest } from '../decision-page.js';
import { within } from './event-streams.js';
import { type AgentCaller, takesStream } from '../mcp-requests.js';
import { type RpcForm, type Streamed, VERDICT_META } from '../rpc-answers.js';
import { type Askable, askedAs } from './askable.js';
import { createRounds, isAnswer, type Question, type Round } from './rounds.js';

export interface StatelessCallsOptions {
  readonly handler: Pick<CallHandler, 'handle' | 'settled' | 'standing' | 'assertInUse'>;
  readonly controls: Pick<Controls, 'admit' | 'handedOn'>;
  readonly states: RequestStates;
  /** Absent where nothing is handed on while a call is under way. */
  readonly talks?: CallTalks | undefined;
  /** Answers at once, or as a stream. */
  readonly answered: (request: FastifyRequest, asked: ClientCall) => Promise<Answer | Streamed>;
  /** A call of which nothing is recorded by then, counted from when it was asked for, never began. */
  readonly unknownAfterMs: number;
  readonly now: () => number;
  /** A clock that nobody sets: one that is set ahead would say of a call that is about to begin that it never did. */
  readonly steadyMs?: () => number;
  readonly sweepEveryMs?: number;
}

/** A request of the revision without sessions that asks for a call, or comes back for one. */
export interface StatelessCall {
  readonly call: ToolCallRequest;
  /** What it asks for, as its client says it. */
  readonly askedFor: JsonObject;
  readonly form: RpcForm;
  readonly askable: Askable;
  readonly consoleUrl: string | undefined;
  readonly progressToken: string | number | undefined;
  readonly leastLevel: LeastLevel;
}

/**
 * A request is answered after this time at the latest, if only with the handle of its call: clients give up after a minute, and would have none. They
 * come back for so long as their own limit of rounds lets them, mostly ten times.
 */
const HELD_MS = 45_000;
/** How often it is looked at what became of the calls that nobody came back for. */
const SWEEP_EVERY_MS = 60_000;
/** What an upstream asks in one breath is one round. */
const TOGETHER_MS = 50;
/** The key of Gate's own question: where is decided about the call. */
const PAGE_KEY = 'gate.decision_page';
const NONE: ReadonlyMap<string, string> = new Map();

/**
 * Calls of MCP 2026-07-28 (docs/architecture/mcp-sessions.md#a-call-in-several-rounds). Where one waits for a person, or its upstream asks the client
 * something, the request ends with `input_required` and a sealed handle of the call; the next request that brings it goes on with this call, and
 * begins none. So a call is judged once and sent once, however many requests it takes.
 */
export function createStatelessCalls({ handler, controls, states, talks, ...options }: StatelessCallsOptions) {
  const { answered, unknownAfterMs, now } = options;
  const closing = new AbortController();
  const rounds = createRounds(talks, controls.handedOn, undefined, options.steadyMs);
  const sweeping = setInterval(() => void rounds.sweep(isCallOver), options.sweepEveryMs ?? SWEEP_EVERY_MS).unref();

  /** Whether nothing more can be asked in that call. */
  async function isCallOver({ caller, correlationId, round }: Swept): Promise<boolean> {
    try {
      const record = await handler.standing(correlationId, caller);
      return record ? isOver(record) : round.ageMs() > unknownAfterMs;
    } catch (error) {
      return error instanceof GateError && error.code === 'not_found' && round.ageMs() > unknownAfterMs;
    }
  }

  /** The answer that ends one request: that of the call where it comes in time, otherwise what is to be asked or waited for. */
  async function ended(round: Round, work: Promise<Answer | null>, handle: Handle): Promise<Answer> {
    work.catch(() => undefined);
    const waits = new AbortController();
    try {
      const first = Promise.race([work, round.asked(waits.signal).then(() => null)]);
      const given = (await within(first, HELD_MS, closing.signal))?.value ?? null;
      if (given && given.status !== 202) {
        if (!given.unsent) await talks?.caughtUp?.(handle.correlationId);
        round.end();
        return given;
      }
      // Before that its key may be another request's, and so may the call that is recorded under it.
      await Promise.race([work, round.admitted()]);
      return await inputRequired(round, handle, given);
    } catch (error) {
      // Of a request that is refused nothing goes on; another one of the same call may.
      if (handle.isNew) round.end();
      throw error;
    } finally {
      waits.abort();
    }
  }

  /** `input_required`: what the upstream asks, or where is decided about the call; and the handle under which the call goes on. */
  async function inputRequired(round: Round, handle: Handle, waits: Answer | null): Promise<Answer> {
    const { caller, correlationId, asks, askedMs, askable, consoleUrl } = handle;
    if (round.questions().length > 0) await after(TOGETHER_MS);
    const questions = round.questions();
    const record = await handler.standing(correlationId, caller);
    const page =
      record && questions.length === 0 && !handle.opened && askable.opensUrls ? decisionPage(consoleUrl, record) : null;
    const asked = page ? [[PAGE_KEY, JSON.stringify(openRequest(page))] as const] : questions.map(textOf);
    const requestState = states.seal(caller, {
      correlationId,
      asks,
      askedMs,
      questions: new Map(questions.map(({ key, id }) => [key, id])),
      opened: handle.opened || Boolean(page),
    });
    const told = (waits ?? (record?.state === 'parked' ? answerOf(record, null, false) : null))?.body;
    const verdict = told ?? { correlation_id: correlationId };
    const result = objectText([
      ['resultType', '"input_required"'],
      ...(asked.length > 0 ? [['inputRequests', objectText(asked)] as const] : []),
      ['requestState', JSON.stringify(requestState)],
      ['_meta', JSON.stringify({ [VERDICT_META]: verdict })],
    ]);
    const text = `{"jsonrpc":"2.0","id":${JSON.stringify(handle.form.id)},"result":${result}}`;
    const headers = { 'Content-Type': 'application/json' };
    return { status: 200, headers, body: Buffer.from(text), whole: true };
  }

  /**
   * The answer of the call that a state is the handle of; `null` while there is none. Only looks. When it was asked for may be by another process's clock: that
   * it never began is said only once it has been known here for as long.
   */
  async function lookedUp(
    { caller, correlationId, askedMs }: Handle,
    round: Round,
    name: string,
  ): Promise<Answer | null> {
    const again = { caller, correlationId, name };
    const settled = await handler.settled(correlationId, caller, now() + HELD_MS, { again });
    if (settled) return settled.answer;
    const isLate = now() > askedMs + unknownAfterMs && round.ageMs() > unknownAfterMs;
    if (settled === undefined && isLate) throw new GateError('not_found', NEVER_BEGAN);
    return null;
  }

  function goOn({ call, form, askable, consoleUrl }: StatelessCall, state: Omit<RequestState, 'questions'>) {
    const { caller } = call;
    const { round, isNew } = rounds.of(caller, state.correlationId, state.asks, askable);
    const handle: Handle = { ...state, caller, form, askable, consoleUrl, isNew };
    return { handle, round };
  }
  function begin(asked: StatelessCall, correlationId: string, answers: BroughtBack['answers'] = NONE) {
    const state = { correlationId, asks: askedBy(asked.askedFor), askedMs: now(), opened: false };
    const { handle, round } = goOn(asked, state);
    // Those of a request that joins a call are not its call's.
    if (handle.isNew) round.bring(answers);
    const call = { ...asked.call, onAdmitted: async () => round.admit() };
    const handled = async (): Promise<Answer> => {
      try {
        return await handler.handle(call, correlationId);
      } finally {
        // They may be large, and a call may wait for a day.
        if (handle.isNew) round.bring(NONE);
      }
    };
    return { handle, round, handled };
  }
  const asClientCall = (
    asked: StatelessCall,
    round: Round,
    waits: Promise<unknown>,
    first: () => Promise<Answer>,
  ): ClientCall => ({
    call: asked.call,
    form: asked.form,
    progressToken: asked.progressToken,
    leastLevel: async () => asked.leastLevel,
    first,
    waits,
    listens: round.tell,
  });

  /** The same, whose first answer is held while it waits for a person; `waits` resolves once it does. */
  function whileHeld({ caller, correlationId }: Handle, handled: () => Promise<Answer>) {
    let told = (): void => undefined;
    const waits = new Promise<void>((resolve) => (told = resolve));
    const work = async (): Promise<Answer> => {
      const given = await handled();
      if (given.status !== 202) return given;
      told();
      return (await handler.settled(correlationId, caller, now() + HELD_MS))?.answer ?? given;
    };
    return { waits, work };
  }

  /** Resolves where the call waits for a person now. */
  async function waitsNow({ caller, correlationId }: Handle): Promise<void> {
    const record = await handler.standing(correlationId, caller).catch(() => null);
    if (record?.state !== 'parked') await new Promise<never>(() => undefined);
  }

  /** What is asked of its client now. Where another process asks, it does not matter whether this one heard of the question. */
  async function questionsOf(
    correlationId: string,
    round: Round | null,
    opensUrls: boolean,
  ): Promise<readonly Question[]> {
    if (!talks?.kept) return round?.questions() ?? [];
    const open = await talks.kept.openOf(correlationId);
    // Whoever asks has compared it with what the call's client declared, all but whether that opens an address.
    const askable = round?.askable() ?? { can: CLIENT_CAPABILITIES, opensUrls };
    return open.flatMap((one) => {
      try {
        return [{ ...one, params: askedAs(askable, one.method, one.params, one.from) }];
      } catch (error) {
        if (error instanceof Unaskable) return [];
        throw error;
      }
    });
  }

  /** Gives answers by key to those of these questions that nobody answered yet: none to a call of what was stopped since. */
  async function give(
    round: Round | null,
    { caller, tool, opensUrls }: Answering,
    correlationId: string,
    answers: BroughtBack['answers'],
    questions: RequestState['questions'],
  ): Promise<void> {
    if (answers.size === 0 || questions.size === 0) return;
    const kept = talks?.kept;
    const open = new Map((await questionsOf(correlationId, round, opensUrls)).map(({ id, method }) => [id, method]));
    const given = [...answers].flatMap(([key, text]) => {
      const id = questions.get(key);
      const method = id === undefined ? undefined : open.get(id);
      return id !== undefined && method !== undefined ? [{ id, method, text }] : [];
    });
    if (given.length === 0) return;
    const contract = SERVER_EXECUTION_CONTRACT;
    handler.assertInUse({ caller, tools: [tool], name: tool, contract }, correlationId);
    for (const { id, method, text } of given)
      if (!kept) round?.answer(id, text);
      // What it was answered counts at the replica that took the answer, whichever put the question.
      else if (isAnswer(method, text) && (await kept.give(id, ['result', text])))
        controls.handedOn(caller, method, correlationId, true);
  }

  return {
    /** A request that begins a call, or joins it under its key. Answers that it brings are to what the upstream asks under their keys. */
    async begun(
      request: FastifyRequest,
      asked: StatelessCall,
      answers?: BroughtBack['answers'],
    ): Promise<Answer | Streamed> {
      const { handle, round, handled } = begin(asked, request.correlationId, answers);
      const opensPage = asked.askable.opensUrls && asked.consoleUrl !== undefined;
      // Some clients take a handle for an error (docs/architecture/mcp-sessions.md#a-call-in-several-rounds): one that hears signs of life waits first.
      const held = takesStream(request) && !opensPage;
      const { waits, work } = whileHeld(handle, handled);
      return answered(
        request,
        asClientCall(asked, round, waits, () => ended(round, held ? work() : handled(), handle)),
      );
    },

    /** The same for a call that may become a task. */
    joined(asked: StatelessCall, correlationId: string, answers?: BroughtBack['answers']): Joined {
      const { handle, round, handled } = begin(asked, correlationId, answers);
      return {
        handled,
        question: round.asked().then(() => inputRequired(round, handle, null)),
        admitted: round.admitted(),
        refused() {
          if (handle.isNew) round.end();
        },
      };
    },

    /** What the upstream asks of the client of a call now. */
    questions: (correlationId: string, opensUrls = false): Promise<readonly Question[]> =>
      questionsOf(correlationId, rounds.find(correlationId), opensUrls),

    /** Answers by key to what is asked now. Throws where what was called is stopped. */
    async answer(of: Answering, correlationId: string, answers: BroughtBack['answers']): Promise<void> {
      if (answers.size === 0) return;
      const round = rounds.find(correlationId);
      const asked = await questionsOf(correlationId, round, of.opensUrls);
      await give(round, of, correlationId, answers, new Map(asked.map(({ key, id }) => [key, id])));
    },

    over: (correlationId: string): void => rounds.over(correlationId),

    /** Whoever is held is given its handle now: it comes back to another replica, or after the restart. What is asked by then nobody can answer. */
    close(): void {
      closing.abort();
      clearInterval(sweeping);
      rounds.close();
    },

    /** A request that goes on with a call. Throws `request_state_invalid`, `request_state_mismatch`. */
    async resumed(request: FastifyRequest, asked: StatelessCall, brought: BroughtBack): Promise<Answer | Streamed> {
      const { caller, mcp } = asked.call;
      await controls.admit(caller, 'an answer of the client', request.correlationId);
      const state = states.open(caller, brought.state ?? '', askedBy(asked.askedFor));
      request.correlationId = state.correlationId;
      const { handle, round } = goOn(asked, state);
      // The state was given for a call that was.
      round.admit();
      const { opensUrls } = asked.askable;
      await give(round, { caller, tool: mcp.tool, opensUrls }, state.correlationId, brought.answers, state.questions);
      return answered(
        request,
        asClientCall(asked, round, waitsNow(handle), () => ended(round, lookedUp(handle, round, mcp.method), handle)),
      );
    },
  };
}

/** Who answers what a tool asks. */
export interface Answering {
  readonly caller: AgentCaller;
  readonly tool: string;
  /** Whether it opens an address for its user. */
  readonly opensUrls: boolean;
}

/** A call that is listened to. */
interface Swept {
  readonly caller: AgentCaller;
  readonly correlationId: string;
  readonly round: Pick<Round, 'ageMs'>;
}

/** A request of a call that may become a task. */
export interface Joined {
  readonly handled: () => Promise<Answer>;
  /** What is asked before the first answer, if anything is. */
  readonly question: Promise<Answer>;
  /** Resolves once what is recorded under the id is this request's call. */
  readonly admitted: Promise<void>;
  /** To be called where the request is refused: nothing of it goes on. */
  readonly refused: () => void;
}

/** The call that a request is about, and what its client is given for it. */
interface Handle extends Omit<RequestState, 'questions'> {
  readonly caller: AgentCaller;
  readonly form: RpcForm;
  readonly askable: Askable;
  readonly consoleUrl: string | undefined;
  /** Nobody listened to the call before. */
  readonly isNew: boolean;
}

/** A question as one of those that end a request, or are asked of a task. */
export const textOf = ({ key, method, params }: Question) =>
  [
    key,
    objectText([
      ['method', JSON.stringify(method)],
      ['params', params],
    ]),
  ] as const;

export type StatelessCalls = ReturnType<typeof createStatelessCalls>;
