import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a stub of Gate was asked. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface StubGate {
  readonly url: string;
  readonly asked: Asked[];
  /** Answers each request; a test sets it. */
  answer: (asked: Asked, response: ServerResponse) => void;
  close(): Promise<void>;
}

/** HTTP on this machine whose answers a test writes byte by byte. */
export async function stubGate(): Promise<StubGate> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const asked = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        text: Buffer.concat(chunks).toString('utf8'),
      };
      stub.asked.push(asked);
      stub.answer(asked, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stub: StubGate = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    answer: (_, response) => void response.writeHead(500).end(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return stub;
}

/** An answer with a body in JSON. */
export const answerJson = (response: ServerResponse, status: number, body: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
