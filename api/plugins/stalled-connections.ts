import { readFile } from 'node:fs/promises';
import { readlinkSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface StalledOptions {
  /** Milliseconds in which the other side takes not one byte of what waits for it. */
  readonly limitMs: number;
  /** Called once for each that was closed. */
  readonly onClosed: () => void;
  /** What each TCP socket of this machine still has to send, by inode; `null` where that cannot be known. */
  readonly unsent?: () => Promise<ReadonlyMap<string, number> | null>;
}

interface Handle {
  readonly fd: number;
  /** Handed to the handle, and of these not yet to the kernel. */
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}
interface Seen {
  readonly taken: number;
  readonly sinceMs: number;
}

/** How often within the limit is looked. */
const LOOKS = 8;

/**
 * Closes connections whose other side takes nothing of its answers, however large they are, over TLS as well: each holds what it does not take
 * in memory. What was taken is counted by the kernel: handed to it, less what it still has to send or to hear of. Who takes a little, and
 * streams on which nothing waits, stay; so does everybody where the kernel does not say (it does on Linux, in `/proc/net/tcp`). Looks only at
 * connections with more to send than the kernel takes.
 */
export function closeStalled(
  server: Server,
  { limitMs, onClosed, unsent = unsentInKernel }: StalledOptions,
): { stop: () => void } {
  const open = new Set<Socket>();
  const seen = new Map<Socket, Seen>();
  // With TLS this is the socket below it, whose bytes are those on the wire.
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      seen.delete(socket);
    });
  });

  async function look(): Promise<void> {
    const waiting = [...open].flatMap((socket) => {
      const handle = handleOf(socket);
      if (handle !== null && handle.writeQueueSize > 0) return [{ socket, handle }];
      seen.delete(socket);
      return [];
    });
    if (waiting.length === 0) return;
    const left = await unsent();
    if (left === null) return;
    const nowMs = performance.now();
    for (const { socket } of waiting) {
      const handle = handleOf(socket);
      const inKernel = handle && left.get(inodeOf(handle.fd) ?? '');
      if (!handle || inKernel === undefined || inKernel === null) continue;
      const taken = handle.bytesWritten - handle.writeQueueSize - inKernel;
      const before = seen.get(socket);
      if (before?.taken !== taken) seen.set(socket, { taken, sinceMs: nowMs });
      else if (nowMs - before.sinceMs >= limitMs) {
        socket.destroy();
        onClosed();
      }
    }
  }
  let looking = false;
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void look()
      .catch(() => undefined)
      .finally(() => (looking = false));
  }, limitMs / LOOKS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** Node has these on each TCP handle of a POSIX system. */
function handleOf(socket: Socket): Handle | null {
  const { _handle: handle } = socket as unknown as { readonly _handle?: Partial<Handle> | null };
  if (!handle || typeof handle.fd !== 'number' || typeof handle.bytesWritten !== 'number') return null;
  return { fd: handle.fd, bytesWritten: handle.bytesWritten, writeQueueSize: handle.writeQueueSize ?? 0 };
}

function inodeOf(fd: number): string | null {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** The columns of `/proc/net/tcp` (proc_pid_net(5)): `tx_queue:rx_queue`, hexadecimal, is the fifth, the inode the tenth. */
async function unsentInKernel(): Promise<ReadonlyMap<string, number> | null> {
  const tables = await Promise.all(
    ['/proc/self/net/tcp', '/proc/self/net/tcp6'].map((file) => readFile(file, 'utf8').catch(() => '')),
  );
  const left = new Map<string, number>();
  for (const line of tables.join('\n').split('\n')) {
    const columns = line.trim().split(/\s+/, 10);
    const [queues = '', inode] = [columns[4], columns[9]];
    if (inode !== undefined && /^\d+$/.test(inode)) left.set(inode, Number.parseInt(queues.slice(0, 8), 16));
  }
  return left.size > 0 ? left : null;
}
