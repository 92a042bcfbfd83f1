import { createServer, request as plainRequest } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** An address of this machine that hands on what it is sent as it is; for clients that have no certificate to show. */
export interface PlainAddress {
  readonly url: string;
  /** How many requests have heard the first event of their stream. */
  readonly streams: () => number;
  /** Ends every connection, as a network does that fails for a moment. */
  readonly cut: () => void;
  readonly close: () => void;
}

/** In front of `url`, with a certificate where one is given. */
export async function plainAddress(
  url: string,
  leaf?: { readonly ca: string; readonly cert: string; readonly key: string },
): Promise<PlainAddress> {
  let streams = 0;
  const agent = leaf && new Agent({ ...leaf, keepAlive: true });
  const server = createServer((asked, answer) => {
    const { headers, method, url: path } = asked;
    // Otherwise the certificate would be looked for under the name that a client sends.
    const { hostname: servername } = new URL(url);
    const to = new URL(path ?? '', url);
    const onwards = agent ? request(to, { agent, method, headers, servername }) : plainRequest(to, { method, headers });
    onwards.on('response', (came) => {
      answer.writeHead(came.statusCode ?? 502, came.headers);
      if (method === 'POST' && came.headers['content-type']?.startsWith('text/event-stream'))
        came.once('data', () => (streams += 1));
      came.on('error', () => answer.destroy());
      came.pipe(answer);
    });
    onwards.on('error', () => answer.destroy());
    answer.on('close', () => onwards.destroy());
    asked.pipe(onwards);
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    streams: () => streams,
    cut,
    close() {
      cut();
      server.close();
      agent?.destroy();
    },
  };
}
