import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { PendingRequest } from '../contracts/review.js';
import { CliError } from './errors.js';
import { exitOf, refusal, scopeOf, why } from './answers.js';
import { stackIsKnown } from './stack-target.js';
import { gateCommand } from './output.js';

/** What is said of a lite process on the command line. Without an address the running stack of this folder is meant. */
export interface LiteFlags {
  readonly endpoint?: string;
  readonly decideToken?: string;
  /** The tenant that is asked about, where a token stands for several. */
  readonly tenant?: string;
}

export const DEFAULT_LITE = 'http://127.0.0.1:8088';

export const DEFAULT_LEDGER = 'gate-lite.db';

/** Written by `gate lite init`. */
export const INIT_FILE = 'gate-lite.env';

/** What `gate lite init` wrote into this folder. */
function initSettings(): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(INIT_FILE, 'utf8'));
  } catch {
    return {};
  }
}

/** Where the lite of this folder listens: at the port that `gate lite init` wrote here, otherwise at the usual one. */
export const liteHere = (): string => {
  const port = initSettings()['GATE_LITE_PORT'];
  return port === undefined || port === '0' ? DEFAULT_LITE : `http://127.0.0.1:${port}`;
};

/**
 * The token that Gate created for the ledger of this folder, or of `GATE_LITE_LEDGER`; used when no other is given. It is never sent to an
 * address that is not on this machine.
 */
async function keptToken(url: string): Promise<string | null> {
  const [{ decideTokenFileOf, keptDecideToken }, { isLoopback }] = await Promise.all([
    import('../lite/decide-token.js'),
    import('../domain/outbound/loopback.js'),
  ]);
  if (!isLoopback(new URL(url).hostname)) return null;
  return (
    keptDecideToken(decideTokenFileOf(process.env.GATE_LITE_LEDGER ?? DEFAULT_LEDGER)) ??
    initSettings()['GATE_LITE_DECIDE_TOKEN'] ??
    null
  );
}

/** A lite process, asked as its operator. */
export interface LiteTarget {
  readonly kind: 'lite';
  readonly url: string;
  /** Its one process answers for every service. */
  ask<T>(service: string, method: string, path: string, body?: object): Promise<T>;
  /** A stream of server-sent events, until the signal. */
  events(service: string, path: string, lastId: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

export const liteTarget = (flags: LiteFlags & { readonly endpoint: string }): LiteTarget => ({
  kind: 'lite',
  url: flags.endpoint,
  ask: async <T>(_service: string, method: string, path: string, body?: object) =>
    JSON.parse(await (await asLite(flags, path, { method, ...(body && { body: JSON.stringify(body) }) })).text()) as T,
  async events(_service, path, lastId, signal) {
    const { body } = await asLite(flags, path, { method: 'GET', lastId, signal });
    return (body ?? []) as unknown as AsyncIterable<Uint8Array>;
  },
});

/** In lite, `/pending/{id}` is an agent's own call, so an operator looks the row up in the list. */
export async function rowOfLite(lite: LiteTarget, id: string): Promise<PendingRequest> {
  const [row] = await lite.ask<PendingRequest[]>('hil', 'GET', `/pending?id=${id}`);
  if (!row) throw new CliError(`not_found: no pending row ${id}`, 4);
  return row;
}

interface LiteRequest {
  readonly method: string;
  readonly body?: string;
  readonly lastId?: string;
  /** Of a stream: without it the whole answer has a minute. */
  readonly signal?: AbortSignal;
}

/** The answer to a request that was not refused. */
async function asLite(
  { endpoint: url, decideToken: given, tenant }: LiteFlags & { readonly endpoint: string },
  path: string,
  { method, body, lastId, signal }: LiteRequest,
): Promise<Response> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CliError(`--endpoint: ${url} is no address; it begins with http://, like ${DEFAULT_LITE}`, 2);
  const token = given ?? (await keptToken(url));
  // Nobody named this address for the token: it is sent to nothing that does not at least answer like Gate.
  if (token !== null && given === undefined) await assertLite(url);
  const response = await reached(url, path, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...scopeOf(tenant),
      ...(body && { 'content-type': 'application/json' }),
      ...(lastId && { 'last-event-id': lastId }),
    },
    ...(body && { body }),
    ...(signal && { signal }),
  });
  if (response.ok && response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const text = await response.text();
  const another = whyNotGate(response.status, text);
  if (another !== null) throw notGate(url, another);
  if (response.ok) return new Response(text);
  if (response.status === 401 && given === undefined)
    throw new CliError(
      token === null
        ? `${url} wants a decide token: give --decide-token or GATE_LITE_DECIDE_TOKEN, or type this where its ledger lies (GATE_LITE_LEDGER), or where its ${INIT_FILE} lies`
        : `${url} does not take the decide token of this folder; which ledger (GATE_LITE_LEDGER), or which ${INIT_FILE}, does it run with? \`set -a; . ./${INIT_FILE}\` gives the tokens of such a file`,
      exitOf(401),
    );
  throw refusal(response.status, text);
}

async function reached(url: string, path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(new URL(path, url), { signal: AbortSignal.timeout(60_000), ...request });
  } catch (error) {
    throw new CliError(
      url === DEFAULT_LITE && !stackIsKnown()
        ? `no gate lite answers at ${url}, and no running stack is known here; start \`${gateCommand()} lite\` or \`npm start\`, or say where it is with --endpoint`
        : `no gate lite answers at ${url} (${await why(error)}); is it started, and is the address right? --endpoint or GATE_LITE_URL says another`,
      5,
    );
  }
}

const notGate = (url: string, words: string) =>
  new CliError(`${url} is not Gate: ${words}; --endpoint or GATE_LITE_URL says where it is`, 5);

async function assertLite(url: string): Promise<void> {
  const answer = await reached(url, '/health', {});
  const text = await answer.text();
  const words = whyNotGate(answer.status, text);
  if (words !== null) throw notGate(url, words);
  const health: unknown = JSON.parse(text);
  if (typeof health !== 'object' || health === null || !('ledger' in health))
    throw notGate(url, 'what it says at /health is another program');
}

/** Why an answer cannot be Gate's own, which is JSON and names each refusal; `null` where it may be. */
function whyNotGate(status: number, text: string): string | null {
  try {
    const body: unknown = JSON.parse(text);
    const refusal = typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string';
    return refusal || (status >= 200 && status < 300) ? null : `it answers HTTP ${status}`;
  } catch {
    return `it answers HTTP ${status}, not with JSON`;
  }
}
