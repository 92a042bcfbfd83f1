import type { Server, Socket } from 'node:net';

/** Handshakes that begin in one turn of the event loop. One takes about 3 ms of it. */
const A_TURN = 1;

/**
 * New connections begin a few per turn of the event loop. Hundreds that come at once would have their handshakes done one behind the other,
 * and whoever has a connection would wait for all of them. One that may not begin is closed. Call it before the server listens.
 */
export function paceConnections(server: Server, mayBegin: () => boolean | Promise<boolean> = () => true): void {
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
  function queue(socket: Socket): void {
    if (waiting.length === 0 && begun < A_TURN) {
      socket.off('error', ignored);
      return start(socket);
    }
    waiting.push(socket);
  }
  server.on('connection', (socket) => {
    const may = mayBegin();
    // Whoever leaves before its turn is nobody's error.
    socket.on('error', ignored);
    if (may === true) return queue(socket);
    void Promise.resolve(may).then((is) =>
      is && !socket.destroyed && server.listening ? queue(socket) : socket.destroy(),
    );
  });
  server.once('close', () => {
    for (const socket of waiting.splice(0)) socket.destroy();
  });
}

const ignored = (): void => undefined;
