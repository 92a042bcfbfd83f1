import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerQuestions } from './child.js';

/** The answer to `tools/list`, where the tools are listed. */
let listed: string | null = null;

/** Tools that answer every request with the same result and do nothing: what is left is Gate. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const asked = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { id: number | string; method: string };
    const result = (asked.method === 'tools/list' ? listed : null) ?? '{"content":[{"type":"text","text":"done"}]}';
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(asked.id)},"result":${result}}`;
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  });
});

const answers = {
  /** `tools` are their names; without them no list is answered. */
  async start({ tools = [] }: { tools?: readonly string[] } = {}): Promise<string> {
    if (tools.length > 0) listed = JSON.stringify({ tools: tools.map(definitionOf) });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  },
};
const definitionOf = (name: string) => ({
  name,
  description: `Does what ${name} says.`,
  inputSchema: { type: 'object', properties: { path: { type: 'string' }, lines: { type: 'number' } } },
});
export type LiteUpstreamQuestions = typeof answers;

answerQuestions(answers, async () => {
  server.closeAllConnections();
  server.close();
});
