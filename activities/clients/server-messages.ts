import { TooLong } from '../../adapters/outbound/body.js';
import { membersOf } from '../../domain/mcp/reply.js';
import { eventsIn } from './event-stream.js';

export type ServerMessage = ReadonlyMap<string, string>;

/** As it is meant: some servers escape the slash of a method. */
export const methodOf = (message: ServerMessage): string => JSON.parse(message.get('method') ?? '""') as string;

export const isLog = (message: ServerMessage): boolean =>
  !message.has('id') && methodOf(message) === 'notifications/message';

/** Each one is looked at before a client hears it. A flood of them would keep this process busy for as long as it lasts. */
const MAX_LOGS = 10_000;
const LOGS_WINDOW_MS = 60_000;

/**
 * What an MCP server says in one stream, as it arrives; `null` for what is no message. Gate asks for all log messages, so they never end a stream: they are
 * none of its `maxBytes`, and those beyond 10,000 in a minute are read and dropped. Throws TooLong. Event names other than `message`, ids
 * and retry times are ignored, because nothing here resumes a broken stream.
 */
export async function* serverMessagesIn(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  now: () => number = Date.now,
): AsyncGenerator<ServerMessage | null> {
  let bytes = 0;
  const counted = async function* () {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new TooLong(maxBytes);
      yield chunk;
    }
  };
  let logs = 0;
  let sinceMs = now();
  for await (const { event, data, bytes: ofEvent } of eventsIn(counted())) {
    if (data === '' || (event !== '' && event !== 'message')) continue;
    const message = membersOf(data);
    if (message && isLog(message)) {
      bytes -= ofEvent;
      if (now() - sinceMs >= LOGS_WINDOW_MS) [logs, sinceMs] = [0, now()];
      if ((logs += 1) > MAX_LOGS) continue;
    }
    yield message;
  }
}
