import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import type { Json } from '../contracts/json.js';
import { callText, controlText, outgoingCall, outgoingControl } from '../domain/mcp/outgoing.js';
import { membersOf, replyIn } from '../domain/mcp/reply.js';
import type { Upstream, UpstreamOutcome } from '../domain/upstream/upstream.js';
import { within } from '../domain/within.js';
import {
  answerToServer,
  cancelledText,
  INITIALIZED_TEXT,
  type Introduction,
  introductionFor,
  introductionIn,
  introductionText,
} from './mcp-handshake.js';
import { Cancelled, TimedOut, unknownOutcome } from './unknown-outcome.js';
import { causeText } from './clients/unsent.js';

export interface StdioUpstreamOptions {
  readonly command: string;
  readonly args: readonly string[];
  /**
   * What the child gets of this process's environment, besides the few names that every program needs. Gate's own secrets are not among
   * them.
   */
  readonly env: Readonly<Record<string, string>>;
  readonly onRestart?: (reason: string) => void;
  /** A longer line ends the child, because nothing behind it can be read. */
  readonly maxLineBytes?: number;
}

interface Limits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Has an effect, so the child must not come to it when nobody waits for it any more. */
  readonly isCall?: boolean;
}
type Message = ReadonlyMap<string, string>;
interface Session {
  readonly introduction: Introduction;
  /** Why nothing is sent to the child now: it has not read what it was sent before, or is ending. */
  refusal(): string | null;
  /** Rejects when no answer came. */
  ask(id: string, text: string, limits: Limits): Promise<Message>;
  close(): Promise<void>;
}

/** Wait between two starts of a child that exits at once. */
const RESTART_PAUSE_MS = 1_000;
const OPENING_LIMIT_MS = 60_000;
/** How long a child may take to end after its input was closed, and again after SIGTERM. */
const ENDING_LIMIT_MS = 2_000;
/** What a child has not read is kept for it up to this, and one request more. */
const MOST_UNREAD_BYTES = 8_000_000;
const LF = 0x0a;

/**
 * The tools of an MCP server that runs as a child process and speaks over its standard streams. One session for all agents, because the
 * child knows no callers. When it dies, the outcome of a running call is unknown, and the next call starts the child again; nothing is
 * written to it twice. A child that has not taken a call from its pipe when the time of that call is over is killed, so that it does not run it later.
 */
export function createStdioUpstream(options: StdioUpstreamOptions): Upstream & { start(): Promise<void> } {
  const { command, onRestart } = options;
  let session: Promise<Session> | null = null;
  let startedMs = 0;
  let closing = false;

  async function open(): Promise<Session> {
    const pauseMs = startedMs + RESTART_PAUSE_MS - Date.now();
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    startedMs = Date.now();
    return openChild(options, () => {
      session = null;
      if (!closing) onRestart?.(`${command} ended; it is started again with the next call`);
    });
  }

  function connected(): Promise<Session> {
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
    callersId: Json | undefined,
    textOf: (id: string) => string,
    limits: Limits,
  ): Promise<UpstreamOutcome> {
    let child: Session;
    try {
      // A child that takes long to start goes on starting, for the next call.
      child = await within(limits.timeoutMs, connected(), () => new Error('not within the time of the call'));
    } catch (error) {
      return { kind: 'not_sent', reason: `${command} does not start: ${causeText(error)}` };
    }
    const refusal = child.refusal();
    if (refusal !== null) return { kind: 'not_sent', reason: `${command}: ${refusal}`, refused: true };
    const id = randomUUID();
    try {
      const reply = replyIn(await child.ask(id, textOf(id), limits), id, callersId);
      if (reply) return { kind: 'reply', statusCode: 200, ...reply };
      return unknownOutcome('the upstream answered with neither a result nor an error');
    } catch (error) {
      return unknownOutcome(causeText(error), error);
    }
  }

  return {
    /** Starts the child now, so that one that cannot start is found before the first call. */
    start: async () => void (await connected()),
    callTool(_caller, request, limits) {
      const call = outgoingCall(request);
      return send(request['id'], (id) => callText(id, call), { ...limits, isCall: true });
    },
    async control(_caller, request, limits) {
      if (request['method'] !== 'initialize') {
        const control = outgoingControl(request);
        return send(request['id'], (id) => controlText(id, control), limits);
      }
      try {
        const { introduction } = await within(limits.timeoutMs, connected(), () => new Error('it is still starting'));
        return { kind: 'reply', statusCode: 200, text: introductionFor(request, introduction), failed: false };
      } catch (error) {
        return { kind: 'not_sent', reason: causeText(error) };
      }
    },
    async close() {
      closing = true;
      await (await session?.catch(() => null))?.close();
    },
  };
}

async function openChild(
  { command, args, env, maxLineBytes = 10_000_000 }: StdioUpstreamOptions,
  onEnd: () => void,
): Promise<Session> {
  const child = spawn(command, args, {
    env: { ...getDefaultEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
    windowsHide: true,
  }) as unknown as ChildProcessWithoutNullStreams;
  const waiting = new Map<string, { resolve(message: Message): void; reject(error: Error): void }>();
  let lost: Error | null = null;
  let opened = false;
  const ended = new Promise<void>((resolve) => {
    const lose = (error: Error) => {
      lost ??= error;
      for (const { reject } of waiting.values()) reject(lost);
      waiting.clear();
    };
    child.once('error', lose);
    child.stdin.on('error', lose);
    child.once('close', () => {
      lose(new Error('the connection closed'));
      if (opened) onEnd();
      resolve();
    });
  });
  const hasRoom = () => child.stdin.writableLength < MOST_UNREAD_BYTES;
  onLines(child.stdout, maxLineBytes, {
    line(text) {
      const message = membersOf(text);
      if (!message) return;
      const answer = answerToServer(message);
      // A child that asks on and does not read what it is answered gets no answer.
      if (answer !== null) return void (hasRoom() && child.stdin.write(`${answer}\n`));
      const id = message.get('id');
      if (id?.startsWith('"') !== true || message.has('method')) return;
      const key = JSON.parse(id) as string;
      waiting.get(key)?.resolve(message);
      waiting.delete(key);
    },
    tooLong() {
      lost ??= new Error(`an answer is larger than ${maxLineBytes} bytes`);
      child.kill('SIGKILL');
    },
  });

  const refusal = () => (lost ? lost.message : hasRoom() ? null : 'the child does not read what it was sent before');
  const ask: Session['ask'] = async (id, text, { timeoutMs, signal, isCall = false }) => {
    if (lost) throw lost;
    const limit = AbortSignal.timeout(Math.max(1, timeoutMs));
    const given = signal ? AbortSignal.any([signal, limit]) : limit;
    return new Promise<Message>((resolve, reject) => {
      const giveUp = () => {
        if (!waiting.delete(id)) return;
        child.stdin.write(`${cancelledText(id)}\n`);
        reject(limit.aborted ? new TimedOut() : new Cancelled());
      };
      const settled = <T>(settle: (value: T) => void) => {
        return (value: T) => {
          given.removeEventListener('abort', giveUp);
          settle(value);
        };
      };
      waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
      given.addEventListener('abort', giveUp);
      let isTaken = false;
      child.stdin.write(`${text}\n`, () => (isTaken = true));
      const killUnread = () => {
        if (isTaken || lost) return;
        lost = new Error('the child did not read a call within its time, and was killed');
        child.kill('SIGKILL');
      };
      if (isCall) limit.addEventListener('abort', killUnread, { once: true });
      if (given.aborted) giveUp();
    });
  };

  const close = async () => {
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<'late'>((resolve) => {
        timer = setTimeout(() => resolve('late'), ENDING_LIMIT_MS);
      });
      const how = await Promise.race([ended, late]);
      clearTimeout(timer);
      if (how !== 'late') return;
      child.kill(signal);
    }
  };

  try {
    const id = randomUUID();
    const reply = replyIn(await ask(id, introductionText(id), { timeoutMs: OPENING_LIMIT_MS }), id, id);
    if (!reply) throw new Error('initialize was not answered');
    const introduction = introductionIn(reply.text);
    child.stdin.write(`${INITIALIZED_TEXT}\n`);
    opened = true;
    return { introduction, refusal, ask, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Lines as they arrive, each up to a maximum length. Linear in the bytes, however they are split. */
function onLines(
  stream: NodeJS.ReadableStream,
  maxBytes: number,
  { line, tooLong }: { line(text: string): void; tooLong(): void },
): void {
  let begun: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      line(Buffer.concat([...begun, chunk.subarray(from, end)]).toString('utf8'));
      begun = [];
      bytes = 0;
      from = end + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > maxBytes) {
      begun = [];
      tooLong();
    }
  });
}
