import { z } from 'zod';
import { refusal } from './answers.js';
import type { CliError } from './errors.js';
import type { KeptSignIn } from './kept-sign-in.js';
import { gateCommand } from './output.js';

/** A console, asked as the person who signed in there. It passes on what a person may ask at a command line. */
export interface PersonTarget {
  readonly kind: 'person';
  readonly console: string;
  ask<T>(service: string, method: string, path: string, body?: object): Promise<T>;
  /** Who that is now. */
  me(): Promise<Me>;
  /** A stream of server-sent events, until the signal. */
  events(service: string, path: string, lastId: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

const http = () => import('./console-http.js');
const TIMEOUT_MS = 60_000;
/** As much as a list of a thousand calls is. */
const MOST_BYTES = 64 * 1024 * 1024;

export const personTarget = ({ console, token }: Pick<KeptSignIn, 'console' | 'token'>): PersonTarget => ({
  kind: 'person',
  console,
  async ask<T>(service: string, method: string, path: string, body?: object): Promise<T> {
    const { askConsole } = await http();
    const { status, text } = await askConsole(console, `/command-line/${service}${path}`, {
      method: method === 'POST' ? 'POST' : 'GET',
      bearer: token,
      ...(body && { json: body }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MOST_BYTES,
    });
    if (status >= 300) throw refusedAt(console, status, text);
    return JSON.parse(text) as T;
  },
  me: () => whoIs({ console, token }),
  async events(service, path, lastId, signal) {
    const { streamOf } = await http();
    const stream = await streamOf(console, `/command-line/${service}${path}`, { bearer: token, lastId, signal });
    if (stream.status >= 300) throw refusedAt(console, stream.status, await stream.text());
    return stream.body;
  },
});

const me = z.object({
  subject: z.string(),
  tenant: z.string(),
  role: z.string(),
  mode: z.string(),
  ends_at: z.string(),
});
export type Me = z.infer<typeof me>;

/** Who a token stands for now. */
export async function whoIs({ console, token }: Pick<KeptSignIn, 'console' | 'token'>): Promise<Me> {
  const { askConsole } = await http();
  const answer = await askConsole(console, '/command-line/me', {
    method: 'GET',
    bearer: token,
    timeoutMs: 10_000,
    maxBytes: 32_768,
  });
  if (answer.status !== 200) throw refusedAt(console, answer.status, answer.text);
  return me.parse(JSON.parse(answer.text));
}

function refusedAt(console: string, status: number, text: string): CliError {
  const again = status === 401 ? ` (${console}; \`${gateCommand()} logout\` forgets this sign-in)` : '';
  return refusal(status, text, again);
}
