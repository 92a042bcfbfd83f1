import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url = '', tool = '', args = '{}'] = process.argv.slice(2);
const client = new Client({ name: 'my-agent', version: '1' });
try {
  const [address, given] = [new URL(url), JSON.parse(args)];
  const headers = process.env.GATE_TOKEN ? { authorization: `Bearer ${process.env.GATE_TOKEN}` } : {};
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }));
  const answer = tool
    ? await client.callTool(
        { name: tool, arguments: given },
        {
          // Longer than people may take (half an hour at most, by default): Gate answers first. The client's own default is a minute.
          timeout: 2_000_000,
          onprogress: ({ message }) => console.error(message),
        },
      )
    : await client.listTools();
  console.log(JSON.stringify(answer));
  // What Gate or the tool refused is a result that says why.
  if (answer.isError) process.exitCode = 1;
} catch (error) {
  const wrong = error.code === 'ERR_INVALID_URL' || error instanceof SyntaxError;
  console.error(`${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  if (wrong) console.error('usage: node mcp-client.mjs <address of Gate>/mcp [tool] [its arguments as JSON]');
  process.exitCode = wrong ? 2 : 1;
}
await client.close();
