import { Client, ProtocolError } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { z } from 'zod';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { Upstream, UpstreamOutcome } from '../../domain/pipeline/upstream.js';
import { requestedVersion } from './mcp-upstream.js';
import { causeText } from './unsent.js';

export interface StdioUpstreamOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** What the child gets of this process's environment beside the few names every program needs. Gate's own secrets are not among them. */
  readonly env: Readonly<Record<string, string>>;
  readonly onRestart?: (reason: string) => void;
}

/** Between two starts of a child that dies at once. */
const RESTART_PAUSE_MS = 1_000;
const anyResult = z.looseObject({});

/**
 * The tools of an MCP server that runs as a child and speaks over its standard streams. One session for all agents: the child knows
 * no callers. When it dies, a call under way is unknown, and the next one starts it anew.
 */
export function createStdioUpstream({
  command,
  args,
  env,
  onRestart,
}: StdioUpstreamOptions): Upstream & { start(): Promise<void> } {
  let session: Promise<Client> | null = null;
  let startedMs = 0;
  let closing = false;

  async function open(): Promise<Client> {
    const pauseMs = startedMs + RESTART_PAUSE_MS - Date.now();
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    startedMs = Date.now();
    const client = new Client({ name: 'gate', version: '1' }, { capabilities: {} });
    const transport = new StdioClientTransport({
      command,
      args: [...args],
      env: { ...getDefaultEnvironment(), ...env },
      stderr: 'inherit',
    });
    await client.connect(transport, { timeout: 60_000 });
    client.onclose = () => {
      session = null;
      if (!closing) onRestart?.(`${command} ended; it is started again with the next call`);
    };
    return client;
  }

  function connected(): Promise<Client> {
    if (!session) {
      const opening = open();
      session = opening;
      opening.catch(() => {
        if (session === opening) session = null;
      });
    }
    return session;
  }

  async function send(
    id: Json | undefined,
    method: string,
    params: JsonObject | undefined,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<UpstreamOutcome> {
    let client: Client;
    try {
      client = await connected();
    } catch (error) {
      return { kind: 'not_sent', reason: `${command} does not start: ${causeText(error)}` };
    }
    const reply = (answer: JsonObject, failed: boolean): UpstreamOutcome => ({
      kind: 'reply',
      statusCode: 200,
      body: { jsonrpc: '2.0', id: id ?? null, ...answer },
      failed,
    });
    try {
      const result = (await client.request({ method, ...(params && { params }) }, anyResult, {
        timeout: timeoutMs,
        maxTotalTimeout: timeoutMs,
        ...(signal && { signal }),
      })) as JsonObject;
      return reply({ result }, result.isError === true);
    } catch (error) {
      if (!(error instanceof ProtocolError)) return { kind: 'unknown', reason: causeText(error) };
      const data = error.data === undefined ? {} : { data: error.data as JsonObject };
      return reply({ error: { code: error.code, message: error.message, ...data } }, true);
    }
  }

  return {
    /** Starts the child now, so that one that cannot start is found before the first call. */
    start: async () => void (await connected()),
    callTool: (_caller, request, { timeoutMs, signal }) =>
      send(request.id, 'tools/call', request.params as JsonObject | undefined, timeoutMs, signal),
    async control(_caller, request, { timeoutMs }) {
      const method = request.method as string;
      const params = request.params as JsonObject | undefined;
      try {
        if (method !== 'initialize') return await send(request.id, method, params, timeoutMs);
        const client = await connected();
        const instructions = client.getInstructions();
        const result = {
          protocolVersion: requestedVersion(request),
          capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
          serverInfo: (client.getServerVersion() ?? { name: 'upstream', version: '0' }) as unknown as JsonObject,
          ...(instructions !== undefined && { instructions }),
        };
        return {
          kind: 'reply',
          statusCode: 200,
          body: { jsonrpc: '2.0', id: request.id ?? null, result },
          failed: false,
        };
      } catch (error) {
        return { kind: 'not_sent', reason: causeText(error) };
      }
    },
    async close() {
      closing = true;
      await (await session?.catch(() => null))?.close().catch(() => undefined);
    },
  };
}
