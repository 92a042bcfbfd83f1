import { randomUUID } from 'node:crypto';
import type { Json } from '../../../contracts/json.js';
import { errorText } from '../../../domain/errors.js';
import { isHeard, isMilder, type LeastLevel, levelIn, type LogLevel } from '../../../domain/mcp/log-levels.js';
import { membersOf, objectText } from '../../../domain/mcp/reply.js';
import { parseStrictJson, StrictJsonError } from '../../../domain/mcp/strict-json.js';
import {
  type ClientAnswer,
  DROPPED_LEVEL,
  droppedText,
  type Listener,
  LOG_METHOD,
  Unaskable,
  untilGivenUp,
} from '../../../domain/upstream/call-talks.js';
import { withoutClaim } from '../../../domain/review/told-change.js';
import { type Askable, askedAs } from './askable.js';
import { within } from './event-streams.js';

/** More is not handed on while its client reads slowly: a flood would fill memory. */
const MAX_QUEUED = 1_000;
/** So many of them may stand before a log message that is kept: a flood of these leaves places for everything else. */
const MAX_BEFORE_LOGS = 800;
const MAX_TEXT = 65_536;
/** And so many characters: a thousand long ones, for each of the clients that read nothing now, would fill it too. Again log messages leave some. */
const MAX_CHARS = 16 * MAX_TEXT;
const MAX_CHARS_BEFORE_LOGS = 12 * MAX_TEXT;
const PROGRESS_METHOD = 'notifications/progress';
const NOT_HANDED_ON = 'the request cannot be handed on to the client';
/** How long a message waits until it is known which ones its client hears. */
const LEVEL_LIMIT_MS = 1_000;

/** What clients answer to the requests that Gate handed on, by session and the id that Gate gave the request. */
export function createClientAnswers() {
  const awaited = new Map<string, (answer: ClientAnswer) => void>();
  const keyOf = (session: string, id: string) => `${session} ${id}`;
  return {
    /** Rejects where no answer comes in time, or the request is over. */
    async to(session: string, id: string, timeoutMs: number, signal: AbortSignal): Promise<ClientAnswer> {
      const key = keyOf(session, id);
      try {
        return await inTime(new Promise<ClientAnswer>((resolve) => awaited.set(key, resolve)), timeoutMs, signal);
      } finally {
        awaited.delete(key);
      }
    },
    /** False where nobody waits for it: asked by another process, too late, or never asked. */
    give(session: string, id: string, answer: ClientAnswer): boolean {
      const give = awaited.get(keyOf(session, id));
      give?.(answer);
      return give !== undefined;
    },
  };
}
export type ClientAnswers = ReturnType<typeof createClientAnswers>;

async function inTime(answer: Promise<ClientAnswer>, timeoutMs: number, signal: AbortSignal): Promise<ClientAnswer> {
  const got = await within(answer, timeoutMs, signal);
  if (!got) throw new Error(signal.aborted ? 'the client is gone' : 'the client did not answer in time');
  return got.value;
}

const cancelledText = (requestId: string, reason: string): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });

/** The body as a client's answer to a request; `null` for anything else, which is then read as a request. */
export function clientAnswerIn(text: string): { readonly id: string; readonly answer: ClientAnswer } | null {
  try {
    const body = parseStrictJson(text);
    if (body === null || typeof body !== 'object' || Array.isArray(body) || 'method' in body) return null;
    const { id } = body;
    const members = membersOf(text);
    const kind = members?.has('result') ? 'result' : 'error';
    const said = members?.get(kind);
    return typeof id === 'string' && said?.startsWith('{') === true ? { id, answer: [kind, said] } : null;
  } catch (error) {
    if (error instanceof StrictJsonError) return null;
    throw error;
  }
}

/** A client's session as far as questions go. */
export type AskedSession = Askable & { readonly id: string };

export interface Conversation extends Listener {
  drops(method: string, params: string): boolean;
  /** The upstream tells its progress by itself. */
  progressed(): boolean;
  /** Resolves once there is something to take. Whoever asks again waits for no earlier one any more. */
  heard(): Promise<void>;
  /** Whether there is, of what was said until now. */
  waiting(): Promise<boolean>;
  /** The messages since the last time, oldest first. */
  take(): Promise<string[]>;
}

/** What an upstream says of one call, as messages for the client that asked for it. */
export function createConversation({
  session,
  progressToken,
  answers,
  onAsked,
  leastLevel,
  onDropped,
  signal,
}: {
  /** Under whose id the client answers, and what it can be asked; `null` where it can be asked nothing. */
  readonly session: AskedSession | null;
  readonly progressToken: Json | undefined;
  readonly answers: ClientAnswers;
  readonly onAsked: (method: string, answered: boolean) => void;
  /** From which level on the client hears log messages; asked for when there is one, because it may change meanwhile. */
  readonly leastLevel: () => Promise<LeastLevel>;
  /** Called for each message that its client does not hear of, because more was said than it took. */
  readonly onDropped: () => void;
  /** Fires when the client is gone. */
  readonly signal: AbortSignal;
}): Conversation {
  let queued: string[] = [];
  /** Of those, and of what is held. */
  let chars = 0;
  let wake: () => void = () => undefined;
  let progressed = false;
  /** Its client was not told of these yet. */
  let dropped = 0;
  const drop = (): void => {
    dropped += 1;
    onDropped();
  };
  /** What was given a place and is not there: it is being looked at, or was withheld. It keeps the place until what waits is taken. */
  let admitted = 0;
  const queue = (message: string): void => {
    const told = withoutClaim(message);
    chars += told.length - message.length;
    queued.push(told);
    wake();
  };
  /** What was said since a log message whose level is being compared, in its order. `level` is of log messages alone. */
  let held: { readonly message: string; readonly level?: LogLevel | null }[] = [];
  /** How many of them are log messages of each level. */
  const heldLogs = new Map<LogLevel | null, number>();
  const countHeld = (level: LogLevel | null, by: number) => heldLogs.set(level, (heldLogs.get(level) ?? 0) + by);
  let comparing: Promise<void> | null = null;
  // A client whose level nobody knows, or not soon, hears what one hears that never set it.
  const least = async (): Promise<LeastLevel> =>
    (await within(leastLevel(), LEVEL_LIMIT_MS, signal).catch(() => null))?.value ?? null;
  const compare = async (): Promise<void> => {
    const from = await least();
    for (const { message, level } of held)
      if (level === undefined || isHeard(level, from)) queue(message);
      else chars -= message.length;
    held = [];
    heldLogs.clear();
    comparing = null;
  };
  /** The mildest log message that nobody decided on yet, if it is milder than this one. */
  const milder = (level?: LogLevel | null): LogLevel | null | undefined => {
    let mildest: LogLevel | null | undefined;
    for (const [one, count] of heldLogs)
      if (count > 0 && (mildest === undefined || isMilder(one, mildest))) mildest = one;
    return mildest !== undefined && level !== undefined && !isMilder(mildest, level) ? undefined : mildest;
  };
  const isFull = (length: number, level?: LogLevel | null): boolean => {
    const [places, most] = level === undefined ? [MAX_QUEUED, MAX_CHARS] : [MAX_BEFORE_LOGS, MAX_CHARS_BEFORE_LOGS];
    return queued.length + held.length + admitted >= places || chars + length > most;
  };
  /** Takes that out. */
  const makeRoom = (level?: LogLevel | null): boolean => {
    const mildest = milder(level);
    if (mildest === undefined) return false;
    drop();
    const [given] = held.splice(
      held.findIndex((one) => one.level === mildest),
      1,
    );
    chars -= given?.message.length ?? 0;
    countHeld(mildest, -1);
    return true;
  };
  const say = (message: string, level?: LogLevel | null): boolean => {
    if (signal.aborted || message.length > MAX_TEXT) return false;
    while (isFull(message.length, level)) if (!makeRoom(level)) return false;
    chars += message.length;
    if (level === undefined && !comparing) queue(message);
    else {
      held.push({ message, ...(level !== undefined && { level }) });
      if (level !== undefined) countHeld(level, 1);
    }
    if (held.length > 0) comparing ??= compare();
    return true;
  };
  return {
    progress: progressToken !== undefined,
    get hears() {
      return !signal.aborted;
    },
    drops(method, params) {
      // Nothing of it is handed on.
      if (signal.aborted || (method === PROGRESS_METHOD && progressToken === undefined)) return true;
      const level = method === LOG_METHOD ? levelIn(params) : undefined;
      if (isFull(params.length, level) && milder(level) === undefined) {
        drop();
        return true;
      }
      admitted += 1;
      return false;
    },
    told(method, params) {
      if (admitted > 0) admitted -= 1;
      // Who came back without its token would not know whose progress that is.
      if (method === PROGRESS_METHOD && progressToken === undefined) return;
      progressed ||= method === PROGRESS_METHOD;
      // The upstream knows the request by Gate's id; the client by its own token.
      const named =
        method === PROGRESS_METHOD
          ? objectText(new Map(membersOf(params) ?? []).set('progressToken', JSON.stringify(progressToken)))
          : params;
      const message = `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${named}}`;
      if (!say(message, method === LOG_METHOD ? levelIn(params) : undefined) && !signal.aborted) drop();
    },
    async asked(method, params, timeoutMs, _key, { kept, givenUp, from } = {}) {
      if (session === null) throw new Unaskable('the client cannot be asked in its revision of MCP');
      const id = kept?.nameIn(session.id) ?? `gate-${randomUUID()}`;
      const message = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":${askedAs(session, method, params, from)}}`;
      if (message.length > MAX_TEXT) throw new Unaskable(NOT_HANDED_ON);
      const given = kept ? inTime(kept.over, timeoutMs, signal) : answers.to(session.id, id, timeoutMs, signal);
      const answer = untilGivenUp(given, givenUp);
      answer.catch(() => undefined);
      if (!say(message)) throw new Error(NOT_HANDED_ON);
      try {
        const said = await answer;
        // An answer to a question of another process counts where it was given: every replica that put it hears of it.
        if (!kept) onAsked(method, said[0] === 'result');
        return said;
      } catch (error) {
        // Where the client is gone, another process may put it to the one that comes back.
        if (!kept || !signal.aborted) onAsked(method, false);
        // Whatever ended it: its client need not go on asking its user.
        say(cancelledText(id, errorText(error)));
        throw new Error(errorText(error), { cause: error });
      }
    },
    progressed: () => progressed,
    heard() {
      if (queued.length > 0) return Promise.resolve();
      // A new one each time: one that stood while nothing is said would hold whatever waited for it since.
      return new Promise((resolve) => (wake = resolve));
    },
    async waiting() {
      await comparing;
      return queued.length > 0;
    },
    async take() {
      await comparing;
      const lost = dropped;
      const taken = queued;
      [queued, chars, admitted, dropped] = [[], 0, 0, 0];
      if (lost > 0 && isHeard(DROPPED_LEVEL, await least()))
        taken.push(`{"jsonrpc":"2.0","method":"${LOG_METHOD}","params":${droppedText(lost)}}`);
      return taken;
    },
  };
}
