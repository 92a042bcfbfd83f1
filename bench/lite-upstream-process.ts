import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerQuestions } from './child.js';

/** Tools that answer every request with the same result and do nothing: what is left is Gate. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { id } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { id: number | string };
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"done"}]}}`;
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  });
});

const answers = {
  async start(): Promise<string> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  },
};
export type LiteUpstreamQuestions = typeof answers;

answerQuestions(answers, async () => {
  server.closeAllConnections();
  server.close();
});
