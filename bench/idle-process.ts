import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { answerQuestions } from './child.js';
import type { Door } from './proxy-load-process.js';

/** So many are opened at once. */
const TOGETHER = 16;

interface Held {
  readonly close: () => void;
  alive: boolean;
}
const held: Held[] = [];
let agent: Agent | undefined;

/** MCP clients that open a session with its stream, and then do nothing. */
const answers = {
  /** Opens so many; the number that stands, and why the first of the others does not. */
  async open({ door, sessions }: { door: Door; sessions: number }): Promise<{ open: number; fault: string | null }> {
    const { url, tls } = door;
    agent = new Agent({
      pipelining: 1,
      headersTimeout: 60_000,
      bodyTimeout: 0,
      ...(tls && { connect: { ca: readFileSync(tls.ca), cert: readFileSync(tls.cert), key: readFileSync(tls.key) } }),
    });
    let left = sessions;
    let fault: string | null = null;
    const client = async () => {
      while (left > 0 && fault === null) {
        left -= 1;
        try {
          held.push(await idleClient(url, agent as Agent));
        } catch (error) {
          fault ??= String(error).slice(0, 160);
        }
      }
    };
    await Promise.all(Array.from({ length: TOGETHER }, client));
    return { open: held.length, fault };
  },

  /** How many streams still stand. */
  standing: async (): Promise<number> => held.filter(({ alive }) => alive).length,

  async close(): Promise<void> {
    for (const { close } of held.splice(0)) close();
    await agent?.destroy();
    agent = undefined;
  },
};
export type IdleQuestions = typeof answers;

async function idleClient(url: string, dispatcher: Agent): Promise<Held> {
  const begun = await request(url, {
    method: 'POST',
    dispatcher,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'idle', version: '1' } },
    }),
  });
  const said = await begun.body.text();
  const session = begun.headers['mcp-session-id'];
  if (typeof session !== 'string') throw new Error(`initialize: HTTP ${begun.statusCode} ${said}`);
  const stream = await request(url, {
    method: 'GET',
    dispatcher,
    headers: { accept: 'text/event-stream', 'mcp-session-id': session },
  });
  if (stream.statusCode !== 200) throw new Error(`its stream: HTTP ${stream.statusCode} ${await stream.body.text()}`);
  const { body } = stream;
  const one: Held = { alive: true, close: () => body.destroy() };
  body.on('error', () => undefined);
  body.on('close', () => {
    one.alive = false;
  });
  body.resume();
  return one;
}

answerQuestions(answers, () => answers.close());
