import { randomUUID } from 'node:crypto';
import { Agent, request as undiciRequest } from 'undici';
import type { JsonObject } from '../contracts/json.js';
import { membersOf } from '../domain/mcp/reply.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import { createJsonUpstream, type JsonUpstreamOptions } from './json-upstream.js';
import { introducesItself, introductionText } from './mcp-handshake.js';
import { createMcpUpstream } from './mcp-upstream.js';
import { NoReply, post } from './one-post.js';
import { discovered, statelessMessage } from './stateless-server.js';
import { causeText, connectorThatTells } from './clients/unsent.js';

/** What was found at the address of the tools, worded for an operator. */
export interface Found {
  /** `unclear`: nothing is sent there until a later check finds out what it is. */
  readonly kind: 'mcp' | 'json' | 'unclear';
  readonly words: string;
}

export interface DetectedUpstream extends Upstream {
  /** Asks the address what it is, unless an earlier answer said so. Never rejects. */
  look(): Promise<Found>;
}

const LOOK_LIMIT_MS = 3_000;
const GOODBYE_LIMIT_MS = 1_000;
/** The server is up but cannot or may not answer now, or a gateway in front of it reports that nothing is running there yet. */
const saysNothing = (status: number) =>
  status < 400 || [401, 403, 404, 405, 407, 408, 429].includes(status) || status >= 500;
/** The same of a method that it may well not know: that it is not found there says something. */
const notNow = (status: number) => status < 400 || [401, 403, 407, 408, 429].includes(status) || status >= 500;
/** JSON-RPC's codes for server errors: a server that is still starting knows the method and fails to run it. */
const failsForNow = (message: ReadonlyMap<string, string>): boolean => {
  const code = Number(membersOf(message.get('error') ?? '')?.get('code') ?? 0);
  return code === -32_603 || (code <= -32_000 && code >= -32_099);
};

/**
 * The tools at an address, whether it speaks MCP or plain JSON-RPC. It is asked with `initialize`, and where it refuses that with `server/discover`,
 * which run nothing. Only an answer that proves one or the other decides, for the life of this client. Until then no call is sent, so that no call is
 * ever sent in both ways.
 */
export function detectUpstream(target: JsonUpstreamOptions): DetectedUpstream {
  const dispatcher = new Agent({ connect: connectorThatTells({ timeout: LOOK_LIMIT_MS }) });
  let known: { readonly found: Found; readonly upstream: Upstream } | undefined;
  let looking: Promise<Found> | undefined;

  const take = (kind: 'mcp' | 'json', words: string): Found => {
    const found = { kind, words };
    known = { found, upstream: kind === 'mcp' ? createMcpUpstream(target) : createJsonUpstream(target) };
    return found;
  };
  const notMcp = (why: string) => take('json', `no MCP server: ${why}; each call is posted as one JSON object`);
  const unclear = (why: string): Found => ({ kind: 'unclear', words: why });

  /**
   * A server of the revision without sessions alone refuses `initialize` in words of its own. `null` where it does not speak that revision either, which
   * only an answer says.
   */
  async function asksWithoutSession(headers: Record<string, string>): Promise<Found | null> {
    const { text, headers: repeated } = statelessMessage(randomUUID(), { method: 'server/discover', params: {} });
    try {
      const answer = await post({
        url: target.url,
        headers: { ...headers, ...repeated },
        text,
        dispatcher,
        timeoutMs: LOOK_LIMIT_MS,
        maxBytes: target.maxResponseBytes ?? 1_000_000,
        isAnswer: (message) => !message.has('method'),
      });
      if (answer.kind === 'accepted') return unclear('answers server/discover with nothing');
      if (answer.kind === 'refused' && (notNow(answer.status) || (answer.message && failsForNow(answer.message))))
        return unclear(`answers HTTP ${answer.status} to server/discover`);
      if (answer.kind === 'refused') return null;
      if (failsForNow(answer.message)) return unclear('fails at server/discover');
      const said = discovered(answer.message);
      return said && take('mcp', nameIn(said.serverInfo));
    } catch (error) {
      return unclear(error instanceof NoReply ? 'answers server/discover with no JSON object' : causeText(error));
    }
  }

  async function ask(): Promise<Found> {
    const headers = {
      accept: 'application/json, text/event-stream',
      ...(target.apiKey && { authorization: `Bearer ${target.apiKey}` }),
    };
    try {
      const answer = await post({
        url: target.url,
        headers,
        text: introductionText(randomUUID()),
        dispatcher,
        timeoutMs: LOOK_LIMIT_MS,
        maxBytes: target.maxResponseBytes ?? 1_000_000,
        isAnswer: (message) => !message.has('method'),
      });
      const isRefused =
        answer.kind === 'refused'
          ? answer.message !== null
          : answer.kind === 'message' && !introducesItself(answer.message);
      const stateless = isRefused ? await asksWithoutSession(headers) : null;
      if (stateless) return stateless;
      if (answer.kind === 'refused')
        return saysNothing(answer.status) || answer.message === null || failsForNow(answer.message)
          ? unclear(`answers HTTP ${answer.status} to initialize (is the path right?)`)
          : notMcp(`it answers HTTP ${answer.status} to initialize`);
      if (answer.kind === 'accepted') return unclear('answers initialize with nothing');
      if (failsForNow(answer.message)) return unclear('fails at initialize');
      if (!introducesItself(answer.message)) return notMcp('it does not know initialize');
      const session = answer.headers['mcp-session-id'];
      if (typeof session === 'string') void goodbye(session, headers);
      return take('mcp', nameIn(infoIn(answer.message)));
    } catch (error) {
      return unclear(error instanceof NoReply ? 'answers initialize with no JSON object' : causeText(error));
    }
  }

  /** The session that this check opened is not used for any agent. */
  async function goodbye(session: string, headers: Record<string, string>): Promise<void> {
    try {
      const { body } = await undiciRequest(target.url, {
        method: 'DELETE',
        headers: { ...headers, 'mcp-session-id': session },
        dispatcher,
        signal: AbortSignal.timeout(GOODBYE_LIMIT_MS),
      });
      await body.dump();
    } catch {
      // A server that refuses this ends the session by itself.
    }
  }

  const look = (): Promise<Found> => {
    if (known) return Promise.resolve(known.found);
    looking ??= ask().finally(() => (looking = undefined));
    return looking;
  };

  async function upstream(): Promise<Upstream | { kind: 'not_sent'; reason: string }> {
    const { words } = await look();
    return (
      known?.upstream ?? {
        kind: 'not_sent',
        reason: `the upstream does not say whether it is an MCP server: ${words}. Is it started? --upstream-adapter says which it is`,
      }
    );
  }

  return {
    look,
    async callTool(caller, request, limits) {
      const found = await upstream();
      return 'callTool' in found ? found.callTool(caller, request, limits) : found;
    },
    async control(caller, request, limits) {
      const found = await upstream();
      return 'control' in found ? found.control(caller, request, limits) : found;
    },
    async listen(caller, listener, signal) {
      const found = await upstream();
      if ('callTool' in found) await found.listen?.(caller, listener, signal);
    },
    async close() {
      await known?.upstream.close();
      await dispatcher.destroy().catch(() => undefined);
    },
  };
}

const infoIn = (message: ReadonlyMap<string, string>): JsonObject =>
  JSON.parse(membersOf(message.get('result') ?? '')?.get('serverInfo') ?? '{}') as JsonObject;

/** The name that the server gives itself. */
function nameIn(info: JsonObject): string {
  const said = (name: string): string => {
    const value = info[name];
    return typeof value === 'string' ? value.slice(0, 60) : '';
  };
  return `MCP server ${said('name')} ${said('version')}`.trim();
}
