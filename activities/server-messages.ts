import { setTimeout as after } from 'node:timers/promises';
import { TooLong } from '../adapters/outbound/body.js';
import { membersOf } from '../domain/mcp/reply.js';
import { eventsIn } from './clients/event-stream.js';

export type ServerMessage = ReadonlyMap<string, string>;

/** As it is meant: some servers escape the slash of a method. */
export const methodOf = (message: ServerMessage): string => JSON.parse(message.get('method') ?? '""') as string;

export const isLog = (message: ServerMessage): boolean =>
  !message.has('id') && methodOf(message) === 'notifications/message';

/** Each one is looked at before a client hears it. A flood of them would keep this process busy for as long as it lasts. */
const MAX_LOGS = 10_000;
/** More than any server that is well says in a minute. */
const MAX_LOG_BYTES = 10_000_000;
const LOGS_WINDOW_MS = 60_000;
/** What is beyond is read at no more than 2,000 messages and a megabyte a second: coded, it costs its sender a few hundred bytes. */
const MS_A_LOG = 0.5;
const MS_A_LOG_BYTE = 0.001;
/** Shorter pauses are put together. */
const SHORTEST_PAUSE_MS = 10;

export interface Reading {
  readonly maxBytes: number;
  /** Ends a pause. Whoever gives the chunks ends those. */
  readonly signal?: AbortSignal;
  readonly now?: () => number;
  readonly pause?: (ms: number) => Promise<void>;
}

/**
 * What an MCP server says in one stream, as it arrives; `null` for what is no message. Gate asks for all log messages, so they never end a stream: they are
 * none of its `maxBytes`, and those beyond 10,000 in a minute are read and dropped. What is beyond that, or 10 MB of them, is read slowly, so that its sender
 * waits and this process does not. Throws TooLong. Event names other than `message`, ids and retry times are ignored, because nothing here resumes a
 * broken stream.
 */
export async function* serverMessagesIn(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, signal, now = Date.now, pause = (ms) => after(ms, undefined, signal && { signal }) }: Reading,
): AsyncGenerator<ServerMessage | null> {
  const logs = countedLogs(now);
  let bytes = 0;
  const counted = async function* () {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new TooLong(maxBytes);
      yield chunk;
      const owedMs = logs.owedMs();
      if (owedMs > 0) await pause(owedMs);
    }
  };
  for await (const { event, data, bytes: ofEvent } of eventsIn(counted())) {
    if (data === '' || (event !== '' && event !== 'message')) continue;
    const message = membersOf(data);
    if (message && isLog(message)) {
      bytes -= ofEvent;
      if (!logs.handsOn(ofEvent)) continue;
    }
    yield message;
  }
}

/** Which log messages of a stream are handed on, and how long it is not read for those that are too many. */
function countedLogs(now: () => number) {
  let logs = 0;
  let bytes = 0;
  let sinceMs = now();
  let owed = 0;
  return {
    handsOn(ofLog: number): boolean {
      if (now() - sinceMs >= LOGS_WINDOW_MS) [logs, bytes, sinceMs] = [0, 0, now()];
      logs += 1;
      bytes += ofLog;
      if (logs > MAX_LOGS || bytes > MAX_LOG_BYTES) owed += Math.max(MS_A_LOG, ofLog * MS_A_LOG_BYTE);
      return logs <= MAX_LOGS;
    },
    owedMs(): number {
      if (owed < SHORTEST_PAUSE_MS) return 0;
      const ms = owed;
      owed = 0;
      return ms;
    },
  };
}
