import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from './stack.js';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server on loopback that keeps what it is told. */
class Receiver {
  readonly received: Received[] = [];
  readonly #server: Server;

  constructor(answer: (response: ServerResponse, asked: Received) => void) {
    this.#server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (part: string) => (body += part));
      request.on('end', () => {
        const asked = { path: request.url ?? '', headers: request.headers, body };
        this.received.push(asked);
        answer(response, asked);
      });
    });
  }

  open = () => new Promise<void>((listening) => this.#server.listen(0, '127.0.0.1', listening));
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** The bot of a chat: what it posted and changed. */
export const chat = new Receiver((response) => response.end(JSON.stringify({ ok: true, channel: 'C1', ts: '1.1' })));
/** Receives callbacks; what it answers is the test's to choose, by path. */
export const callbacks = new Receiver((response, { path }) => {
  const answer = answers.get(path);
  if (answer) answer(response, callbacks.received.filter((one) => one.path === path).length);
  else response.writeHead(204).end();
});
export const answers = new Map<string, (response: ServerResponse, attempt: number) => void>();
export const CALLBACK_SECRET = 'a secret that only Gate and this receiver know';
export const TEAMS_SECRET = Buffer.from('a-signing-secret-of-a-chat');

/** The stack with receivers of what it tells, once for the parts of one test file (test/spec/reviews). Each has agents of its own. */
export let gate: TestStack;
beforeAll(async () => {
  await Promise.all([chat.open(), callbacks.open()]);
  gate = await startStack({
    env: {
      // Calls of the strict tier expire while a test waits; those of the standard tier stay.
      GATE_REVIEW_TTL_STRICT_SECS: '2',
      GATE_PROXY_CALLBACK_ALLOWLIST: `http://${callbacks.host}/hooks`,
      GATE_CALLBACK_ALLOW_PRIVATE: callbacks.host,
      GATE_CALLBACK_SECRET: CALLBACK_SECRET,
      GATE_HIL_SLACK_API_URL: `http://${chat.host}`,
      GATE_HIL_SLACK_BOT_TOKEN: 'xoxb-for-this-test-only',
      GATE_HIL_SLACK_CHANNEL: 'C1',
      GATE_HIL_TEAMS_SIGNING_SECRET: TEAMS_SECRET.toString('base64'),
      GATE_HIL_SIMULATOR_TENANT: 'acme',
    },
  });
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await gate?.stop();
  chat.close();
  callbacks.close();
}, 150_000);
