import { randomUUID } from 'node:crypto';
import type { Json } from '../../contracts/json.js';
import { errorText } from '../../domain/errors.js';
import { membersOf, objectText } from '../../domain/mcp/reply.js';
import { parseStrictJson, StrictJsonError } from '../../domain/mcp/strict-json.js';
import type { ClientAnswer, Listener } from '../../domain/pipeline/call-talks.js';
import { withoutClaim } from '../../domain/review/told-change.js';
import { within } from './event-streams.js';

/** More is not handed on while its client reads slowly: a flood would fill memory. */
const MAX_QUEUED = 1_000;
const MAX_TEXT = 65_536;

/** What clients answer to the requests that Gate handed on, by session and the id that Gate gave the request. */
export function createClientAnswers() {
  const awaited = new Map<string, (answer: ClientAnswer) => void>();
  const keyOf = (session: string, id: string) => `${session} ${id}`;
  return {
    /** Rejects where no answer comes in time, or the request is over. */
    async to(session: string, id: string, timeoutMs: number, signal: AbortSignal): Promise<ClientAnswer> {
      const key = keyOf(session, id);
      try {
        const answer = new Promise<ClientAnswer>((resolve) => awaited.set(key, resolve));
        const got = await within(answer, timeoutMs, signal);
        if (!got) throw new Error(signal.aborted ? 'the client is gone' : 'the client did not answer in time');
        return got.value;
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

export interface Conversation extends Listener {
  /** Resolves once there is something to take. */
  heard(): Promise<void>;
  waiting(): boolean;
  /** The messages since the last time, oldest first. */
  take(): string[];
}

/** What an upstream says of one call, as messages for the client that asked for it. */
export function createConversation({
  session,
  progressToken,
  answers,
  onAsked,
  signal,
}: {
  /** Under which the client answers; `null` where it can be asked nothing. */
  readonly session: string | null;
  readonly progressToken: Json | undefined;
  readonly answers: ClientAnswers;
  readonly onAsked: (method: string, answered: boolean) => void;
  /** Fires when the client is gone. */
  readonly signal: AbortSignal;
}): Conversation {
  let queued: string[] = [];
  let wake: () => void = () => undefined;
  let heard: Promise<void> | null = null;
  const say = (message: string): boolean => {
    if (signal.aborted || message.length > MAX_TEXT || queued.length >= MAX_QUEUED) return false;
    queued.push(withoutClaim(message));
    wake();
    heard = null;
    return true;
  };
  return {
    progress: progressToken !== undefined,
    told(method, params) {
      // The upstream knows the request by Gate's id; the client by its own token.
      const named =
        method === 'notifications/progress' && progressToken !== undefined
          ? objectText(new Map(membersOf(params) ?? []).set('progressToken', JSON.stringify(progressToken)))
          : params;
      say(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${named}}`);
    },
    async asked(method, params, timeoutMs) {
      if (session === null) throw new Error('the client cannot be asked in its revision of MCP');
      const id = `gate-${randomUUID()}`;
      const answer = answers.to(session, id, timeoutMs, signal);
      answer.catch(() => undefined);
      if (!say(`{"jsonrpc":"2.0","id":"${id}","method":${JSON.stringify(method)},"params":${params}}`))
        throw new Error('the request cannot be handed on to the client');
      try {
        const said = await answer;
        onAsked(method, said[0] === 'result');
        return said;
      } catch (error) {
        onAsked(method, false);
        throw new Error(errorText(error), { cause: error });
      }
    },
    heard() {
      if (queued.length > 0) return Promise.resolve();
      return (heard ??= new Promise((resolve) => (wake = resolve)));
    },
    waiting: () => queued.length > 0,
    take() {
      const taken = queued;
      queued = [];
      return taken;
    },
  };
}
