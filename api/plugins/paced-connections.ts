import type { Server, Socket } from 'node:net';

/** Handshakes that begin in one turn of the event loop. One takes about 3 ms of it. */
const A_TURN = 1;

/**
 * New connections begin a few per turn of the event loop. Hundreds that come at once would have their handshakes done one behind the other,
 * and whoever has a connection would wait for all of them. Call it before the server listens.
 */
export function paceConnections(server: Server): void {
  const begin = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const waiting: Socket[] = [];
  let begun = 0;
  const turn = () => {
    begun = 0;
    while (waiting.length > 0 && begun < A_TURN) {
      const socket = waiting.shift() as Socket;
      socket.off('error', ignored);
      if (!socket.destroyed) start(socket);
    }
  };
  function start(socket: Socket): void {
    begun += 1;
    // The first of a turn asks for the next one.
    if (begun === 1) setImmediate(turn);
    for (const each of begin) each.call(server, socket);
  }
  server.on('connection', (socket) => {
    if (waiting.length === 0 && begun < A_TURN) return start(socket);
    // Whoever leaves before its turn is nobody's error.
    socket.on('error', ignored);
    waiting.push(socket);
  });
  server.once('close', () => {
    for (const socket of waiting.splice(0)) socket.destroy();
  });
}

const ignored = (): void => undefined;
