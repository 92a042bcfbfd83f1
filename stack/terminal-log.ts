import { isFull } from '../adapters/store/writable.js';
import { z } from 'zod';
import { oneLine } from '../domain/printable.js';
import { sqliteFault, storeFaultText } from '../domain/store-faults.js';

/** What the terminal reads of an event; the log has all of it. */
const event = z.looseObject({
  msg: z.string().default(''),
  service: z.string().optional(),
  reason: z.string().optional(),
  code: z.string().optional(),
  err: z.looseObject({ message: z.string(), code: z.unknown(), errcode: z.unknown() }).partial().optional(),
});

export interface TerminalLogOptions {
  readonly write: (line: string) => void;
  /** Bytes that are free on the disk of the stores. */
  readonly free: () => Promise<number>;
  /** Rejects while that disk takes no write. */
  readonly tryDisk: () => Promise<void>;
  /** For the log. */
  readonly log?: (line: string) => void;
  readonly lookEveryMs?: number;
  readonly now?: () => number;
}

const LOOK_EVERY_MS = 1_000;
/** With so much free nobody tries whether a write succeeds. */
const ROOM_BYTES = 1024 * 1024;
/** SQLite's code for a disk that takes no more. */
const FULL = 13;
/** How a refusal of a request looks while a store cannot be written. */
const STORE_REFUSALS = /^(?:ledger_)?store_unavailable$/;

/**
 * Errors of the log as a person at the terminal reads them: a line each, without a stack. A full disk is one sentence, also where nothing has
 * failed by it yet, and another when it takes writes again.
 */
export function terminalLog({
  write,
  free,
  tryDisk,
  log,
  lookEveryMs = LOOK_EVERY_MS,
  now = Date.now,
}: TerminalLogOptions) {
  let fullSinceMs: number | null = null;

  const say = (line: string) => {
    log?.(line);
    write(`gate: ${line}\n`);
  };
  const full = (): void => {
    if (fullSinceMs !== null) return;
    fullSinceMs = now();
    say(
      'the disk is full: what cannot be recorded is refused (503), and nothing that was answered is lost; free space, and it goes on by itself',
    );
  };
  /** Never rejects: a disk that cannot be asked says nothing about its room. */
  const look = async (): Promise<void> => {
    try {
      if (fullSinceMs === null && (await free()) >= ROOM_BYTES) return;
      await tryDisk();
      if (fullSinceMs === null) return;
      const awayMs = now() - fullSinceMs;
      fullSinceMs = null;
      say(`the disk takes writes again after ${(awayMs / 1_000).toFixed(1)} s; calls go on`);
    } catch (error) {
      if (isFull((error as NodeJS.ErrnoException).code)) full();
    }
  };
  const lookLater = (): void => void setTimeout(() => void look().then(lookLater), lookEveryMs).unref();
  lookLater();

  return {
    /** Takes an event of the log as it is written there. */
    write(line: string): void {
      const found = readEvent(line);
      if (!found) return write(line);
      const { msg, service, reason, code } = found;
      const error = found.err && Object.assign(new Error(found.err.message), found.err);
      if (error && (sqliteFault(error) === FULL || isFull(error.code))) return full();
      if (fullSinceMs !== null && STORE_REFUSALS.test(code ?? String(error?.code))) return;
      const why = reason ?? (error && storeFaultText(error));
      const said = [service, msg, why].filter((part) => part !== undefined && part !== '').join(': ');
      write(`gate: ${oneLine(said)}${code === undefined ? '' : ` (${oneLine(code)})`}\n`);
    },
  };
}

function readEvent(line: string): z.infer<typeof event> | null {
  try {
    return event.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

/** What the system says of a disk, or of a quota, that takes no more. */
