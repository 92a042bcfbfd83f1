import { Agent, request as undiciRequest } from 'undici';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { Upstream, UpstreamOutcome } from '../../domain/pipeline/upstream.js';
import { causeText, connectorThatTells, surelyNotSent } from './unsent.js';

export interface JsonUpstreamOptions {
  readonly url: string;
  /** Sent as `Authorization: Bearer`; the agent's own credentials never go upstream. */
  readonly apiKey?: string;
  /** Larger answers are not retained: the effect may have happened, so the outcome is unknown. */
  readonly maxResponseBytes?: number;
}

/** Tools that take the JSON-RPC request as it is, one POST each, and answer with one JSON object. No session, no redirect, no retry. */
export function createJsonUpstream({ url, apiKey, maxResponseBytes = 10_000_000 }: JsonUpstreamOptions): Upstream {
  const dispatcher = new Agent({
    connect: connectorThatTells({ timeout: 5_000 }),
    keepAliveTimeout: 30_000,
    pipelining: 1,
  });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
  };

  async function post(
    body: JsonObject,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<UpstreamOutcome | { kind: 'accepted' }> {
    const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, ...(signal && { signal }) };
    let statusCode: number;
    let text: string;
    const begun = Date.now();
    try {
      const answer = await undiciRequest(url, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        dispatcher,
        ...limits,
      });
      ({ statusCode } = answer);
      const chunks: Buffer[] = [];
      let bytes = 0;
      // What the head left of the time; an answer that drips or falls silent does not get more.
      const late = setTimeout(
        () => answer.body.destroy(new Error('the answer timed out')),
        Math.max(0, begun + timeoutMs - Date.now()),
      );
      try {
        for await (const chunk of answer.body) {
          bytes += (chunk as Buffer).byteLength;
          if (bytes > maxResponseBytes) throw new Error(`the answer is larger than ${maxResponseBytes} bytes`);
          chunks.push(chunk as Buffer);
        }
      } finally {
        clearTimeout(late);
      }
      text = Buffer.concat(chunks).toString('utf8');
    } catch (error) {
      return { kind: surelyNotSent(error) ? 'not_sent' : 'unknown', reason: causeText(error) };
    }
    if (text === '' && statusCode < 300) return { kind: 'accepted' };
    const parsed = objectOf(text);
    if (parsed) return { kind: 'reply', statusCode, body: parsed, failed: failedOf(statusCode, parsed) };
    if (statusCode < 400)
      return { kind: 'unknown', reason: 'the upstream answered with something that is no JSON object' };
    const error = { code: -32_000, message: `upstream answered HTTP ${statusCode}` };
    return { kind: 'reply', statusCode, body: { jsonrpc: '2.0', id: body.id ?? null, error }, failed: true };
  }

  return {
    async callTool(_caller, request, { timeoutMs, signal }) {
      const outcome = await post(request, timeoutMs, signal);
      return outcome.kind === 'accepted'
        ? { kind: 'unknown', reason: 'the upstream answered without a body' }
        : outcome;
    },
    control: (_caller, request, { timeoutMs }) => post(request, timeoutMs),
    close: () => dispatcher.close().catch(() => undefined),
  };
}

function objectOf(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as Json;
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const failedOf = (statusCode: number, { error, result }: JsonObject): boolean =>
  statusCode >= 300 ||
  error !== undefined ||
  (result !== null && typeof result === 'object' && !Array.isArray(result) && result.isError === true);
