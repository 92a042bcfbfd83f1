import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A way to a port of this machine that can be shut and opened. */
export interface Door {
  readonly port: number;
  open(): Promise<void>;
  /** Ends what goes through it, and lets nothing in. */
  shut(): Promise<void>;
  /** What is open now carries nothing any more, and is told nothing of it, as where a router forgot it; new ones are carried. */
  forget(): void;
}

export async function openDoor(to: number): Promise<Door> {
  const open = new Set<Socket>();
  let server: Server;
  const listen = async (port: number) => {
    server = createServer((from) => {
      const onward = connect(to, '127.0.0.1');
      for (const [one, other] of [
        [from, onward],
        [onward, from],
      ] as const) {
        open.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          open.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  return {
    port,
    open: async () => void (await listen(port)),
    forget() {
      for (const socket of open) socket.unpipe().pause();
    },
    async shut() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
