import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { countedAddress } from '../../domain/limits/counted-address.js';

export interface HeldConnections {
  readonly most: number;
  /** How many are open. */
  readonly open: () => number;
  /** Closes those on which nothing was ever asked, as browsers open them in advance: a server that ends waits for none of them. */
  readonly closeUnused: () => void;
}

export interface HoldOptions {
  readonly most: number;
  /** At the limit: one was closed so that a new one has its place, or the new one found none. */
  readonly onFull: (what: 'closed' | 'refused') => void;
}

interface Held {
  readonly key: string;
  readonly socket: Socket;
  readonly address: string;
  /** Who proved who he is on it. */
  known: string | null;
  requests: number;
  /** A request has come on it. */
  used: boolean;
  /** Grows with each use of any connection. */
  usedAt: number;
}

/** Of one known person or caller so many are left alone while they are in use, as a part of all. */
const SHARE = 1 / 8;
const RANKS = { stranger: 0, idle: 1, inUse: 2 } as const;
const rankOf = ({ known, requests }: Held): number =>
  known === null ? RANKS.stranger : requests === 0 ? RANKS.idle : RANKS.inUse;

/** By the socket that requests name; where TLS is spoken that is another one than the listener's. */
const heldBy = new WeakMap<object, Held>();

/** Notes who proved who he is on the connection of a request, so that no stranger's connection takes its place. */
export function connectionIsOf(request: { readonly raw: Pick<IncomingMessage, 'socket'> }, who: string): void {
  const held = heldBy.get(request.raw.socket);
  if (held) held.known = who;
}

/**
 * Keeps room for new connections at a listener, whoever fills it. Where as many are open as may be, a new one takes the place of another:
 * first of those on which nobody proved who he is, then of those of known people and callers that are not in use, and of one who uses more
 * than his share. Among them it is one of the address, or of the one, that has most: the one that was not used for longest. Call it before
 * the server listens.
 */
export function holdConnections(server: Server, { most, onFull }: HoldOptions): HeldConnections {
  const all = new Map<string, Held>();
  let uses = 0;

  function leastWorth(): Held | null {
    let lowest: number = RANKS.inUse;
    const byWhom = new Map<string, { count: number; oldest: Held }>();
    for (const one of all.values()) {
      const rank = rankOf(one);
      if (rank > lowest) continue;
      if (rank < lowest) byWhom.clear();
      lowest = rank;
      const whom = one.known ?? one.address;
      const theirs = byWhom.get(whom);
      if (theirs === undefined) byWhom.set(whom, { count: 1, oldest: one });
      else {
        theirs.count += 1;
        if (one.usedAt < theirs.oldest.usedAt) theirs.oldest = one;
      }
    }
    let least = { count: lowest === RANKS.inUse ? most * SHARE : 0, oldest: null as Held | null };
    for (const theirs of byWhom.values()) if (theirs.count > least.count) least = theirs;
    return least.oldest;
  }

  const begin = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (all.size >= most) {
      const least = leastWorth();
      onFull(least === null ? 'refused' : 'closed');
      if (least === null) return void socket.destroy();
      all.delete(least.key);
      least.socket.destroy();
    }
    const key = keyOf(socket);
    const address = countedAddress(socket.remoteAddress ?? '');
    const held: Held = { key, socket, address, known: null, requests: 0, used: false, usedAt: (uses += 1) };
    all.set(key, held);
    heldBy.set(socket, held);
    socket.once('close', () => {
      if (all.get(key) === held) all.delete(key);
    });
    for (const each of begin) each.call(server, socket);
  });
  server.on('secureConnection', (socket: Socket) => {
    const held = all.get(keyOf(socket));
    if (held) heldBy.set(socket, held);
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const held = heldBy.get(socket);
    if (!held) return;
    held.used = true;
    held.requests += 1;
    held.usedAt = uses += 1;
    response.once('close', () => {
      held.requests -= 1;
      held.usedAt = uses += 1;
    });
  });
  return {
    most,
    open: () => all.size,
    closeUnused: () => {
      for (const { used, socket } of all.values()) if (!used) socket.destroy();
    },
  };
}

/** Two open connections of one listener differ in it. */
const keyOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  [remoteAddress, remotePort, localAddress, localPort].join(' ');
