import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { Option } from 'commander';
import type { PendingRequest } from '../contracts/review.js';
import type { ReadOnlyLedger } from '../adapters/ledger/read-only.js';
import { oneLine } from '../domain/printable.js';
import type { DevelopmentFile } from '../stack/development-file.js';
import type { ProcessName, ServiceKey } from '../stack/services.js';
import { CliError } from './errors.js';

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The running stack of this folder, as its `dev.json` describes it. */
export function developmentFile(): DevelopmentFile {
  const file = join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'dev.json');
  if (!existsSync(file))
    throw new CliError(`no running stack is known here (${file} is missing); start one with \`npm start\``, 5);
  return JSON.parse(readFileSync(file, 'utf8')) as DevelopmentFile;
}

/** A lite process by its address. Without an address the running stack of this folder is meant. */
export interface LiteTarget {
  readonly endpoint?: string;
  readonly decideToken?: string;
  /** The tenant that is asked about, where a token stands for several. */
  readonly tenant?: string;
}
const DEFAULT_LITE = 'http://127.0.0.1:8088';
const DEFAULT_LEDGER = 'gate-lite.db';
/** Written by `gate lite init`. */
export const INIT_FILE = 'gate-lite.env';
export const endpoint = () =>
  new Option(
    '--endpoint <url>',
    `a lite process; without it the running stack of this folder, or ${DEFAULT_LITE} where none is known`,
  ).env('GATE_LITE_URL');
export const decideToken = () =>
  new Option('--decide-token <token>', 'its decide token; better given as a variable').env('GATE_LITE_DECIDE_TOKEN');

export const ledgerFile = () =>
  new Option('--ledger <file>', 'this ledger file instead of the running stack').env('GATE_LITE_LEDGER');

export const stackIsKnown = () => existsSync(join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'dev.json'));

/** What `gate lite init` wrote into this folder. */
function initSettings(): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(INIT_FILE, 'utf8'));
  } catch {
    return {};
  }
}

/** Where the lite of this folder listens: at the port that `gate lite init` wrote here, otherwise at the usual one. */
const liteHere = (): string => {
  const port = initSettings()['GATE_LITE_PORT'];
  return port === undefined || port === '0' ? DEFAULT_LITE : `http://127.0.0.1:${port}`;
};

/** Uses the address of the lite of this folder when there is no stack here. */
export const located = (target: LiteTarget): LiteTarget =>
  target.endpoint === undefined && !process.env.GATE_STATE_DIR && !stackIsKnown()
    ? { ...target, endpoint: liteHere() }
    : target;

/** The named file; otherwise `gate-lite.db` if it is here and no stack is known; otherwise `null`, the running stack. */
export function fileTarget(given: string | undefined): string | null {
  if (given !== undefined) return given;
  return !stackIsKnown() && existsSync(DEFAULT_LEDGER) ? DEFAULT_LEDGER : null;
}

export function asOperator<T>(target: LiteTarget, method: string, path: string, body?: object): Promise<T> {
  return target.endpoint === undefined
    ? asConsole<T>('hil', method, path, body)
    : asLite<T>(target, method, path, body);
}

/** The address of the lite process, for commands that exist only there. */
export const liteAddress = ({ endpoint: url }: LiteTarget): string => url ?? liteHere();

/**
 * The token that Gate created for the ledger of this folder, or of `GATE_LITE_LEDGER`; used when no other is given. It is never sent to an
 * address that is not on this machine.
 */
async function keptToken(url: string): Promise<string | null> {
  const [{ decideTokenFileOf, keptDecideToken }, { isLoopback }] = await Promise.all([
    import('../lite/decide-token.js'),
    import('../domain/egress/loopback.js'),
  ]);
  if (!isLoopback(new URL(url).hostname)) return null;
  return (
    keptDecideToken(decideTokenFileOf(process.env.GATE_LITE_LEDGER ?? DEFAULT_LEDGER)) ??
    initSettings()['GATE_LITE_DECIDE_TOKEN'] ??
    null
  );
}

/** Calls a lite process as its operator. */
export async function asLite<T>(
  { endpoint: url = DEFAULT_LITE, decideToken: given, tenant }: LiteTarget,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
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
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const another = whyNotGate(response.status, text);
  if (another !== null) throw notGate(url, another);
  if (response.ok) return JSON.parse(text) as T;
  if (response.status === 401 && given === undefined)
    throw new CliError(
      token === null
        ? `${url} wants a decide token: give --decide-token or GATE_LITE_DECIDE_TOKEN, or type this where its ledger lies (GATE_LITE_LEDGER), or where its ${INIT_FILE} lies`
        : `${url} does not take the decide token of this folder; which ledger (GATE_LITE_LEDGER), or which ${INIT_FILE}, does it run with? \`set -a; . ./${INIT_FILE}\` gives the tokens of such a file`,
      exitOf(401),
    );
  throw new CliError(refusalText(response.status, text), exitOf(response.status));
}
/** The header that says which tenant is meant. */
const scopeOf = (tenant: string | undefined): Record<string, string> =>
  tenant === undefined ? {} : { 'x-gate-tenant-scope': tenant };

async function reached(url: string, path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(new URL(path, url), { ...request, signal: AbortSignal.timeout(60_000) });
  } catch (error) {
    throw new CliError(
      url === DEFAULT_LITE && !stackIsKnown()
        ? `no gate lite answers at ${url}, and no running stack is known here; start \`npx gate lite\` or \`npm start\`, or say where it is with --endpoint`
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

/** 3: the caller may not; 4: there is no such thing or its state changed; 2: a bad request; 5: Gate could not answer. */
const exitOf = (status: number): number => ({ 401: 3, 403: 3, 404: 4, 409: 4 })[status] ?? (status < 500 ? 2 : 5);
/** The cause of a failed connection, because the error itself says only `fetch failed`. */
export const why = async (error: unknown): Promise<string> =>
  (await import('../activities/clients/unsent.js')).causeText(error);

function refusalText(status: number, text: string): string {
  let refused: { error?: string; reason?: string; reasoning?: string; decided_by?: string; status?: string } = {};
  try {
    refused = JSON.parse(text) as typeof refused;
  } catch {
    // Not Gate's own answer; show its text.
  }
  const who = refused.decided_by ? ` (${refused.status} by ${refused.decided_by})` : '';
  return `${refused.error ?? status}: ${oneLine(refused.reason ?? refused.reasoning ?? text.slice(0, 200))}${who}`;
}

export async function withLedgerFile<T>(file: string, use: (ledger: ReadOnlyLedger) => Promise<T>): Promise<T> {
  const opened = await readOnly(file);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

async function readOnly(file: string): Promise<ReadOnlyLedger> {
  const [{ openLedgerReadOnly }, { keysBeside }] = await Promise.all([
    import('../adapters/ledger/read-only.js'),
    import('../lite/keys.js'),
  ]);
  try {
    return openLedgerReadOnly(file, { sidecarKeys: keysBeside(file) });
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}

export async function pendingRow(id: string): Promise<PendingRequest> {
  try {
    return await asConsole<PendingRequest>('hil', 'GET', `/pending/${id}`);
  } catch (error) {
    if (!(error instanceof CliError && error.exitCode === 4)) throw error;
    return asConsole<PendingRequest>('hil', 'GET', `/pending/by-correlation/${id}`);
  }
}

/** A service with one name for its address and its certificate. */
type AskedService = Extract<ServiceKey, ProcessName>;

/** Calls a service of the running stack like the console: with its workload certificate and the operator's token. */
export async function asConsole<T>(
  service: AskedService,
  method: string,
  path: string,
  body?: object,
  tenant?: string,
): Promise<T> {
  return JSON.parse(await textAsConsole(service, method, path, body, tenant)) as T;
}

export async function textAsConsole(
  service: AskedService,
  method: string,
  path: string,
  body?: object,
  tenant?: string,
): Promise<string> {
  const stack = developmentFile();
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
    timeoutMs: 60_000,
  });
  let response: { status: number; text(): Promise<string> };
  try {
    response = await fetch(`${stack[service].url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${stack.operator_token}`,
        ...scopeOf(tenant),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw new CliError(
      `the ${service} service of this stack does not answer at ${stack[service].url} (${await why(error)}); is Gate started? \`npm start\` in the folder it was last started in`,
      5,
    );
  }
  const text = await response.text();
  if (response.status < 300) return text;
  throw new CliError(refusalText(response.status, text), exitOf(response.status));
}
