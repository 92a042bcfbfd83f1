import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { PRIVATE_FILE } from './durable-file.js';

/** Lines that were refused wait for room, and the oldest go when more than this wait. */
const KEPT_CHARACTERS = 1024 * 1024;
/** The same behind a write that does not come to an end, for a reader who stands still. More than a burst of lines is. */
const WAITING_CHARACTERS = 16 * KEPT_CHARACTERS;
const ASK_AGAIN_MS = 100;
/** What a reader who is slow may take of the exit of a process. */
const FLUSH_LIMIT_MS = 1_000;
const NEWLINE = 10;
const FLUSH_PAUSE_MS = 20;
/** The other end takes nothing just now. */
const BUSY = new Set<unknown>(['EAGAIN', 'EBUSY']);

/** Where a logger writes. Never throws, never ends the process, and never keeps it from ending. */
export interface LogStream {
  write(line: string): void;
  /** Writes what waits, as far as that goes; at the exit of the process it is done by itself. */
  flushSync(): void;
}

const pause = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** The length of a file, and of so many bytes more; `null` where there is none to be had. */
function lengthOf(descriptor: number, more = 0): number | null {
  try {
    const found = fstatSync(descriptor);
    return found.isFile() ? found.size + more : null;
  } catch {
    return null;
  }
}

/**
 * The same pipe, opened so that a write to a full one returns instead of waiting for a reader who stands still: a write that waits in a
 * thread cannot be taken back, and holds up the exit of the process. Where the system has no such door it is written to as it is.
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
 * Lines for a file, or for a descriptor that is open. Pino's own destination asks a disk that refuses a line again and again, for ever,
 * when the process exits; here what the disk does not take then is lost, and the process ends.
 */
export function logStream(to: string | number): LogStream {
  const descriptor = notWaiting(typeof to === 'number' ? to : openSync(to, 'a', PRIVATE_FILE));
  let waiting: string[] = [];
  let characters = 0;
  let unwritten: Buffer | null = null;
  let writing = false;
  let refused = false;
  let closed = false;
  /** How long the file is once the write under way is done; `null` for what has no length. */
  let growsTo: number | null = null;

  const take = (): Buffer => {
    const rest = unwritten ?? Buffer.alloc(0);
    const lines = Buffer.concat([rest, Buffer.from(waiting.join(''))]);
    waiting = [];
    characters = 0;
    return lines;
  };
  /** Bytes that were refused are tried with the next line. */
  const keep = (bytes: Buffer) => {
    const over = bytes.length - KEPT_CHARACTERS;
    // Lines go as a whole; the newline stays, for one that is half written.
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
      // A process that exits does not wait for a write under way: its lines would be lost, or stand behind these.
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
