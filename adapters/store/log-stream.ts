import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { PRIVATE_FILE } from './durable-file.js';

/** Rejected lines wait until there is room; when more than this wait, the oldest are dropped. */
const KEPT_CHARACTERS = 1024 * 1024;
/** The same behind a write that does not finish, for a reader that has stopped; larger than a burst of lines. */
const WAITING_CHARACTERS = 16 * KEPT_CHARACTERS;
const ASK_AGAIN_MS = 100;
/** How long a slow reader may delay the exit of a process. */
const FLUSH_LIMIT_MS = 1_000;
const NEWLINE = 10;
const FLUSH_PAUSE_MS = 20;
/** The other end accepts nothing at the moment. */
const BUSY = new Set<unknown>(['EAGAIN', 'EBUSY']);

/** The destination of a logger. Never throws, never ends the process, and never delays its end for long. */
export interface LogStream {
  write(line: string): void;
  /** Writes the waiting lines as far as possible; done automatically at the exit of the process. */
  flushSync(): void;
}

const pause = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** The length of a file plus so many bytes; `null` when it has no length. */
function lengthOf(descriptor: number, more = 0): number | null {
  try {
    const found = fstatSync(descriptor);
    return found.isFile() ? found.size + more : null;
  } catch {
    return null;
  }
}

/**
 * The same pipe, opened so that a write to a full one returns instead of waiting for a stopped reader: a write that waits in a thread
 * cannot be cancelled, and delays the exit of the process. When the system cannot open it so, it is written to as it is.
 */
function notWaiting(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return descriptor;
  }
}

const streams = new Set<LogStream>();
const flushAll = () => {
  for (const stream of streams) stream.flushSync();
};

/**
 * Lines for a file or an open descriptor. At the exit of the process, Pino's own destination retries for ever when a disk rejects a line;
 * here such lines are lost, and the process ends.
 */
export function logStream(to: string | number): LogStream {
  const descriptor = notWaiting(typeof to === 'number' ? to : openSync(to, 'a', PRIVATE_FILE));
  let waiting: string[] = [];
  let characters = 0;
  let unwritten: Buffer | null = null;
  let writing = false;
  let refused = false;
  let closed = false;
  /** The length of the file once the current write is done; `null` when it has none. */
  let growsTo: number | null = null;

  const take = (): Buffer => {
    const rest = unwritten ?? Buffer.alloc(0);
    const lines = Buffer.concat([rest, Buffer.from(waiting.join(''))]);
    waiting = [];
    characters = 0;
    return lines;
  };
  /** Rejected bytes are tried again with the next line. */
  const keep = (bytes: Buffer) => {
    const over = bytes.length - KEPT_CHARACTERS;
    // Lines are dropped as a whole; the newline of a half-written one stays.
    const from = over > 0 ? bytes.indexOf(NEWLINE, over) : 0;
    unwritten = from < 0 || bytes.length === 0 ? null : bytes.subarray(from);
  };
  /** Nobody reads at the other end any more. */
  const gone = (error: NodeJS.ErrnoException) => {
    closed = error.code === 'EPIPE' || error.code === 'EBADF';
    if (!closed) return;
    waiting = [];
    unwritten = null;
  };

  function next(): void {
    const bytes = take();
    if (bytes.length === 0) return;
    writing = true;
    unwritten = null;
    growsTo = lengthOf(descriptor, bytes.length);
    write(descriptor, bytes, (error, written) => {
      writing = false;
      refused = error !== null;
      keep(bytes.subarray(error ? 0 : written));
      if (error) gone(error);
      if (!error) return next();
      if (BUSY.has(error.code)) setTimeout(() => (writing ? undefined : next()), ASK_AGAIN_MS).unref();
    });
  }

  const stream: LogStream = {
    write(line) {
      if (closed) return;
      waiting.push(line);
      characters += line.length;
      const room = refused ? KEPT_CHARACTERS : WAITING_CHARACTERS;
      while (characters > room) characters -= waiting.shift()?.length ?? characters;
      if (!writing) next();
    },
    flushSync() {
      if (closed) return;
      const untilMs = performance.now() + FLUSH_LIMIT_MS;
      // An exiting process does not wait for a running write: its lines would be lost, or end up behind these.
      while (writing && growsTo !== null && performance.now() < untilMs && (lengthOf(descriptor) ?? growsTo) < growsTo)
        pause(1);
      let bytes = take();
      while (bytes.length > 0) {
        try {
          bytes = bytes.subarray(writeSync(descriptor, bytes));
        } catch (error) {
          const busy = BUSY.has((error as NodeJS.ErrnoException).code) && performance.now() < untilMs;
          if (!busy) {
            keep(bytes);
            return gone(error as NodeJS.ErrnoException);
          }
          pause(FLUSH_PAUSE_MS);
        }
      }
      unwritten = null;
    },
  };
  if (streams.size === 0) process.on('exit', flushAll);
  streams.add(stream);
  return stream;
}
