import type { Json } from '../../../contracts/json.js';
import { GateError } from '../../../domain/errors.js';
import { isHeard, type LeastLevel } from '../../../domain/mcp/log-levels.js';
import { hasUuidForm } from '../../../domain/uuid.js';
import type { Caller } from '../../plugins/app.js';
import { type Answer, errorAnswer } from '../answers.js';
import type { CallHandler, SettledOptions } from '../calls.js';
import type { Conversation } from './conversation.js';
import { askToOpen, type DecisionPage, openedText } from '../decision-page.js';
import { CLOSING, eventText, HEARTBEAT_MS, KEEP_ALIVE, placeText, within } from './event-streams.js';
import { type RpcForm, rpcAnswer } from '../rpc-answers.js';

export interface CallEventsOptions {
  readonly handler: Pick<CallHandler, 'settled'>;
  readonly caller: Caller & { readonly tenant: string; readonly agent: string };
  readonly correlationId: string;
  readonly form: RpcForm;
  /** Ends the stream; the call goes on. */
  readonly signal: AbortSignal;
  /** The first answer, where this request began the call. */
  readonly first?: Promise<Answer>;
  /** Resolves once the call waits for a person, where `first` does not say so. */
  readonly waits?: Promise<unknown>;
  /** How the call's end is looked up: where its answer may have been given before, and what is waited for. */
  readonly looksUp?: SettledOptions;
  /** Names the place to go on from; absent for clients that know no such events. */
  readonly place?: string;
  readonly progressToken?: string | number;
  /** From which level on the client hears log messages: without a progress token it is told in one that its call waits. Absent where it is not. */
  readonly leastLevel?: () => Promise<LeastLevel>;
  /** What the upstream says. */
  readonly talk?: Conversation;
  /** Resolves once `talk` has what was said before this answer. */
  readonly caughtUp: (answer: Answer) => Promise<void>;
  /** Asks the client to open the page on which its waiting call is decided; absent where the client cannot be asked. */
  readonly opens?: DecisionPage;
  /** Called when nothing more is sent. */
  readonly ended?: () => void;
  /** When a call of which nothing is known counts as never begun. */
  readonly unknownAfterMs: number;
  readonly onDisk: () => (correlationId: string) => Promise<void>;
  readonly asGateError: (error: unknown) => GateError;
}

/** Of the log message that a call waits. */
const WAITS_LEVEL = 'warning';
export const NEVER_BEGAN = 'no call of this agent under this id: it never began, and nothing was executed';
const HEARD = Symbol('heard');
const WAITS = Symbol('waits');

/** A proxy that closes waits for no more than that until a held call has its handle. */
const LAST_WORD_MS = 1_000;
/** More than Gate says of any call that waits. */
const BEATS = 1_000_000;

/**
 * A call as an event stream: where to go on if it breaks, what the upstream says meanwhile, signs of life while a tool runs or a person
 * thinks, and the one message that answers it. The answer comes from the record, so a stream that begins again, in any replica, ends with
 * the same message.
 */
export async function* callEvents(options: CallEventsOptions): AsyncGenerator<string> {
  const { correlationId, signal, place, progressToken, talk } = options;
  let { form } = options;
  let waits = options.first === undefined;
  let asked = false;
  /** Once, as soon as the call waits: what its client is asked. */
  const ask = async (): Promise<string | null> => {
    if (!waits || asked || !options.opens) return null;
    const text = await askToOpen(options.opens, correlationId);
    asked = text !== null;
    return text;
  };
  let beats = 0;
  let logged = false;
  const sign = async () => {
    const words = `call ${correlationId} ${waits ? 'waits for a person' : 'is under way'}`;
    // Progress only grows, and how far a tool is it says itself, from 1 on as most do: what Gate says before stays below that.
    if (progressToken !== undefined && talk?.progressed()) return KEEP_ALIVE;
    if (progressToken !== undefined) return eventText(progressText(progressToken, (beats += 1) / BEATS, words));
    // Who was asked to open the page knows that it waits.
    if (!options.leastLevel || !waits || logged || asked) return KEEP_ALIVE;
    logged = true;
    if (!isHeard(WAITS_LEVEL, await options.leastLevel().catch(() => null))) return KEEP_ALIVE;
    return eventText(logText(correlationId, words));
  };
  const messageOf = (answer: Answer) => eventText(rpcAnswer(form, answer).body?.toString('utf8') ?? '', place);
  /** By a clock that nobody sets: one that is set ahead would say so of a call that is about to begin. */
  const unknownAt = performance.now() + options.unknownAfterMs;
  let onDisk = options.onDisk();
  /** The answer; `null` while there is none to send. */
  const look = async (): Promise<Answer | null> => {
    onDisk = options.onDisk();
    const untilMs = Date.now() + HEARTBEAT_MS;
    const settled = await options.handler.settled(correlationId, options.caller, untilMs, options.looksUp);
    if (settled === undefined && performance.now() >= unknownAt) throw new GateError('not_found', NEVER_BEGAN);
    if (settled) form = { ...form, tool: isToolCall(settled.method) };
    return settled?.answer ?? null;
  };
  try {
    yield place === undefined ? KEEP_ALIVE : placeText(place);
    let work = options.first?.then((answer) => (answer.status === 202 ? null : answer)) ?? look();
    work.catch(() => undefined);
    let becomesWaiting = options.waits?.then((): typeof WAITS => WAITS);
    while (!signal.aborted) {
      for (const said of (await talk?.take()) ?? []) yield eventText(said);
      const toOpen = await ask();
      if (toOpen !== null) yield eventText(toOpen);
      const next = Promise.race([
        work,
        ...(talk ? [talk.heard().then((): typeof HEARD => HEARD)] : []),
        ...(becomesWaiting ? [becomesWaiting] : []),
      ]);
      const got = await within<Answer | null | typeof HEARD | typeof WAITS>(next, HEARTBEAT_MS, signal);
      if (got?.value === HEARD) continue;
      if (got?.value === WAITS) {
        becomesWaiting = undefined;
        waits = true;
        yield await sign();
        continue;
      }
      if (got?.value) {
        const answer = got.value;
        await Promise.all([onDisk(correlationId), options.caughtUp(answer)]);
        for (const said of (await talk?.take()) ?? []) yield eventText(said);
        if (asked) yield eventText(openedText(correlationId));
        yield messageOf(answer);
        return;
      }
      if (signal.aborted) break;
      if (got) {
        waits = true;
        work = look();
        work.catch(() => undefined);
        const page = await ask();
        if (page !== null) yield eventText(page);
      }
      yield await sign();
    }
    // Its client has nothing else by which it comes back to its call.
    const handle = options.waits && signal.reason === CLOSING ? await within(work, LAST_WORD_MS) : null;
    if (handle?.value) yield messageOf(handle.value);
  } catch (error) {
    if (!signal.aborted) yield messageOf(errorAnswer(options.asGateError(error), correlationId));
  } finally {
    options.ended?.();
  }
}

const isToolCall = (method: string): boolean => method === 'tools/call' || method === 'call_tool';

const logText = (correlationId: string, words: string): string => {
  const message = `${words}. Its answer comes here; whoever stops waiting finds it at GET /pending/${correlationId}.`;
  const data = { message, correlation_id: correlationId };
  return JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: WAITS_LEVEL, logger: 'gate', data },
  });
};

const progressText = (progressToken: string | number, progress: number, message: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken, progress, message },
  });

/** A place with a longer one would not fit in the header in which it comes back. */
const LONGEST_TOKEN = 256;

/** The place of a call in its stream: which call, under which id its answer is expected, and under which token its progress. */
export function placeOf(correlationId: string, id: Json, progressToken?: string | number): string {
  const isKept = progressToken !== undefined && String(progressToken).length <= LONGEST_TOKEN;
  return Buffer.from(JSON.stringify([correlationId, id, ...(isKept ? [progressToken] : [])])).toString('base64url');
}

/** What a client names as the last event it has seen; `null` when that is no place of a call. */
export function placeIn(lastEventId: string): {
  readonly correlationId: string;
  readonly id: string | number;
  readonly progressToken?: string | number;
} | null {
  try {
    const [correlationId, id, token] = JSON.parse(Buffer.from(lastEventId, 'base64url').toString('utf8')) as unknown[];
    if (typeof correlationId !== 'string' || !hasUuidForm(correlationId) || !isName(id)) return null;
    return { correlationId, id, ...(isName(token) && { progressToken: token }) };
  } catch {
    return null;
  }
}

const isName = (value: unknown): value is string | number => typeof value === 'string' || Number.isSafeInteger(value);
