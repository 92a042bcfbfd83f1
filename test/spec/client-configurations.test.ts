import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { type LiteFixture, openLite } from '../support/lite.js';
import { type ListingTools, listingTools } from '../support/listing-tools.js';

/** The places where the clients put a token, as each of them writes it. */
const TOKEN = /\$\{GATE_TOKEN\}|\$GATE_TOKEN|\$\{env:GATE_TOKEN\}|\$\{input:gate-token\}/;
const SECRET = 'the-token-of-a-client-0123456789abcdef';

interface Configured {
  readonly type?: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const page = readFileSync(join(PROJECT_ROOT, 'docs/how-to/call-from-an-mcp-client.md'), 'utf8');
const section = (title: string): string => {
  const [, rest = ''] = page.split(`\n## ${title}\n`);
  return rest.split('\n## ')[0] ?? '';
};
/** The first configuration of a client in JSON. */
const jsonOf = (title: string): Record<string, unknown> => {
  const lines = section(title).split('\n');
  const first = lines.findIndex((line) => line.startsWith('    {'));
  const block = lines.slice(first);
  const end = block.findIndex((line) => !line.startsWith('    '));
  return JSON.parse(block.slice(0, end).join('\n')) as Record<string, unknown>;
};
const serverOf = (title: string, member: string): Configured => (jsonOf(title)[member] as { tools: Configured }).tools;
const commandOf = (): Configured => {
  const [, url = '', name = '', value = ''] =
    /claude mcp add --transport http tools (\S+) --header "(\w+): ([^"]+)"/.exec(section('Claude Code')) ?? [];
  return { url, headers: { [name]: value } };
};

describe('the configurations of clients in the how-to page', () => {
  let tools: ListingTools;
  let gate: LiteFixture;
  beforeAll(async () => {
    tools = await listingTools();
    tools.pages = [[{ name: 'read_file', inputSchema: { type: 'object' } }]];
    gate = await openLite({
      GATE_LITE_UPSTREAM_URL: tools.url,
      GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
      GATE_LITE_TOKEN: SECRET,
    });
  });
  afterAll(async () => {
    await gate?.close();
    await tools?.close();
  });

  it.each<[string, () => Configured]>([
    ['Claude Code, by its command', commandOf],
    ['Claude Code, by its file', () => serverOf('Claude Code', 'mcpServers')],
    ['VS Code', () => serverOf('VS Code', 'servers')],
    ['Cursor', () => serverOf('Cursor', 'mcpServers')],
  ])('lead a client to Gate, with its token: %s', async (_client, configured) => {
    const { url, headers } = configured();
    const address = new URL(url);
    expect(address.origin).toBe('http://127.0.0.1:8088');
    const authorization = String(headers['Authorization']).replace(TOKEN, SECRET);
    const listed = async (given: Readonly<Record<string, string>>) => {
      const client = new Client({ name: 'configured', version: '1' });
      try {
        await client.connect(
          new StreamableHTTPClientTransport(new URL(address.pathname, gate.lite.url), {
            requestInit: { headers: given },
          }),
        );
        return (await client.listTools()).tools.map(({ name }) => name);
      } finally {
        await client.close();
      }
    };
    expect(await listed({ Authorization: authorization })).toEqual(['read_file']);
    await expect(listed({})).rejects.toThrow();
  });

  it('name the input that VS Code asks its user for', () => {
    const { inputs } = jsonOf('VS Code') as { inputs: { id: string; type: string; password: boolean }[] };
    expect(inputs).toEqual([expect.objectContaining({ type: 'promptString', id: 'gate-token', password: true })]);
  });
});
