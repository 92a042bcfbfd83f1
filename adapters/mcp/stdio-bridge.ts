import { type JSONRPCMessage, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/core';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { Agent, fetch as undiciFetch } from 'undici';
import { errorText } from '../../domain/errors.js';
import { foreignText } from '../../domain/text.js';

export interface BridgeOptions {
  /** Of Gate's MCP endpoint. */
  readonly url: URL;
  readonly token?: string;
  /** PEM texts: what proves Gate, and who the agent is. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Told in one line what a client is not told: that Gate was away, or began a new session. */
  readonly onFault: (line: string) => void;
}

type Request = Extract<JSONRPCMessage, { method: string; id: unknown }>;

/** The id of the request by which the bridge opens a session anew; no client chooses it. */
const REOPENING = 'gate-mcp-bridge-initialize';
/** JSON-RPC leaves -32000 to -32099 to servers. */
const NOT_REACHED = -32_000;
const NO_SUCH_SESSION = 404;
const LONGEST_LINE = 16 * 2 ** 20;

const isRequest = (message: JSONRPCMessage): message is Request => 'method' in message && 'id' in message;

/**
 * Hands the messages of a client over standard streams to Gate and back, each as it is, until the client ends its input. Gate judges, waits and
 * records as for any client; the bridge runs nothing and keeps nothing. Where Gate forgot the session (it was started anew), the session is opened
 * again with the client's own words and the message is sent once more: Gate refused it unread. A message that got no answer is never sent
 * again, since nobody knows whether it was read; its request is answered with an error that says so.
 */
export async function runMcpBridge(options: BridgeOptions): Promise<void> {
  const local = new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: LONGEST_LINE });
  /** What the client said to open its session. */
  let introduction: Request | null = null;
  let remote: Promise<StreamableHTTPClientTransport> | null = null;

  async function open(): Promise<StreamableHTTPClientTransport> {
    const transport = new StreamableHTTPClientTransport(options.url, { fetch: fetchOf(options) });
    transport.onmessage = (message) => {
      const opened = 'result' in message && 'id' in message && message.id === introduction?.id;
      const version = opened ? (message.result as { protocolVersion?: unknown }).protocolVersion : undefined;
      if (typeof version === 'string') transport.setProtocolVersion(version);
      void local.send(message);
    };
    transport.onerror = (error) => options.onFault(lineOf(error));
    await transport.start();
    return transport;
  }

  /** A session with the words with which the client opened its first one; what Gate answers is for nobody. */
  async function reopen(): Promise<StreamableHTTPClientTransport> {
    const transport = await open();
    const { onmessage } = transport;
    const answered = new Promise<void>((resolve, reject) => {
      transport.onmessage = (message) => {
        if (!('id' in message) || message.id !== REOPENING) return;
        if (!('result' in message)) return reject(new Error('Gate refuses a new session'));
        const version = (message.result as { protocolVersion?: unknown }).protocolVersion;
        if (typeof version === 'string') transport.setProtocolVersion(version);
        resolve();
      };
    });
    await transport.send({ ...(introduction as Request), id: REOPENING });
    await answered;
    if (onmessage) transport.onmessage = onmessage;
    await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    options.onFault('Gate had forgotten the session, and began another one');
    return transport;
  }

  async function pass(message: JSONRPCMessage): Promise<void> {
    if (isRequest(message) && message.method === 'initialize') {
      introduction = message;
      remote = null;
    }
    remote ??= open();
    const used = remote;
    try {
      await (await used).send(message);
    } catch (error) {
      if (!isForgotten(error) || introduction === null || introduction === message) throw error;
      // Of several messages that find the session gone, the first one opens the next.
      if (remote === used) remote = reopen();
      await (await remote).send(message);
    }
  }

  const ended = new Promise<void>((resolve) => {
    local.onclose = resolve;
  });
  local.onerror = (error) => options.onFault(lineOf(error));
  local.onmessage = (message) =>
    void pass(message).catch((error: unknown) => {
      const line = lineOf(error);
      options.onFault(line);
      if (!isRequest(message)) return;
      const { id } = message;
      void local.send(
        saidBy(error, id) ?? { jsonrpc: '2.0', id, error: { code: NOT_REACHED, message: `Gate: ${line}` } },
      );
    });
  await local.start();
  await ended;
  const transport = await (remote as Promise<StreamableHTTPClientTransport> | null)?.catch(() => null);
  // The session is over with its client; a Gate that does not hear that ends it by itself.
  await transport?.terminateSession().catch(() => undefined);
  await transport?.close();
}

const isForgotten = (error: unknown): boolean => error instanceof SdkHttpError && error.data.status === NO_SUCH_SESSION;

/** What Gate itself says to a request in a refusal over HTTP: its error, for this request. */
function saidBy(error: unknown, id: Request['id']): JSONRPCMessage | null {
  const { text } = (error instanceof SdkHttpError ? error.data : {}) as { text?: unknown };
  try {
    const said = JSONRPCMessageSchema.parse(JSON.parse(String(text)));
    return 'error' in said && said.id === id ? said : null;
  } catch {
    return null;
  }
}

/** Why a message did not get through, in one line: of what Gate says, its code and reason; never a header of the request. */
function lineOf(error: unknown): string {
  if (error instanceof SdkHttpError) {
    const { status, text } = error.data as { status: number; text?: string };
    return `HTTP ${status}${text ? `: ${foreignText(text, 300)}` : ''}`;
  }
  const { cause } = error as { cause?: unknown };
  return `no answer; it is unknown whether the message was read (${foreignText(errorText(cause ?? error), 300)})`;
}

function fetchOf({ token, tls }: BridgeOptions): typeof fetch {
  const dispatcher = new Agent({ connect: { ...tls }, bodyTimeout: 0, headersTimeout: 0 });
  return ((address: URL, given: RequestInit = {}) => {
    const headers = new Headers(given.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    return undiciFetch(address, {
      ...given,
      headers: Object.fromEntries(headers),
      dispatcher,
      redirect: 'manual',
    } as never);
  }) as unknown as typeof fetch;
}
