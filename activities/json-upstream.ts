import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import type { Json, JsonObject } from '../contracts/json.js';
import { servedCapabilities } from '../domain/mcp/control-methods.js';
import { callText, controlText, outgoingCall, outgoingControl } from '../domain/mcp/outgoing.js';
import { membersOf, objectText, present, saysItFailed } from '../domain/mcp/reply.js';
import type { Upstream, UpstreamOutcome } from '../domain/upstream/upstream.js';
import { introductionText, requestedVersion } from './mcp-handshake.js';
import { type Posted, post } from './one-post.js';
import { isOfGateway, unknownBehind, unknownOutcome } from './unknown-outcome.js';
import { causeText, connectorThatTells, surelyNotSent } from './clients/unsent.js';

export interface JsonUpstreamOptions {
  readonly url: string;
  /** Sent as `Authorization: Bearer`; the agent's own credentials never go upstream. */
  readonly apiKey?: string;
  /** Larger answers are not retained. The effect may have happened, so the outcome is unknown. */
  readonly maxResponseBytes?: number;
}

type Members = ReadonlyMap<string, string>;

/** Tools that take one JSON-RPC request per POST and answer with one JSON object of any content. No session, no redirect, no retry. */
export function createJsonUpstream({ url, apiKey, maxResponseBytes = 10_000_000 }: JsonUpstreamOptions): Upstream {
  const dispatcher = new Agent({ connect: connectorThatTells({ timeout: 5_000 }), keepAliveTimeout: 4_000 });
  const headers = { accept: 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) };

  async function send(
    { id, text }: { readonly id: string; readonly text: string },
    callersId: Json | undefined,
    limits: { timeoutMs: number; signal?: AbortSignal },
    mend: (message: Members) => Members = (message) => message,
  ): Promise<UpstreamOutcome | { kind: 'accepted' }> {
    let answer: Posted;
    try {
      answer = await post({
        ...limits,
        url,
        text,
        dispatcher,
        headers,
        maxBytes: maxResponseBytes,
        isAnswer: () => true,
      });
    } catch (error) {
      const reason = causeText(error);
      return surelyNotSent(error) ? { kind: 'not_sent', reason } : unknownOutcome(reason, error);
    }
    if (answer.kind === 'accepted') return { kind: 'accepted' };
    const { status: statusCode } = answer;
    // A gateway's own words name no request.
    if (isOfGateway(statusCode) && answer.message?.get('id') !== JSON.stringify(id)) return unknownBehind(statusCode);
    const ours = answer.message !== null && isNotOfAnother(answer.message, id);
    if (answer.message && ours) return replyOf(mend(answer.message), statusCode, callersId);
    if (statusCode < 400)
      return unknownOutcome(
        answer.message
          ? 'the upstream answered with the id of another request'
          : 'the upstream answered with something that is no JSON object',
      );
    const error = { code: -32_000, message: `upstream answered HTTP ${statusCode}` };
    return {
      kind: 'reply',
      statusCode,
      text: JSON.stringify({ jsonrpc: '2.0', id: callersId ?? null, error }),
      failed: true,
    };
  }

  return {
    async callTool(_caller, request, limits) {
      const id = randomUUID();
      const outcome = await send({ id, text: callText(id, outgoingCall(request)) }, request['id'], limits);
      return outcome.kind === 'accepted' ? unknownOutcome('the upstream answered without a body') : outcome;
    },
    control(_caller, request, limits) {
      const id = randomUUID();
      if (request['method'] === 'initialize')
        return send(
          { id, text: introductionText(id, requestedVersion(request)) },
          request['id'],
          limits,
          withServedCapabilities,
        );
      return send({ id, text: controlText(id, outgoingControl(request)) }, request['id'], limits);
    },
    close: () => dispatcher.close().catch(() => undefined),
  };
}

/**
 * An answer without an id, or with `null`, belongs to this request, because it is the only one on its connection. Any other id is a wrong
 * answer.
 */
function isNotOfAnother(message: Members, id: string): boolean {
  const given = present(message.get('id'));
  return given === undefined || JSON.parse(given) === id;
}

/** The object under the caller's id. JSON-RPC 1.0 writes a `null` error beside a result; it means nothing and is left out. */
function replyOf(message: Members, statusCode: number, callersId: Json | undefined): UpstreamOutcome {
  const error = present(message.get('error'));
  const nothing = message.has('error') && error === undefined;
  if (nothing && !message.has('result'))
    return unknownOutcome('the upstream answered with neither a result nor an error');
  const result = message.get('result');
  const said = result?.startsWith('{') ? membersOf(result) : new Map<string, string>();
  if (!said) return unknownOutcome('the upstream answered with a result that cannot be read');
  const members = [...message]
    .filter(([name]) => !(name === 'error' && nothing))
    .map(([name, value]) => [name, name === 'id' ? JSON.stringify(callersId ?? null) : value] as const);
  const failed = statusCode >= 300 || error !== undefined || saysItFailed(said);
  return { kind: 'reply', statusCode, text: objectText(members), failed };
}

function withServedCapabilities(message: Members): Members {
  const result = membersOf(message.get('result') ?? '');
  const capabilities = result?.get('capabilities');
  if (!result || capabilities?.startsWith('{') !== true) return message;
  const served = JSON.stringify(servedCapabilities(JSON.parse(capabilities) as JsonObject));
  return new Map(message).set('result', objectText(new Map(result).set('capabilities', served)));
}
