import { randomUUID } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { Agent, request as undiciRequest } from 'undici';
import { upTo } from '../../adapters/outbound/body.js';
import type { Json } from '../../contracts/json.js';
import { callText, controlText, outgoingCall, outgoingControl } from '../../domain/mcp/outgoing.js';
import { errorText } from '../../domain/errors.js';
import { membersOf, objectText, replyIn } from '../../domain/mcp/reply.js';
import { ASKED_OF_CLIENTS, type Listener } from '../../domain/pipeline/call-talks.js';
import type { Upstream, UpstreamCaller, UpstreamOutcome } from '../../domain/pipeline/upstream.js';
import {
  answerToServer,
  cancelledText,
  INITIALIZED_TEXT,
  introductionFor,
  introductionIn,
  introductionText,
} from './mcp-handshake.js';
import { type Credentials, CredentialsMissing } from './credentials.js';
import { messagesIn } from './event-stream.js';
import { type Posted, post } from './one-post.js';
import { unknownOutcome } from './unknown-outcome.js';
import { causeText, connectorThatTells, surelyNotSent } from './unsent.js';
import { sessionsInMemory, type UpstreamSession, type UpstreamSessions } from './upstream-sessions.js';

export interface McpUpstreamOptions {
  readonly url: string;
  /** Sent as `Authorization: Bearer`; the agent's own credentials never go upstream. */
  readonly apiKey?: string;
  /** Who Gate is to the upstream, where that is more than one key. */
  readonly credentials?: Credentials;
  /** Larger answers are not retained: the effect may have happened, so the outcome is unknown. */
  readonly maxResponseBytes?: number;
  /** In memory, unless several processes talk to the upstream for the same agents. */
  readonly sessions?: UpstreamSessions;
}

interface Limits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly listener?: Listener | null;
}
interface Message {
  readonly id: string;
  readonly text: string;
}

const OPENING_LIMIT_MS = 10_000;
const ASIDE_LIMIT_MS = 5_000;
const GOODBYE_LIMIT_MS = 1_000;
/** How long a client may take to answer what it is asked outside of a call. */
const ASKED_LIMIT_MS = 60_000;
/** A server should not send requests to a client that declares no capability. If it does, it gets this many answers per request. */
const MAX_ANSWERS_TO_SERVER = 16;

/**
 * The tools of one MCP server over streamable HTTP. One upstream session per agent. Upstream request ids are Gate's own, and the caller's
 * id is put back. JSON and SSE replies both end as one JSON-RPC object with the upstream's own text. Each request is one POST;
 * docs/decisions/own-upstream-client.md says why this is not the client of the MCP SDK.
 */
export function createMcpUpstream({
  url,
  apiKey,
  credentials,
  maxResponseBytes = 10_000_000,
  sessions = sessionsInMemory(),
}: McpUpstreamOptions): Upstream {
  const dispatcher = new Agent({
    connect: connectorThatTells({ timeout: 5_000 }),
    // Below the time that servers keep idle connections (Node and uvicorn: 5 s). A request on a connection that the other side has just
    // closed is lost, and it is unknown whether it ran.
    keepAliveTimeout: 4_000,
  });
  const headersOf = async (session: UpstreamSession | null) => ({
    accept: 'application/json, text/event-stream',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(await credentials?.headers()),
    ...(session && { 'mcp-protocol-version': session.protocolVersion }),
    ...(session?.id && { 'mcp-session-id': session.id }),
  });

  /** Opened by this process, and nothing was answered over them yet. */
  const unproved = new WeakSet<UpstreamSession>();

  /** Sends one message over a session and answers what the server asks meanwhile. */
  const say = async (
    session: UpstreamSession | null,
    { id, text }: Message,
    { listener, ...limits }: Limits,
  ): Promise<Posted> => {
    let answered = 0;
    const answer = await post({
      ...limits,
      url,
      text,
      dispatcher,
      headers: await headersOf(session),
      maxBytes: maxResponseBytes,
      isAnswer(message) {
        if (message.get('id') === JSON.stringify(id) && !message.has('method')) return true;
        if (listener && handedOn(message, id, listener)) return false;
        if (listener && mayAsk(message) && (answered += 1) <= MAX_ANSWERS_TO_SERVER) {
          void askedOfClient(message, listener, limits.timeoutMs).then((answer) => aside(session, answer));
          return false;
        }
        const answer = answerToServer(message);
        if (answer !== null && (answered += 1) <= MAX_ANSWERS_TO_SERVER) aside(session, answer);
        return false;
      },
    });
    if (answer.kind === 'refused' && answer.status === 401) credentials?.refused();
    return answer;
  };
  /** Sends a message without waiting for its answer. */
  const aside = (session: UpstreamSession | null, text: string): void =>
    void say(session, { id: randomUUID(), text }, { timeoutMs: ASIDE_LIMIT_MS }).catch(() => undefined);

  async function open({ client_can: can }: UpstreamCaller): Promise<UpstreamSession> {
    const untilMs = Date.now() + OPENING_LIMIT_MS;
    const limits = () => ({ timeoutMs: untilMs - Date.now() });
    const id = randomUUID();
    const answer = await say(null, { id, text: introductionText(id, undefined, can) }, limits());
    if (answer.kind === 'refused') throw new Error(`initialize was answered with HTTP ${answer.status}`);
    const reply = answer.kind === 'message' ? replyIn(answer.message, id, id) : null;
    if (answer.kind !== 'message' || !reply) throw new Error('initialize was not answered');
    const given = answer.headers['mcp-session-id'];
    const session = { ...introductionIn(reply.text), id: typeof given === 'string' ? given : null };
    const told = await say(session, { id: randomUUID(), text: INITIALIZED_TEXT }, limits());
    if (told.kind === 'refused') throw new Error(`notifications/initialized was answered with HTTP ${told.status}`);
    unproved.add(session);
    return session;
  }

  /** The agent's session, if it opens in time. A session that opens too late is kept for the next call. */
  async function sessionBy(untilMs: number, caller: UpstreamCaller): Promise<UpstreamSession> {
    const late = new AbortController();
    const session = sessions.of(caller, () => open(caller));
    const timeout = after(Math.max(0, untilMs - Date.now()), undefined, { signal: late.signal }).then(() => {
      throw new Error('the request timed out before one stood');
    });
    try {
      return await Promise.race([session, timeout]);
    } finally {
      late.abort();
      timeout.catch(() => undefined);
    }
  }

  /** Whether the server still knows a session after it refused a request over it. Asks with a ping, which has no effect. */
  async function standingOf(session: UpstreamSession): Promise<'stands' | 'gone' | 'unclear'> {
    const id = randomUUID();
    const ping = { id, text: controlText(id, { method: 'ping', params: {} }) };
    try {
      const answer = await say(session, ping, { timeoutMs: ASIDE_LIMIT_MS });
      if (answer.kind === 'message') return 'stands';
      return answer.kind === 'refused' && answer.status === 404 ? 'gone' : 'unclear';
    } catch {
      return 'unclear';
    }
  }

  /**
   * Sends a message over the agent's session once. It is sent a second time only if the first certainly reached no tool: the request named
   * a session, the answer is the protocol's 404 and not an answer to the request itself, and a ping over the session also gets 404. A
   * server that forgets a session before it was ever used does not get a call twice either.
   */
  async function send(
    caller: UpstreamCaller,
    callersId: Json | undefined,
    message: Message,
    { timeoutMs, signal, listener }: Limits,
  ): Promise<UpstreamOutcome> {
    const untilMs = Date.now() + timeoutMs;
    for (let tried = 1; ; tried += 1) {
      let session: UpstreamSession;
      try {
        session = await sessionBy(untilMs, caller);
      } catch (error) {
        return { kind: 'not_sent', reason: `no session with the upstream: ${causeText(error)}` };
      }
      let answer: Posted;
      try {
        answer = await say(session, message, {
          timeoutMs: untilMs - Date.now(),
          ...(signal && { signal }),
          ...(listener && { listener }),
        });
      } catch (error) {
        if (error instanceof CredentialsMissing) return { kind: 'not_sent', reason: error.message };
        if (surelyNotSent(error)) {
          await sessions.drop(caller, session);
          return { kind: 'not_sent', reason: causeText(error) };
        }
        aside(session, cancelledText(message.id));
        return unknownOutcome(`the upstream gave no answer: ${causeText(error)}`, error);
      }
      if (answer.kind === 'accepted') return unknownOutcome('the upstream answered without a body');
      if (answer.kind === 'message') {
        unproved.delete(session);
        const reply = replyIn(answer.message, message.id, callersId);
        if (reply) return { kind: 'reply', statusCode: 200, ...reply };
        return unknownOutcome('the upstream answered with neither a result nor an error');
      }
      // Many servers answer 400 where the protocol says 404. Such a call is not sent again, but the next one gets a new session.
      if (session.id !== null && (answer.status === 404 || answer.status === 400)) {
        const standing = await standingOf(session);
        if (standing !== 'stands') await sessions.drop(caller, session);
        const ofTheRequest = answer.message?.get('id') === JSON.stringify(message.id);
        const surelyUnseen = answer.status === 404 && standing === 'gone' && !ofTheRequest && !unproved.has(session);
        if (tried === 1 && surelyUnseen) continue;
      }
      return httpRefusal(callersId, answer);
    }
  }

  return {
    callTool(caller, request, limits) {
      const id = randomUUID();
      const text = callText(id, outgoingCall(request), limits.listener?.progress);
      return send(caller, request['id'], { id, text }, limits);
    },

    async control(caller, request, limits) {
      if (request['method'] !== 'initialize') {
        const id = randomUUID();
        return send(caller, request['id'], { id, text: controlText(id, outgoingControl(request)) }, limits);
      }
      try {
        // Gate keeps the session with the upstream; the agent is told what that session negotiated.
        const text = introductionFor(request, await sessionBy(Date.now() + limits.timeoutMs, caller), true);
        return { kind: 'reply', statusCode: 200, text, failed: false };
      } catch (error) {
        return { kind: 'not_sent', reason: causeText(error) };
      }
    },

    async listen(caller, listener, signal) {
      const session = await sessionBy(Date.now() + OPENING_LIMIT_MS, caller);
      const { statusCode, headers, body } = await undiciRequest(url, {
        method: 'GET',
        headers: { ...(await headersOf(session)), accept: 'text/event-stream' },
        dispatcher,
        headersTimeout: 0,
        bodyTimeout: 0,
        signal,
      });
      body.on('error', () => undefined);
      if (statusCode !== 200 || !String(headers['content-type']).startsWith('text/event-stream'))
        return void body.destroy();
      let asked = 0;
      for await (const data of messagesIn(upTo(maxResponseBytes, body as AsyncIterable<Buffer>))) {
        const message = membersOf(data);
        if (!message) continue;
        if (announced(message, listener)) continue;
        if (mayAsk(message) && (asked += 1) <= MAX_ANSWERS_TO_SERVER) {
          void askedOfClient(message, listener, ASKED_LIMIT_MS).then((answer) => aside(session, answer));
          continue;
        }
        const answer = answerToServer(message);
        if (answer !== null) aside(session, answer);
      }
    },

    async close() {
      const goodbye = async (session: UpstreamSession) => {
        if (session.id === null) return;
        const headers = await headersOf(session);
        const { body } = await undiciRequest(url, { method: 'DELETE', headers, dispatcher });
        await body.dump();
      };
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        sessions.own().then((own) => Promise.allSettled(own.map(goodbye))),
        new Promise((resolve) => {
          timer = setTimeout(resolve, GOODBYE_LIMIT_MS);
        }),
      ]);
      clearTimeout(timer);
      await credentials?.close();
      await dispatcher.destroy().catch(() => undefined);
    },
  };
}

type ServerMessage = ReadonlyMap<string, string>;

/** Hands on what the upstream says of this call, and of no other one. */
function handedOn(message: ServerMessage, id: string, listener: Listener): boolean {
  const params = message.get('params');
  if (message.has('id') || params === undefined) return false;
  switch (message.get('method')) {
    case '"notifications/progress"':
      if (!listener.progress || membersOf(params)?.get('progressToken') !== JSON.stringify(id)) return false;
      listener.told('notifications/progress', params);
      return true;
    case '"notifications/message"':
      listener.told('notifications/message', params);
      return true;
    default:
      return false;
  }
}

/** What an upstream may say outside of calls. */
const ANNOUNCED: ReadonlySet<string> = new Set([
  'notifications/message',
  'notifications/resources/updated',
  'notifications/resources/list_changed',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
]);

function announced(message: ServerMessage, listener: Listener): boolean {
  const method = methodOf(message);
  if (message.has('id') || !ANNOUNCED.has(method)) return false;
  listener.told(method, message.get('params') ?? '{}');
  return true;
}

const methodOf = (message: ServerMessage): string => JSON.parse(message.get('method') ?? '""') as string;

const mayAsk = (message: ServerMessage): boolean =>
  message.has('id') && message.has('params') && ASKED_OF_CLIENTS.has(methodOf(message));

/** The client's answer to a request of the upstream, under the upstream's id; a client that does not answer is an error of its own. */
async function askedOfClient(message: ServerMessage, listener: Listener, timeoutMs: number): Promise<string> {
  const answer = (member: string, text: string) =>
    objectText([
      ['jsonrpc', '"2.0"'],
      ['id', message.get('id') as string],
      [member, text],
    ]);
  try {
    return answer(...(await listener.asked(methodOf(message), message.get('params') as string, timeoutMs)));
  } catch (error) {
    return answer('error', JSON.stringify({ code: -32_603, message: `Gate: ${errorText(error)}` }));
  }
}

/** An HTTP answer is a result, even a refusal: the upstream took the request and answered. A redirect is not followed. */
function httpRefusal(id: Json | undefined, { status, said }: Posted & { kind: 'refused' }): UpstreamOutcome {
  const message = `upstream answered HTTP ${status}${status < 400 ? '; redirects are not followed' : ''}`;
  const error = { code: -32_000, message, ...(said && { data: said }) };
  return {
    kind: 'reply',
    statusCode: status < 400 ? 502 : status,
    text: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error }),
    failed: true,
  };
}
