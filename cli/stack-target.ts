import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { DevelopmentFile } from '../stack/development-file.js';
import type { ProcessName, ServiceKey } from '../stack/services.js';
import { CliError } from './errors.js';
import { refusal, refusalText, scopeOf, why } from './answers.js';
import { gateCommand } from './output.js';
import type { PendingRequest } from '../contracts/review.js';
import type {
  Given,
  ListOf,
  OperationAt,
  RowOf,
  ServiceClient,
  Services,
} from '../sdks/typescript/control-plane/src/index.js';

/** What a command needs of the file; a service is needed by its address. */
type Needed = 'console_workload' | 'operator_token' | 'token_issuer' | 'temporal' | 'upstream' | 'agents' | ServiceKey;
const address = z.looseObject({ url: z.url() });
const members: { readonly [Member in Needed]?: z.ZodType } = {
  console: address.extend({ opened_at: z.url().optional(), sign_in: z.string().optional() }),
  operator_token: z.string(),
  proxy: address.extend({ ca: z.string(), agent_spiffe: z.string() }),
  console_workload: z.looseObject({ cert: z.string(), key: z.string() }),
  token_issuer: z.looseObject({ issuer: z.string(), audience: z.string(), key: z.string() }).optional(),
  temporal: z.looseObject({}),
  upstream: z.looseObject({ demonstration: z.boolean() }),
  agents: z.record(z.string(), z.looseObject({ spiffe: z.string() })),
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Where a start writes how its stack is reached, and the token with which commands ask. */
const stackFile = (): string => join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'dev.json');

/** The running stack of this folder, as its `dev.json` describes it. */
export function developmentFile(needs: readonly Needed[]): DevelopmentFile {
  const file = stackFile();
  if (!existsSync(file))
    throw new CliError(`no running stack is known here (${file} is missing); start one with \`npm start\``, 5);
  const read = parsed(readFileSync(file, 'utf8'));
  const shape = z.looseObject(Object.fromEntries(needs.map((name) => [name, members[name] ?? address])));
  const fault = shape.safeParse(read).error?.issues[0];
  if (fault)
    throw new CliError(
      `stack_file_malformed: ${file} is not what a start of Gate writes (${fault.path.join('.') || 'its JSON'}: ${fault.message}); start the stack again with \`npm start\``,
      5,
    );
  return read as DevelopmentFile;
}

export const stackIsKnown = () => existsSync(stackFile());

/** What helps where the token of `dev.json` is nobody's. */
export const addedOrSignedIn = (gate = gateCommand()): string =>
  `add it there (name@tenant:token) and start Gate again, or sign in with \`${gate} login\` (for pending, decide, approvals and audit)`;

/** A refusal of what was asked with a token of `dev.json`. Where nobody has that token, it says whose it is. */
export async function refusedToken(status: number, text: string): Promise<CliError> {
  const { meaning } = (await import('../contracts/error-codes.js')).ERROR_CODES.unauthenticated;
  const isNobodys = status === 401 && refusalText(status, text) === `unauthenticated: ${meaning}`;
  const whose = ` It is that of ${stackFile()}, and not among GATE_HIL_OPERATORS of the stack that runs: ${addedOrSignedIn()}`;
  return refusal(status, text, isNobodys ? whose : '');
}

/** The console of a stack, under the name that browsers know it by, where passkeys belong and a provider leads back to. */
export function consoleOf(stack: Pick<DevelopmentFile, 'console'>): string {
  if (stack.console.opened_at !== undefined) return new URL(stack.console.opened_at).origin;
  const { protocol, hostname, port } = new URL(stack.console.url);
  return new URL(`${protocol}//${hostname === '127.0.0.1' ? 'localhost' : hostname}:${port}`).origin;
}

/** The console of the running stack of this folder; `null` where none is known. */
export const consoleOfStack = (): string | null => (stackIsKnown() ? consoleOf(developmentFile(['console'])) : null);

/** A service by its name; `dev.json` has one of them under another. */
type AskedService = Extract<ServiceKey, ProcessName> | 'policy-engine';
const keyOf = (service: AskedService): ServiceKey => (service === 'policy-engine' ? 'policy' : service);

/** The running stack of this folder, asked like the console: with its workload certificate and the operator's token. */
export interface StackTarget {
  readonly kind: 'stack';
  ask<T>(
    service: AskedService,
    method: string,
    path: string,
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<T>;
  text(service: AskedService, method: string, path: string): Promise<string>;
  /** The rows of a list of identity, page after page. */
  each<Path extends ListOf<'identity'>>(
    path: Path,
    given: Given<OperationAt<Services['identity'], 'get', Path>>,
  ): AsyncIterable<RowOf<'identity', Path>>;
  /** An answer of the policy engine of lines of JSON, each as it comes. */
  lines<Path extends '/policies/lab' | '/policies/mine'>(
    path: Path,
    given: Given<OperationAt<Services['policy-engine'], 'post', Path>>,
  ): AsyncIterable<unknown>;
  /** A stream of server-sent events, until the signal. */
  events(service: AskedService, path: string, lastId: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

/** `tenant`: the one that is asked about. `operator`: who asks, of those that `dev.json` names; its first one if absent. `timeoutMs`: how long an answer may take. */
export const stackTarget = (tenant?: string, operator?: string, timeoutMs = ANSWER_MS): StackTarget =>
  askedAs({ tenant, tokenOf: (stack) => operatorToken(stack, operator), refused: refusedToken, timeoutMs });

/** The same with the token of identity's administrator. */
export const administratorTarget = (tenant: string, token: string): Pick<StackTarget, 'ask'> =>
  askedAs({ tenant, tokenOf: () => token, refused: refusal, timeoutMs: ANSWER_MS });

function askedAs(asking: Asking): StackTarget {
  return {
    kind: 'stack',
    ask: async <T>(...asked: [AskedService, string, string, object?, Readonly<Record<string, string>>?]) =>
      JSON.parse(await textAsConsole(asking, ...asked)) as T,
    text: (...asked) => textAsConsole(asking, ...asked),
    each: (...asked) => clientAsConsole(asking, 'identity', (client) => client.each(...asked)),
    lines: (...asked) => clientAsConsole(asking, 'policy-engine', (client) => client.lines(...asked)),
    events: (...asked) => eventsAsConsole(asking, ...asked),
  };
}
const ANSWER_MS = 60_000;

export function operatorToken(stack: DevelopmentFile, operator: string | undefined): string {
  if (operator === undefined) return stack.operator_token;
  const others = stack.other_operators ?? {};
  const token = Object.hasOwn(others, operator) ? others[operator] : undefined;
  if (token !== undefined) return token;
  throw new CliError(
    `no token is known here for the operator ${operator}; known besides the first: ${Object.keys(others).join(', ') || 'none'}`,
    2,
  );
}

interface Asking {
  readonly tenant: string | undefined;
  readonly tokenOf: (stack: DevelopmentFile) => string;
  readonly refused: (status: number, text: string) => CliError | Promise<CliError>;
  readonly timeoutMs: number;
}

/** The console's way to a service, and what it says of who asks. */
async function asConsole({ tenant, tokenOf, timeoutMs }: Asking, service: AskedService) {
  const stack = developmentFile(['operator_token', 'proxy', 'console_workload', keyOf(service)]);
  const token = tokenOf(stack);
  const [{ createMtlsFetch }, { serviceSpiffe }] = await Promise.all([
    import('../activities/clients/mtls-fetch.js'),
    import('../domain/identity/spiffe.js'),
  ]);
  const trustDomain = /^spiffe:\/\/([^/]+)\//.exec(stack.proxy.agent_spiffe)?.[1] ?? 'gate.local';
  const fetch = createMtlsFetch({
    ca: readFileSync(stack.proxy.ca, 'utf8'),
    cert: readFileSync(stack.console_workload.cert, 'utf8'),
    key: readFileSync(stack.console_workload.key, 'utf8'),
    expectedServerSpiffe: serviceSpiffe(trustDomain, service),
    timeoutMs,
  });
  const { url } = stack[keyOf(service)];
  return {
    fetch,
    url,
    headers: { authorization: `Bearer ${token}`, ...scopeOf(tenant) },
    away: async (error: unknown) =>
      new CliError(
        `the ${service} service of this stack does not answer at ${url} (${await why(error)}); is Gate started? \`npm start\` in the folder it was last started in`,
        5,
      ),
  };
}

async function textAsConsole(
  asking: Asking,
  service: AskedService,
  method: string,
  path: string,
  body?: object,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { fetch, url, headers, away } = await asConsole(asking, service);
  let response: { status: number; text(): Promise<string> };
  try {
    response = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...more, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw await away(error);
  }
  const text = await response.text();
  if (response.status < 300) return text;
  throw await asking.refused(response.status, text);
}

/** What comes bit by bit, of the service's client in the SDK. */
async function* clientAsConsole<S extends 'identity' | 'policy-engine', Each>(
  asking: Asking,
  service: S,
  read: (client: ServiceClient<S>) => AsyncIterable<Each>,
): AsyncGenerator<Each> {
  const { fetch, url, headers, away } = await asConsole(asking, service);
  const { connect, GateRefused, GateTransportError } = await import('../sdks/typescript/control-plane/src/index.js');
  const client = connect(service, {
    url,
    timeoutMs: asking.timeoutMs,
    retry: { maxAttempts: 1 },
    async fetch(address, { method, headers: more, body, signal } = {}) {
      const answer = await fetch.stream(address as string, {
        method: method as 'GET' | 'POST',
        headers: { ...(more as Record<string, string>), ...headers },
        ...(body && { body: body as string }),
        signal: signal as AbortSignal,
      });
      return new Response(Readable.toWeb(Readable.from(answer.body)) as ReadableStream, { status: answer.status });
    },
  });
  try {
    yield* read(client);
  } catch (error) {
    if (error instanceof GateRefused) throw await asking.refused(error.status, JSON.stringify(error.body));
    if (!(error instanceof GateTransportError)) throw error;
    throw error.status === undefined ? await away(error) : refusal(error.status, error.message);
  }
}

async function eventsAsConsole(
  asking: Asking,
  service: AskedService,
  path: string,
  lastId: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { fetch, url, headers, away } = await asConsole(asking, service);
  let response: Awaited<ReturnType<typeof fetch.stream>>;
  try {
    const since = lastId === '' ? {} : { 'last-event-id': lastId };
    response = await fetch.stream(`${url}${path}`, { headers: { ...headers, ...since }, signal });
  } catch (error) {
    throw await away(error);
  }
  if (response.status < 300) return response.body;
  throw await asking.refused(response.status, await response.text());
}

/** The row of a call, by the call's id; `null` where there is none. */
export async function rowOfCall(
  stack: Pick<StackTarget, 'ask'>,
  correlationId: string,
): Promise<PendingRequest | null> {
  try {
    return await stack.ask<PendingRequest>('hil', 'GET', `/pending/by-correlation/${correlationId}`);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 4) return null;
    throw error;
  }
}

/** A row by its own id or by that of its call. */
export async function rowOfStack(stack: Pick<StackTarget, 'ask'>, id: string): Promise<PendingRequest> {
  try {
    return await stack.ask<PendingRequest>('hil', 'GET', `/pending/${id}`);
  } catch (error) {
    if (!(error instanceof CliError && error.exitCode === 4)) throw error;
    return stack.ask<PendingRequest>('hil', 'GET', `/pending/by-correlation/${id}`);
  }
}
