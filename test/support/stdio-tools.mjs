// An MCP server over its standard streams, as small as one can be; `die` ends it in the middle of a call, `slow` takes its time and can be
// cancelled, `seen` tells which methods came.
import { createInterface } from 'node:readline';

const seen = [];
const waiting = new Map();
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  seen.push(method);
  if (method === 'initialize')
    say({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'small', version: '1' },
      },
    });
  else if (method === 'tools/list')
    say({ id, result: { tools: [{ name: 'read_file', inputSchema: { type: 'object' } }] } });
  else if (method === 'tools/call') {
    if (params.arguments.path === 'die') process.exit(1);
    const text = (text) => say({ id, result: { content: [{ type: 'text', text }] } });
    if (params.arguments.path === 'seen') return text(seen.join(' '));
    if (params.arguments.path === 'slow')
      return waiting.set(
        id,
        setTimeout(() => text(params.arguments.who), 500),
      );
    say({
      id,
      result: {
        content: [
          {
            type: 'text',
            text: `${params.name} ${process.env.GATE_LITE_TOKEN ?? 'no token'} ${process.env.TOOL_SETTING}`,
          },
        ],
      },
    });
  } else if (method === 'notifications/cancelled') clearTimeout(waiting.get(params.requestId));
});
