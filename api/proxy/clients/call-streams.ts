import type { FastifyRequest } from 'fastify';
import { GateError } from '../../../domain/errors.js';
import type { LeastLevel } from '../../../domain/mcp/log-levels.js';
import type { CallTalks } from '../../../domain/upstream/call-talks.js';
import type { Answer } from '../answers.js';
import { callEvents } from './call-events.js';
import type { CallHandler, ToolCallRequest } from '../calls.js';
import type { Controls } from './controls.js';
import { type AskedSession, type Conversation, type createClientAnswers, createConversation } from './conversation.js';
import type { DecisionPage } from '../decision-page.js';
import { eventText, type EventStreams, HEARTBEAT_MS, KEEP_ALIVE, within } from './event-streams.js';
import { type AgentCaller, takesStream } from '../mcp-requests.js';
import { type RpcForm, rpcAnswer, type Streamed } from '../rpc-answers.js';
import type { Events } from './task-requests.js';

export interface CallStreamsOptions {
  readonly handler: Pick<CallHandler, 'handle' | 'settled'>;
  readonly controls: Pick<Controls, 'handedOn'>;
  readonly streams: EventStreams;
  readonly answers: ReturnType<typeof createClientAnswers>;
  /** Absent where nothing is handed on while a call is under way. */
  readonly talks?: CallTalks | undefined;
  readonly onDropped: () => void;
  /** A call of which nothing is recorded by then never began. */
  readonly unknownAfterMs: number;
  readonly onDisk: () => (correlationId: string) => Promise<void>;
  readonly asGateError: (error: unknown) => GateError;
}

/** A call of a client, and how its answer reads. */
export interface ClientCall {
  readonly call: ToolCallRequest;
  readonly form: RpcForm;
  /** Names the place in a stream, for clients that come back to one. */
  readonly place?: string;
  /** In which its client answers what it is asked; absent where it can be asked nothing. */
  readonly session?: AskedSession;
  /** From which level on its client hears log messages. */
  readonly leastLevel: () => Promise<LeastLevel>;
  /** Under which its client wants to hear of its progress. */
  readonly progressToken?: string | number | undefined;
  /** Its client can be asked to open where it is decided about the call. */
  readonly opens?: DecisionPage;
  /** What the request is answered with, where that is not the call's own first answer. It is never that the call waits for a person. */
  readonly first?: () => Promise<Answer>;
  /** Resolves once a call whose `first` is held waits for a person. */
  readonly waits?: Promise<unknown>;
  /** Where what the upstream says is heard for longer than one request lasts; `null` where nothing is heard. What comes back ends it for this one. */
  readonly listens?: ((conversation: Conversation) => () => void) | null;
}

/** How long an answer is waited for before it becomes a stream. */
const SOON_MS = 1_000;
/** Answers to calls of ordinary MCP clients: at once, or as a stream (docs/architecture/mcp-sessions.md#a-call-that-takes-long). */
export function createCallStreams(options: CallStreamsOptions) {
  const { handler, controls, streams, answers, unknownAfterMs, onDisk } = options;
  /** What a tool said before its answer comes before it; where none was asked there is nothing to look for. */
  const caughtUp = async ({ unsent }: Answer, correlationId: string) =>
    unsent ? undefined : options.talks?.caughtUp?.(correlationId);
  return { answered, events, talkOf };

  /** What the upstream says of a call from here on; `null` where nothing is handed on. */
  function talkOf({
    caller,
    correlationId,
    session,
    progressToken,
    leastLevel,
    signal,
    listens,
  }: {
    readonly caller: AgentCaller;
    readonly correlationId: string;
    readonly session: AskedSession | null;
    readonly progressToken: string | number | undefined;
    readonly leastLevel: () => Promise<LeastLevel>;
    readonly signal: AbortSignal;
    readonly listens?: ClientCall['listens'];
  }) {
    if (!options.talks || listens === null) return null;
    const talk = createConversation({
      session,
      progressToken,
      answers,
      onAsked: (method, given) => controls.handedOn(caller, method, correlationId, given),
      leastLevel,
      onDropped: options.onDropped,
      signal,
    });
    return { talk, stop: listens ? listens(talk) : options.talks.listen(correlationId, talk) };
  }

  /** The answer itself where it comes soon; otherwise a stream, so that no client times out without knowing its call. */
  async function answered(request: FastifyRequest, asked: ClientCall): Promise<Answer | Streamed> {
    const { call, form, place, session, leastLevel, progressToken, opens, waits } = asked;
    const { caller } = call;
    const { correlationId } = request;
    const begin = asked.first ?? (() => handler.handle(call, correlationId));
    if (!takesStream(request)) return rpcAnswer(form, await begin());
    const gone = new AbortController();
    const heard = talkOf({
      caller,
      correlationId,
      session: session ?? null,
      progressToken,
      leastLevel,
      signal: gone.signal,
      listens: asked.listens,
    });
    const talk = heard?.talk;
    const ended = () => {
      heard?.stop();
      gone.abort();
    };
    const first = begin();
    // If the client is gone by then, the record has the answer.
    first.catch(nothing);
    let held: ReturnType<EventStreams['begin']>;
    try {
      const soon = await within(talk ? Promise.race([first, talk.heard().then(() => null)]) : first, SOON_MS);
      if (soon?.value && soon.value.status !== 202) {
        await caughtUp(soon.value, correlationId);
        if (!(await talk?.waiting())) {
          ended();
          return rpcAnswer(form, soon.value);
        }
      }
      held = streams.begin(caller);
    } catch (error) {
      ended();
      if (!(error instanceof GateError) || error.code !== 'rate_limited' || !('streams' in error.fields)) throw error;
      // Its streams are all taken: it is told what there is to tell, and may ask again under the same id of its request.
      return rpcAnswer(form, await first);
    }
    held.signal.addEventListener('abort', ended, { once: true });
    return {
      ...held,
      events: events({
        caller,
        correlationId,
        form,
        signal: held.signal,
        first,
        ended,
        ...(talk && { talk }),
        ...(place !== undefined && { place }),
        ...(progressToken !== undefined && { progressToken }),
        leastLevel,
        ...(waits && { waits }),
        ...(opens && { opens }),
      }),
    };
  }

  function events(of: Events): AsyncGenerator<string> {
    return callEvents({
      ...of,
      handler,
      unknownAfterMs,
      onDisk,
      asGateError: options.asGateError,
      caughtUp: (answer) => caughtUp(answer, of.correlationId),
    });
  }
}

const nothing = (): void => undefined;

/** What an upstream says outside of calls, and signs of life. */
export async function* announcements(talk: Conversation, signal: AbortSignal): AsyncGenerator<string> {
  yield KEEP_ALIVE;
  while (!signal.aborted) {
    for (const said of await talk.take()) yield eventText(said);
    const heard = await within(talk.heard(), HEARTBEAT_MS, signal);
    if (!heard && !signal.aborted) yield KEEP_ALIVE;
  }
}
