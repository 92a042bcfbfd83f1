import { createServer, type IncomingMessage } from 'node:http';
import { timePasses } from './waiting.js';

export const HANGS_UP = 'hang_up';
export const PROBE_TOOL = 'get_status';
/** How Gate finds out whether `hang_up` ran. */
export const PROBES_FILE = JSON.stringify({
  contract: 'gate.probes/v1',
  probes: {
    [HANGS_UP]: {
      tool: PROBE_TOOL,
      arguments: { key: { from: '/arguments/key' } },
      completed: { at: '/json/status', is: ['booked'] },
      not_run: { at: '/json/status', is: ['unknown'] },
      first_after_secs: 0,
      not_run_after_secs: 0,
    },
  },
});

/** The tools and callback receivers of a test, in its own process, so that they outlive every host: what they did can be counted. */
export interface TestTools {
  readonly url: string;
  /** How many times the call with this key was executed. */
  executed(key: string): number;
  total(): number;
  /** Bodies of the callbacks that came for a correlation id. */
  callbacks(correlationId: string): readonly string[];
  close(): Promise<void>;
}

const readAll = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

/**
 * `POST /tool` takes a `tools/call`: it runs when its body is read, its headers leave at once, its result after `arguments.hold_ms`, with
 * a text of `arguments.bytes`. `hang_up` runs and gives no answer; its probe tells whether it ran. `POST /callback` takes anything.
 */
export async function startTestTools(): Promise<TestTools> {
  const executions = new Map<string, number>();
  const callbacks = new Map<string, string[]>();
  const server = createServer((request, response) => {
    void (async () => {
      const text = await readAll(request);
      if (request.url === '/callback') {
        const id = String(request.headers['x-gate-correlation-id']);
        callbacks.set(id, [...(callbacks.get(id) ?? []), text]);
        response.end();
        return;
      }
      const { id, params } = JSON.parse(text) as {
        id: number | string;
        params: { name: string; arguments: { key: string; hold_ms?: number; bytes?: number } };
      };
      const { key, hold_ms = 0, bytes = 0 } = params.arguments;
      const reply = (answer: string) =>
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: answer }] } }));
      if (params.name === PROBE_TOOL) {
        response.writeHead(200, { 'content-type': 'application/json' });
        return reply(JSON.stringify({ status: executions.has(key) ? 'booked' : 'unknown' }));
      }
      executions.set(key, (executions.get(key) ?? 0) + 1);
      if (params.name === HANGS_UP) return request.socket.destroy();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      if (hold_ms > 0) await timePasses(hold_ms, 'the tool works');
      const answer = bytes > 0 ? 'x'.repeat(bytes) : `done ${executions.get(key)}`;
      reply(answer);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    executed: (key) => executions.get(key) ?? 0,
    total: () => [...executions.values()].reduce((sum, count) => sum + count, 0),
    callbacks: (correlationId) => callbacks.get(correlationId) ?? [],
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
