import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Listener } from '../domain/upstream/call-talks.js';
import { type AskingServer, startAskingServer, TOOL } from '../test/support/asking-server.js';
import { createMcpUpstream } from './mcp-upstream.js';

describe('a question that the server of MCP gives up', () => {
  let server: AskingServer;
  beforeEach(async () => {
    server = await startAskingServer();
  });
  afterEach(() => server.close());

  it('is given up at the client too, and the call ends as the tool says', async () => {
    const upstream = createMcpUpstream({ url: server.url });
    const gaveUp: string[] = [];
    const listener: Listener = {
      progress: false,
      told: () => undefined,
      asked: (method, _params, _timeoutMs, _key, of) =>
        new Promise((_, reject) =>
          of?.givenUp?.addEventListener('abort', () => {
            gaveUp.push(method);
            reject(of.givenUp?.reason as Error);
          }),
        ),
    };
    try {
      const request = {
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name: TOOL, arguments: { patience_ms: 50 } },
      };
      const caller = { tenant: 'acme', agent: 'one', client_can: ['elicitation'] } as const;
      const outcome = await upstream.callTool(caller, request, { timeoutMs: 30_000, listener });
      expect([gaveUp, outcome]).toMatchObject([['elicitation/create'], { kind: 'reply' }]);
      expect(JSON.stringify(outcome)).toContain('isError');
    } finally {
      await upstream.close();
    }
  });
});
