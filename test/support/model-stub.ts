import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One question as it arrived over HTTP. */
export interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    readonly model: string;
    readonly system: string;
    readonly data: string;
    readonly [more: string]: unknown;
  };
  /** The value that only the system prompt holds. */
  readonly nonce: string;
  /** Which prompt it is, by a field of its answer. */
  readonly lane: 'classifier' | 'injection' | 'malicious_code' | 'compromised_package' | 'answer' | 'other';
}
/** What the stub does with one question. */
export type Behaviour = (asked: Asked, response: ServerResponse) => void;

export interface ModelStub {
  readonly url: string;
  readonly asked: Asked[];
  /** Questions that whoever asked gave up. */
  readonly givenUp: () => number;
  behave(behaviour: Behaviour): void;
  close(): Promise<void>;
}

const LANES = [
  ['answer', 'answer'],
  ['authorized', 'classifier'],
  ['injected', 'injection'],
  ['malicious', 'malicious_code'],
  ['compromised', 'compromised_package'],
] as const;

/** A provider on this machine that speaks OpenAI's chat completions; `behave` says how it answers. */
export async function startModelStub(behaviour: Behaviour = answering()): Promise<ModelStub> {
  let behave = behaviour;
  let givenUp = 0;
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    response.on('close', () => {
      if (!response.writableFinished) givenUp += 1;
    });
    request.on('end', () => {
      const body = JSON.parse(text) as Asked['body'] & { messages: { role: string; content: string }[] };
      const of = (role: string): string => body.messages.find((one) => one.role === role)?.content ?? '';
      // Anthropic has a place of its own for the system prompt.
      const [system, data] = [body.system ?? of('system'), of('user')];
      const one: Asked = {
        path: request.url ?? '',
        headers: request.headers,
        body: { ...body, system, data },
        nonce: /Set "nonce" to (\w+)/.exec(system)?.[1] ?? '',
        lane: LANES.find(([field]) => system.includes(`"${field}"`))?.[1] ?? 'other',
      };
      asked.push(one);
      behave(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    givenUp: () => givenUp,
    behave: (next) => void (behave = next),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** What a model that finds nothing says in each lane. */
const HARMLESS: Readonly<Record<Asked['lane'], object>> = {
  classifier: { category: 'Direct Execution', authorized: true, ground: 'ordinary' },
  injection: { injected: false, confidence: 0, kinds: [] },
  answer: { injected: false, confidence: 0, kinds: [] },
  malicious_code: { malicious: false, confidence: 0, kinds: [] },
  compromised_package: { compromised: false, confidence: 0, kinds: [] },
  other: {},
};

/** The text of an answer that fits, with what the model says in a lane. */
export const verdictText = ({ lane, nonce }: Asked, said: object = {}): string =>
  JSON.stringify({ nonce, instructs_judge: false, ...HARMLESS[lane], ...said });

/** A chat completion around a text. */
export function complete(
  response: ServerResponse,
  content: unknown,
  choice: object = {},
  usage: object | null = USAGE,
): void {
  response.setHeader('content-type', 'application/json').end(
    JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content }, ...choice }],
      ...(usage && { usage }),
    }),
  );
}
const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

/** An answer of Anthropic's around a text. */
export function message(response: ServerResponse, text: unknown, more: object = {}): void {
  response.setHeader('content-type', 'application/json').end(
    JSON.stringify({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_reason: 'end_turn',
      content: [{ type: 'text', text }],
      usage: { input_tokens: 900, output_tokens: 100, cache_read_input_tokens: 100 },
      ...more,
    }),
  );
}

/** Answers each question; `says` adds to what a model that finds nothing says. */
export function answering(says: (asked: Asked) => object = () => ({})): Behaviour {
  return (asked, response) => complete(response, verdictText(asked, says(asked)));
}
/** Refuses with a status, and with words that no log may have. */
export const status =
  (code: number): Behaviour =>
  (asked, response) =>
    void response
      .writeHead(code, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: `provider words about ${asked.body.data}`, type: 'x' } }));
/** Takes the question and never answers. */
export const silent: Behaviour = () => undefined;
/** Takes the question and breaks the connection. */
export const broken: Behaviour = (_asked, response) => void response.destroy();
