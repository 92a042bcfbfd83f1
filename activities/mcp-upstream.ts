import { randomUUID } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { request as undiciRequest } from 'undici';
import { SESSION_CAPABILITIES } from '../contracts/call.js';
import type { Json, JsonObject } from '../contracts/json.js';
import { callText, controlText, type OutgoingCall, outgoingCall, outgoingControl } from '../domain/mcp/outgoing.js';
import { paramHeaders } from '../domain/mcp/param-headers.js';
import { errorText } from '../domain/errors.js';
import { membersOf, objectText, replyIn } from '../domain/mcp/reply.js';
import { STATELESS_VERSION } from '../domain/mcp/stateless.js';
import { ACKNOWLEDGED, isWanted, LISTEN_METHOD, promisedLists, unstamped } from '../domain/mcp/subscriptions.js';
import { ASKED_OF_CLIENTS, type Listener } from '../domain/upstream/call-talks.js';
import type { Upstream, UpstreamCaller, UpstreamOutcome } from '../domain/upstream/upstream.js';
import { within } from '../domain/within.js';
import type { ExpectedServer } from '../domain/identity/revocation-mirror.js';
import {
  answerToServer,
  cancelledText,
  everyLogText,
  INITIALIZED_TEXT,
  type Introduction,
  introductionFor,
  introductionIn,
  introductionText,
} from './mcp-handshake.js';
import { ExpectingAgent, type TlsFiles } from './clients/expected-server.js';
import { type Credentials, CredentialsMissing } from './upstream-credentials.js';
import { keptSubscriptions } from './kept-subscriptions.js';
import { type Posted, post } from './one-post.js';
import { methodOf, type ServerMessage, serverMessagesIn } from './server-messages.js';
import {
  discovered,
  inputRequiredIn,
  listedParams,
  type NextRound,
  nextRound,
  statelessMessage,
} from './stateless-server.js';
import { isOfGateway, unknownBehind, unknownOutcome } from './unknown-outcome.js';
import { causeText, surelyNotSent } from './clients/unsent.js';
import { agentKey, sessionsInMemory, type UpstreamSession, type UpstreamSessions } from './upstream-sessions.js';

export interface McpUpstreamOptions {
  readonly url: string;
  /** Sent as `Authorization: Bearer`; the agent's own credentials never go upstream. */
  readonly apiKey?: string;
  /** Who Gate is to the upstream, where that is more than one key. */
  readonly credentials?: Credentials;
  /**
   * Where the upstream is another Gate: a token that says to it which agent calls this tool, for one request. Rejects where there is none; then nothing
   * is sent.
   */
  readonly actorToken?: ActorTokenOf;
  /** The client certificate, and what proves the upstream, where that is not what every server is proved by; read for each connection. */
  readonly tls?: () => TlsFiles;
  /** Larger answers are not retained: the effect may have happened, so the outcome is unknown. */
  readonly maxResponseBytes?: number;
  /** What its connection has to show now; nothing by default. */
  readonly expected?: (() => ExpectedServer | null) | undefined;
  /** Called with what the server calls itself, name and version, each time that it says so. */
  readonly onIntroduced?: ((name: string) => void) | undefined;
  /** In memory, unless several processes talk to the upstream for the same agents. */
  readonly sessions?: UpstreamSessions;
}

export type ActorTokenOf = (caller: UpstreamCaller, tool: string) => Promise<string>;

interface Limits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly listener?: Listener | null;
  /** Called with the session over which the upstream did as it was asked. */
  readonly onDone?: (session: UpstreamSession) => void;
}
interface Message {
  readonly id: string;
  readonly text: string;
  /** What it repeats in headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The tool that it calls, and whose call it is. */
  readonly calls?: { readonly caller: UpstreamCaller; readonly tool: string };
}

const OPENING_LIMIT_MS = 10_000;
const ASIDE_LIMIT_MS = 5_000;
const GOODBYE_LIMIT_MS = 1_000;
/** How long a session's first request waits until its log messages are asked for. */
const LOGS_LIMIT_MS = 1_000;
/** How long a server may take to say whether it speaks the revision without sessions. */
const DISCOVER_LIMIT_MS = 2_000;
/** How often a server may ask its client something in one call. */
const MAX_ROUNDS = 16;
/** How long a list of tools may take that is asked for because a call lacked what it says. */
const LISTED_LIMIT_MS = 5_000;
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
  actorToken,
  tls,
  maxResponseBytes = 10_000_000,
  expected = () => null,
  onIntroduced = () => undefined,
  sessions = sessionsInMemory(),
}: McpUpstreamOptions): Upstream {
  const dispatcher = new ExpectingAgent(expected, {
    connect: { timeout: 5_000 },
    files: tls,
    // Below the time that servers keep idle connections (Node and uvicorn: 5 s). A request on a connection that the other side has just
    // closed is lost, and it is unknown whether it ran.
    keepAliveTimeout: 4_000,
  });
  /** Requests that wait for credentials now. */
  let waiting = 0;
  const noneInTime = () => new CredentialsMissing('none came in time');
  async function credentialsWithin(limitMs: number): Promise<Readonly<Record<string, string>>> {
    if (!credentials) return {};
    waiting += 1;
    try {
      return await within(Math.max(1, limitMs), credentials.headers(), noneInTime);
    } finally {
      waiting -= 1;
    }
  }
  /** Made for one request, and good for none after it. */
  async function actorHeader(calls: Message['calls'], limitMs: number): Promise<Readonly<Record<string, string>>> {
    if (!actorToken || !calls) return {};
    try {
      return {
        'x-gate-actor-token': await within(Math.max(1, limitMs), actorToken(calls.caller, calls.tool), noneInTime),
      };
    } catch (error) {
      throw error instanceof CredentialsMissing
        ? error
        : new CredentialsMissing(`identity gives no token for its agent: ${errorText(error)}`);
    }
  }
  const headersOf = async (session: UpstreamSession | null, limitMs: number) => ({
    accept: 'application/json, text/event-stream',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(await credentialsWithin(limitMs)),
    ...(session && { 'mcp-protocol-version': session.protocolVersion }),
    ...(session?.id && { 'mcp-session-id': session.id }),
  });

  /** Opened by this process, and nothing was answered over them yet. */
  const unproved = new WeakSet<UpstreamSession>();
  /** The streams that this process reads over a session, which end with it. */
  const streams = new WeakMap<UpstreamSession, Set<AbortController>>();
  const subscriptions = keptSubscriptions();

  /** The agent's next request opens a session, and what listened over this one listens over that. */
  async function giveUp(caller: UpstreamCaller, session: UpstreamSession): Promise<void> {
    await sessions.drop(caller, session);
    for (const stream of streams.get(session) ?? []) stream.abort();
  }

  /** Sends one message over a session and answers what the server asks meanwhile. */
  const say = async (
    session: UpstreamSession | null,
    { id, text, headers: repeated, calls }: Message,
    { listener, ...limits }: Limits,
  ): Promise<Posted> => {
    let answered = 0;
    const asking = new Map<string, AbortController>();
    const untilMs = Date.now() + limits.timeoutMs;
    const headers = {
      ...(await headersOf(session, limits.timeoutMs)),
      ...(await actorHeader(calls, untilMs - Date.now())),
      ...repeated,
    };
    const answer = await post({
      ...limits,
      timeoutMs: untilMs - Date.now(),
      url,
      text,
      dispatcher,
      headers,
      maxBytes: maxResponseBytes,
      isAnswer(message) {
        if (message.get('id') === JSON.stringify(id) && !message.has('method')) return true;
        if (listener && handedOn(message, id, listener)) return false;
        if (listener && mayAsk(message) && (answered += 1) <= MAX_ANSWERS_TO_SERVER) {
          const givenUp = new AbortController();
          asking.set(message.get('id') as string, givenUp);
          // Who gives a question up is to hear no answer to it.
          void askedOfClient(message, listener, limits.timeoutMs, givenUp.signal).then(
            (answer) => givenUp.signal.aborted || aside(session, answer),
          );
          return false;
        }
        asking.get(cancelledIn(message) ?? '')?.abort(new Error('the tool gave its question up'));
        const answer = answerToServer(message);
        if (answer !== null && (answered += 1) <= MAX_ANSWERS_TO_SERVER) aside(session, answer);
        return false;
      },
    });
    if (answer.kind === 'refused' && answer.status === 401) credentials?.refused(headers);
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
    if (
      answer.kind === 'refused' ? answer.message !== null : answer.kind === 'message' && answer.message.has('error')
    ) {
      // One that speaks the revision without sessions alone.
      const stateless = await discover(limits());
      if (stateless) return { ...stateless, id: null, stateless: true };
    }
    if (answer.kind === 'refused') throw new SessionRefused('initialize', answer.status);
    const reply = answer.kind === 'message' ? replyIn(answer.message, id, id) : null;
    if (answer.kind !== 'message' || !reply) throw new Error('initialize was not answered');
    const given = answer.headers['mcp-session-id'];
    const stateless = typeof given !== 'string' && (await discover(limits())) !== null;
    const session: UpstreamSession = {
      ...introductionIn(reply.text),
      id: typeof given === 'string' ? given : null,
      ...(stateless && { stateless }),
    };
    const told = await say(session, { id: randomUUID(), text: INITIALIZED_TEXT }, limits());
    if (told.kind === 'refused') throw new SessionRefused('notifications/initialized', told.status);
    await askForLogs(session);
    unproved.add(session);
    return session;
  }

  /**
   * What a server says in the revision without sessions; `null` where it does not speak it. Asked where it opens no session: only then could it ask
   * a client nothing in a revision with them.
   */
  async function discover({ timeoutMs }: { readonly timeoutMs: number }): Promise<Introduction | null> {
    const message = statelessMessage(randomUUID(), { method: 'server/discover', params: {} });
    try {
      const answer = await say(null, message, { timeoutMs: Math.min(timeoutMs, DISCOVER_LIMIT_MS) });
      return answer.kind === 'message' ? discovered(answer.message) : null;
    } catch (error) {
      if (error instanceof CredentialsMissing) throw error;
      return null;
    }
  }

  /** Once in a session. A server that refuses, or does not answer, sends the log messages that it likes. */
  async function askForLogs(session: UpstreamSession): Promise<void> {
    if (session.capabilities['logging'] === undefined) return;
    const id = randomUUID();
    await say(session, { id, text: everyLogText(id) }, { timeoutMs: LOGS_LIMIT_MS }).catch(() => undefined);
  }

  /** The agent's session, if it opens in time. A session that opens too late is kept for the next call. */
  async function sessionBy(untilMs: number, caller: UpstreamCaller): Promise<UpstreamSession> {
    const late = new AbortController();
    const session = sessions.of(caller, async () => {
      const opened = await open(caller);
      const { name, version } = opened.serverInfo;
      const said = (text: unknown, longest: number) => (typeof text === 'string' ? text.slice(0, longest) : '');
      onIntroduced(`${said(name, 128)}@${said(version, 64)}`);
      return opened;
    });
    const timeout = after(Math.max(0, untilMs - Date.now()), undefined, { signal: late.signal }).then(() => {
      throw waiting > 0 ? noneInTime() : new Error('the request timed out before one stood');
    });
    try {
      return await Promise.race([session, timeout]);
    } finally {
      late.abort();
      timeout.catch(() => undefined);
    }
  }

  /**
   * Whether the server still knows a session after it refused a request over it. Asks with a ping, which has no effect. `lost`: nobody is
   * there to ask, or it answers 400, as many servers do where the protocol says 404. `unclear`: somebody is, and did not say, because a limit of rates or a credential kept the ping from the server.
   */
  async function standingOf(session: UpstreamSession): Promise<'stands' | 'gone' | 'lost' | 'unclear'> {
    const id = randomUUID();
    const ping = { id, text: controlText(id, { method: 'ping', params: {} }) };
    try {
      const answer = await say(session, ping, { timeoutMs: ASIDE_LIMIT_MS });
      if (answer.kind === 'message') return 'stands';
      if (answer.kind !== 'refused') return 'unclear';
      if (answer.status === 404) return 'gone';
      return answer.status === 400 || isOfGateway(answer.status) ? 'lost' : 'unclear';
    } catch (error) {
      return error instanceof CredentialsMissing ? 'unclear' : 'lost';
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
    of: Message | ((session: UpstreamSession) => Message | null),
    { timeoutMs, signal, listener, onDone }: Limits,
  ): Promise<UpstreamOutcome> {
    const untilMs = Date.now() + timeoutMs;
    for (let tried = 1; ; tried += 1) {
      let session: UpstreamSession;
      try {
        session = await sessionBy(untilMs, caller);
      } catch (error) {
        return noSession(error, 'no session with the upstream: ');
      }
      const message = typeof of === 'function' ? of(session) : of;
      if (message === null)
        return unknownOutcome('the session with the upstream is another one than the one it asked in');
      let answer: Posted;
      try {
        answer = await say(session, message, {
          timeoutMs: untilMs - Date.now(),
          ...(signal && { signal }),
          ...(listener && { listener }),
        });
      } catch (error) {
        if (error instanceof CredentialsMissing) return noSession(error);
        if (surelyNotSent(error)) {
          await giveUp(caller, session);
          return { kind: 'not_sent', reason: causeText(error) };
        }
        aside(session, cancelledText(message.id));
        return unknownOutcome(`the upstream gave no answer: ${causeText(error)}`, error);
      }
      if (answer.kind === 'accepted') return unknownOutcome('the upstream answered without a body');
      if (answer.kind === 'message') {
        unproved.delete(session);
        const reply = replyIn(answer.message, message.id, callersId);
        if (reply && !reply.failed) onDone?.(session);
        if (reply) return { kind: 'reply', statusCode: 200, ...reply };
        return unknownOutcome('the upstream answered with neither a result nor an error');
      }
      // Many servers answer 400 where the protocol says 404. Such a call is not sent again, but the next one gets a new session.
      const ofTheRequest = answer.message?.get('id') === JSON.stringify(message.id);
      const said =
        session.stateless && answer.status >= 400 && answer.message
          ? replyIn(answer.message, message.id, callersId)
          : null;
      if (said && SAID_BY_HTTP_TOO.has(answer.status)) return { kind: 'reply', statusCode: 200, ...said };
      if (said) return { kind: 'reply', statusCode: answer.status, ...said, failed: true };
      if (session.id !== null && (answer.status === 404 || answer.status === 400)) {
        const standing = await standingOf(session);
        if (standing === 'gone' || standing === 'lost') await giveUp(caller, session);
        const surelyUnseen = answer.status === 404 && standing === 'gone' && !ofTheRequest && !unproved.has(session);
        if (tried === 1 && surelyUnseen) continue;
      }
      if (!isOfGateway(answer.status) || ofTheRequest) return httpRefusal(callersId, answer);
      // Where nothing runs behind the gateway any more, the next call opens a session first: its failure sends nothing.
      void standingOf(session)
        .then((standing) => (standing === 'gone' || standing === 'lost' ? giveUp(caller, session) : undefined))
        .catch(() => undefined);
      return unknownBehind(answer.status);
    }
  }

  /**
   * Subscribes over this session to what the agent subscribed to over an earlier one. A resource may have changed while nobody was told of it,
   * so its listener is told that now.
   */
  async function subscribeAgain(
    caller: UpstreamCaller,
    session: UpstreamSession,
    listener: Listener,
    signal: AbortSignal,
  ): Promise<void> {
    const { resources } = listener;
    // Where they cannot be read now, those that this process was told of are subscribed to.
    const wanted = await resources?.of().catch(() => null);
    if (wanted) subscriptions.know(caller, wanted);
    for (const uri of subscriptions.notOver(caller, session)) {
      if (signal.aborted) return;
      if (!subscriptions.has(caller, uri)) continue;
      // One that is not answered, or refused for now, is asked for again when the stream is opened again.
      const answer = await say(session, aboutResource('resources/subscribe', uri), {
        timeoutMs: ASIDE_LIMIT_MS,
      }).catch(() => null);
      // Its agent did not want it any more while it was asked for.
      if (resources) await resources.askedFor(uri).catch(() => undefined);
      else if (!subscriptions.has(caller, uri)) aside(session, aboutResource('resources/unsubscribe', uri).text);
      if (answer && isAnswered(answer) && subscriptions.has(caller, uri)) subscriptions.keep(caller, uri, session);
      if (answer?.kind === 'message' && answer.message.has('result') && subscriptions.has(caller, uri))
        listener.told('notifications/resources/updated', JSON.stringify({ uri }));
    }
  }

  /** The subscriptions of an agent to a resource that are not answered yet, and whether its client ended them since. */
  const subscribing = new Map<string, { open: number; ended: boolean }>();
  /** Subscribes in the agent's name. Whoever unsubscribes meanwhile has the last word. */
  async function subscribed(
    caller: UpstreamCaller,
    uri: string,
    send: (onDone: (session: UpstreamSession) => void) => Promise<UpstreamOutcome>,
  ): Promise<UpstreamOutcome> {
    const key = resourceKey(caller, uri);
    const asked = subscribing.get(key) ?? { open: 0, ended: false };
    asked.open += 1;
    subscribing.set(key, asked);
    try {
      return await send((session) => {
        if (!asked.ended) subscriptions.keep(caller, uri, session);
        else if (!subscribing.has(key) && !subscriptions.has(caller, uri))
          aside(session, aboutResource('resources/unsubscribe', uri).text);
      });
    } finally {
      asked.open -= 1;
      if (asked.open === 0 && subscribing.get(key) === asked) subscribing.delete(key);
    }
  }
  function unsubscribed(caller: UpstreamCaller, uri: string): void {
    const key = resourceKey(caller, uri);
    const asked = subscribing.get(key);
    if (asked) asked.ended = true;
    subscribing.delete(key);
    subscriptions.drop(caller, uri);
  }

  /** Hands on what the upstream says outside of calls over the session that stands; ends with the session, if not before. */
  async function hear(
    caller: UpstreamCaller,
    listener: Listener,
    signal: AbortSignal,
  ): Promise<'ended' | 'session given up'> {
    const session = await sessionBy(Date.now() + OPENING_LIMIT_MS, caller);
    const over = new AbortController();
    const open = streams.get(session) ?? new Set();
    streams.set(session, open.add(over));
    const either = AbortSignal.any([signal, over.signal]);
    try {
      return await (session.stateless
        ? hearOfLists(session, listener, either)
        : hearSession(caller, session, listener, either));
    } catch (error) {
      if (over.signal.aborted && !signal.aborted) return 'session given up';
      throw error;
    } finally {
      open.delete(over);
    }
  }

  /** The stream that answers a request, however long it takes; `null` where the answer is none. */
  async function streamOf(
    session: UpstreamSession,
    asked: { readonly method: 'GET' } | { readonly method: 'POST'; readonly message: Message },
    signal: AbortSignal,
  ) {
    const { statusCode, headers, body } = await undiciRequest(url, {
      method: asked.method,
      headers: {
        ...(await headersOf(session, OPENING_LIMIT_MS)),
        ...(asked.method === 'GET'
          ? { accept: 'text/event-stream' }
          : { 'content-type': 'application/json', ...asked.message.headers }),
      },
      ...(asked.method === 'POST' && { body: asked.message.text }),
      dispatcher,
      headersTimeout: 0,
      bodyTimeout: 0,
      signal,
    });
    body.on('error', () => undefined);
    const isStream = statusCode === 200 && String(headers['content-type']).startsWith('text/event-stream');
    if (!isStream) body.destroy();
    const messages = () => serverMessagesIn(body as AsyncIterable<Buffer>, { maxBytes: maxResponseBytes, signal });
    return { statusCode, messages: isStream ? messages : null };
  }

  async function hearSession(
    caller: UpstreamCaller,
    session: UpstreamSession,
    listener: Listener,
    signal: AbortSignal,
  ): Promise<'ended'> {
    const { statusCode, messages } = await streamOf(session, { method: 'GET' }, signal);
    if (!messages) {
      // A session that another process found to be gone, or nobody used since: it is opened anew when it is listened again.
      if (statusCode === 404 && session.id !== null && (await standingOf(session)) === 'gone')
        await giveUp(caller, session);
      return 'ended';
    }
    listener.opened?.();
    void subscribeAgain(caller, session, listener, signal);
    let asked = 0;
    for await (const message of messages()) {
      if (!message) continue;
      if (announced(message, listener)) continue;
      if (mayAsk(message) && (asked += 1) <= MAX_ANSWERS_TO_SERVER) {
        void askedOfClient(message, listener, ASKED_LIMIT_MS).then((answer) => aside(session, answer));
        continue;
      }
      const answer = answerToServer(message);
      if (answer !== null) aside(session, answer);
    }
    return 'ended';
  }

  /** What a server of the revision without sessions says outside of calls: changes of its lists, which it is asked for. */
  async function hearOfLists(session: UpstreamSession, listener: Listener, signal: AbortSignal): Promise<'ended'> {
    const notifications = promisedLists(session.capabilities);
    if (!notifications) return 'ended';
    const message = statelessMessage(randomUUID(), {
      method: LISTEN_METHOD,
      params: { notifications: notifications as JsonObject },
    });
    const { messages } = await streamOf(session, { method: 'POST', message }, signal);
    if (!messages) return 'ended';
    for await (const said of messages()) {
      if (!said) continue;
      if (said.has('id')) return 'ended';
      const [method, params] = [methodOf(said), said.get('params') ?? '{}'];
      if (method === ACKNOWLEDGED) listener.opened?.();
      else if (isWanted(notifications, method, params)) listener.told(method, unstamped(params));
    }
    return 'ended';
  }

  const params = listedParams();

  /** A call over this session, in the revision that it stands for. */
  function callOver(
    session: UpstreamSession,
    caller: UpstreamCaller,
    call: OutgoingCall,
    { listener, round }: { readonly listener?: Listener | null | undefined; readonly round: NextRound },
  ): Message {
    const id = randomUUID();
    const mirrored = call.method === 'tools/call' ? params.of(caller, call.params['name']) : [];
    const progress = listener?.progress ?? false;
    const { name } = call.params;
    const isCall = call.method === 'tools/call' && typeof name === 'string';
    const calls = isCall && { calls: { caller, tool: name } };
    if (session.stateless) {
      const can = caller.client_can ?? [];
      return { ...statelessMessage(id, call, { can, progress, logs: Boolean(listener), round, mirrored }), ...calls };
    }
    const given = (call.params['arguments'] ?? {}) as JsonObject;
    return { id, text: callText(id, call, progress), headers: paramHeaders(mirrored, given), ...calls };
  }

  /** Lists the tools for what a call of this agent must repeat in headers. */
  async function learnParams(caller: UpstreamCaller, timeoutMs: number): Promise<void> {
    const untilMs = Date.now() + Math.min(timeoutMs, LISTED_LIMIT_MS);
    let cursor: string | null = null;
    for (let pages = 0; pages < MAX_LIST_PAGES; pages += 1) {
      const request = { method: 'tools/list', params: cursor === null ? {} : { cursor } };
      const reply = await controlled(caller, request, { timeoutMs: Math.max(1, untilMs - Date.now()) });
      const result = reply.kind === 'reply' ? membersOf(membersOf(reply.text)?.get('result') ?? '') : null;
      const next: unknown = JSON.parse(result?.get('nextCursor') ?? 'null');
      if (typeof next !== 'string') return;
      cursor = next;
    }
  }

  /** A control method that is a request, in the revision of the session. */
  async function controlled(
    caller: UpstreamCaller,
    request: JsonObject,
    limits: Pick<Limits, 'timeoutMs' | 'onDone'>,
  ): Promise<UpstreamOutcome> {
    const id = randomUUID();
    const control = outgoingControl(request);
    const message = ({ stateless, protocolVersion }: UpstreamSession): Message =>
      stateless && protocolVersion === STATELESS_VERSION
        ? statelessMessage(id, control)
        : { id, text: controlText(id, control) };
    const reply = await send(caller, request['id'], message, limits);
    if (control.method === 'tools/list' && reply.kind === 'reply' && !reply.failed) params.heard(caller, reply.text);
    return reply;
  }

  return {
    async callTool(caller, request, limits) {
      const untilMs = Date.now() + limits.timeoutMs;
      const call = outgoingCall(request);
      let round: NextRound = {};
      let learned = false;
      let statelessly = false;
      let hasAsked = false;
      const stopped = () => limits.fault?.() ?? null;
      for (let rounds = 0; ; rounds += 1) {
        const fault = rounds > 0 ? stopped() : null;
        if (fault !== null) return brokenOff(request['id'], fault);
        const outcome = await send(
          caller,
          request['id'],
          (session) => {
            statelessly = session.stateless === true;
            // Where a session has to be opened anew in an older revision, the call would begin from the start.
            if (hasAsked && !statelessly) return null;
            return callOver(session, caller, call, { listener: limits.listener, round });
          },
          { ...limits, timeoutMs: Math.max(1, untilMs - Date.now()) },
        );
        // What was asked for before may have done something.
        if (outcome.kind === 'not_sent' && rounds > 0) return unknownOutcome(`the call broke off: ${outcome.reason}`);
        if (outcome.kind !== 'reply' || !statelessly) return outcome;
        if (!learned && saysHeadersDiffer(outcome.text)) {
          // By the protocol nothing was done: the tool wants headers that the last list did not say.
          learned = true;
          await learnParams(caller, untilMs - Date.now()).catch(() => undefined);
          continue;
        }
        const asked = inputRequiredIn(outcome.text);
        if (!asked) return outcome;
        const next =
          rounds < MAX_ROUNDS
            ? await nextRound(asked, caller, limits.listener, untilMs - Date.now())
            : { fault: `the tool asked more than ${MAX_ROUNDS} times` };
        if ('fault' in next) return unasked(request['id'], next.fault);
        round = next;
        hasAsked = true;
      }
    },

    async control(caller, request, limits) {
      if (request['method'] !== 'initialize') {
        const { method, params: sentParams } = outgoingControl(request);
        const { uri } = sentParams;
        const of = typeof uri === 'string' ? uri : null;
        if (method === 'resources/unsubscribe' && of !== null) unsubscribed(caller, of);
        const sent = (onDone?: (session: UpstreamSession) => void) =>
          controlled(caller, request, { ...limits, ...(onDone && { onDone }) });
        return method === 'resources/subscribe' && of !== null ? subscribed(caller, of, sent) : sent();
      }
      try {
        // Gate keeps the session with the upstream; the agent is told what that session negotiated.
        const text = introductionFor(request, await sessionBy(Date.now() + limits.timeoutMs, caller), true);
        return { kind: 'reply', statusCode: 200, text, failed: false };
      } catch (error) {
        return noSession(error);
      }
    },

    async listen(caller, listener, signal) {
      // A session that is given up takes its stream with it; what is said from then on is said over the next one.
      while (!signal.aborted) if ((await hear(caller, listener, signal)) === 'ended') return;
    },

    awaitsCredentials: () => waiting > 0,

    async close() {
      const goodbye = async (session: UpstreamSession) => {
        if (session.id === null) return;
        const headers = await headersOf(session, GOODBYE_LIMIT_MS);
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

/**
 * The statuses that MCP 2026-07-28 gives some errors of JSON-RPC, which say something of the request. Every other one says how the server is, or who
 * is before it.
 */
const SAID_BY_HTTP_TOO: ReadonlySet<number> = new Set([400, 404]);
/** More pages of a list are not asked for. */
const MAX_LIST_PAGES = 100;
/** MCP 2026-07-28: the headers of a request do not say what its body does. */
const HEADERS_DIFFER = '-32020';
const saysHeadersDiffer = (reply: string): boolean =>
  membersOf(membersOf(reply)?.get('error') ?? '')?.get('code') === HEADERS_DIFFER;

/** The tool waits to be asked again and is not: it goes no further with this call. */
const ended = (id: Json | undefined, why: string): UpstreamOutcome => ({
  kind: 'reply',
  statusCode: 200,
  text: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code: -32_603, message: `Gate: ${why}` } }),
  failed: true,
});
/** It wanted to be told something, was not, and said so. */
const unasked = (id: Json | undefined, fault: string): UpstreamOutcome =>
  ended(id, `the tool asked its client something and was not answered: ${fault}`);
const brokenOff = (id: Json | undefined, fault: string): UpstreamOutcome =>
  ended(id, `the call was broken off between two requests of it: ${fault}`);

const aboutResource = (method: string, uri: string): Message => {
  const id = randomUUID();
  return { id, text: controlText(id, { method, params: { uri } }) };
};
const resourceKey = (caller: UpstreamCaller, uri: string): string => JSON.stringify([agentKey(caller), uri]);

/** Whether a server said what it thinks of a request: not where it, or who is before it, answers nothing for now. */
const isAnswered = (answer: Posted): boolean =>
  answer.kind === 'message' ||
  (answer.kind === 'refused' &&
    answer.status >= 400 &&
    answer.status < 500 &&
    answer.status !== 401 &&
    answer.status !== 429);

/** The server, or who limits rates before it, answered what opens a session with a status. */
class SessionRefused extends Error {
  constructor(
    method: string,
    readonly status: number,
  ) {
    const forNow = isForNow(status) ? 'refused a session for now' : 'refused a session';
    super(`the upstream ${forNow}: ${method} was answered with HTTP ${status}`);
  }
}

/** Too many requests of this client, or no place for it now (RFC 6585, RFC 9110): others may be served meanwhile. */
const isForNow = (status: number): boolean => status === 429 || status === 503;

/** No session stands, so nothing was sent. */
const noSession = (error: unknown, before = ''): UpstreamOutcome & { kind: 'not_sent' } => {
  if (error instanceof SessionRefused && isForNow(error.status))
    return { kind: 'not_sent', reason: error.message, refused: true };
  if (error instanceof CredentialsMissing) return { kind: 'not_sent', reason: error.message, noCredentials: true };
  return { kind: 'not_sent', reason: `${before}${causeText(error)}` };
};

/** Hands on what the upstream says of this call, and of no other one. */
function handedOn(message: ServerMessage, id: string, listener: Listener): boolean {
  const params = message.get('params');
  if (message.has('id') || params === undefined) return false;
  switch (methodOf(message)) {
    case 'notifications/progress':
      if (!listener.progress || membersOf(params)?.get('progressToken') !== JSON.stringify(id)) return false;
      listener.told('notifications/progress', params);
      return true;
    case 'notifications/message':
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

function mayAsk(message: ServerMessage): boolean {
  const capability = ASKED_OF_CLIENTS.get(methodOf(message));
  return (
    message.has('id') && message.has('params') && capability !== undefined && SESSION_CAPABILITIES.includes(capability)
  );
}

/** The id of its own request that an upstream takes back; `null` in every other message. */
const cancelledIn = (message: ServerMessage): string | null =>
  methodOf(message) === 'notifications/cancelled' && !message.has('id')
    ? (membersOf(message.get('params') ?? '')?.get('requestId') ?? null)
    : null;

/** The client's answer to a request of the upstream, under the upstream's id; a client that does not answer is an error of its own. */
async function askedOfClient(
  message: ServerMessage,
  listener: Listener,
  timeoutMs: number,
  givenUp?: AbortSignal,
): Promise<string> {
  const answer = (member: string, text: string) =>
    objectText([
      ['jsonrpc', '"2.0"'],
      ['id', message.get('id') as string],
      [member, text],
    ]);
  try {
    const params = message.get('params') as string;
    const of = givenUp && { givenUp };
    return answer(...(await listener.asked(methodOf(message), params, timeoutMs, undefined, of)));
  } catch (error) {
    return answer('error', JSON.stringify({ code: -32_603, message: `Gate: ${errorText(error)}` }));
  }
}

/** An HTTP answer of the upstream is a result, even a refusal: it took the request and answered. A redirect is not followed. */
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
