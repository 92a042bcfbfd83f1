import { GateConfigError } from './errors.js';
import type { CallContext, Verdict } from './types.js';

/** How a decision that waits is heard of sooner than by asking: the address that Gate posts to, and what waits for that post. */
export interface CallbackOptions {
  readonly url: string;
  /** Returns when the post for this call arrived. It is a hint alone: what was decided is then asked of Gate. */
  wait(correlationId: string, signal: AbortSignal): Promise<unknown>;
}

export interface GateOptions {
  /** Address of Gate, without `/mcp`. Default: `GATE_ENDPOINT`, then `GATE_LITE_URL`. */
  readonly endpoint?: string;
  /** Bearer token. Default: `GATE_TOKEN`, then `GATE_LITE_TOKEN`. */
  readonly token?: string;
  /** `observe` reports and lets everything pass. Default `enforce`. */
  readonly mode?: 'enforce' | 'observe';
  /** For one HTTP attempt, its body included: 1 to 300,000 ms. Default 10,000. */
  readonly timeoutMs?: number;
  /** Attempts 1 to 10 and the first pause, 0 to 60,000 ms. Default 3 and 100. Only what got no answer, or a 5xx, is sent again. */
  readonly retry?: { readonly maxAttempts?: number; readonly baseDelayMs?: number };
  /** Called once for each call, in their order, before anything is thrown. What it throws is thrown on. */
  readonly onVerdict?: (verdict: Verdict, call: CallContext) => void | Promise<void>;
  /** In observe mode: the call had no verdict and passes. */
  readonly onPolicyError?: (error: Error, call: CallContext) => void | Promise<void>;
  /** Instead of the global one, for instance that of `@gate/agent-sdk/mtls`. */
  readonly fetch?: typeof fetch;
  /** Helpers that hand out arguments before they are whole (`stream()`, `runTools()`) pass uninspected. Default false: they are refused. */
  readonly allowUninspectedStream?: boolean;
  /** Tools that the provider itself runs (web search, code interpreter) pass: Gate never sees their calls. Default false: they are refused. */
  readonly allowHostedTools?: boolean;
  /** On a denial a panel is printed to stderr. */
  readonly devMode?: boolean;
  /** Sent with each request, such as `X-Gate-Grant`. Gate's own headers cannot be set by it. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
  readonly callback?: CallbackOptions;
}

/** The options, checked, with what stood in the environment. */
export interface Settings {
  readonly endpoint: string;
  readonly token: string | undefined;
  readonly mode: 'enforce' | 'observe';
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly baseDelayMs: number;
  readonly onVerdict: GateOptions['onVerdict'];
  readonly onPolicyError: GateOptions['onPolicyError'];
  readonly fetch: typeof fetch;
  readonly allowUninspectedStream: boolean;
  readonly allowHostedTools: boolean;
  readonly devMode: boolean;
  readonly extraHeaders: Readonly<Record<string, string>>;
  readonly callback: CallbackOptions | undefined;
}

const KNOWN: Readonly<Record<keyof GateOptions, true>> = {
  endpoint: true,
  token: true,
  mode: true,
  timeoutMs: true,
  retry: true,
  onVerdict: true,
  onPolicyError: true,
  fetch: true,
  allowUninspectedStream: true,
  allowHostedTools: true,
  devMode: true,
  extraHeaders: true,
  callback: true,
};

/** Headers that this package sets; an extra one of the same name could contradict what is judged. */
const OWN_HEADERS = new Set([
  'authorization',
  'content-type',
  'content-length',
  'host',
  'x-gate-decision-contract',
  'x-gate-server-execution-contract',
  'x-gate-execution-contract',
  'x-gate-idempotency-id',
  'x-gate-callback-url',
]);

const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Printable ASCII on one line: what a header can carry. */
const ONE_LINE = /^[\t\x20-\x7e]+$/;

const within = (name: string, value: number, least: number, most: number): number => {
  if (!Number.isFinite(value) || value < least || value > most)
    throw new GateConfigError(`${name} must be a number from ${least} to ${most}, and is ${String(value)}`);
  return value;
};

/** Address and token, checked together: a token is never sent in clear over a network. */
export function checkAddress(text: string, token: string | undefined, name = 'endpoint'): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // Without its text, which may have a password in it.
    throw new GateConfigError(`${name} is no address`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new GateConfigError(`${name} must be http or https, and is ${url.protocol}`);
  if (url.username !== '' || url.password !== '') throw new GateConfigError(`${name} must have no user information`);
  if (text.includes('?') || text.includes('#')) throw new GateConfigError(`${name} must have no query and no fragment`);
  if (token !== undefined && url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    throw new GateConfigError(`a token goes over https alone, except to this machine; endpoint is ${url.origin}`);
  if (name === 'endpoint' && /\/mcp\/?$/.test(url.pathname))
    throw new GateConfigError('endpoint is the address of Gate without /mcp');
  // Joined as text: resolving an address would drop the prefix of its path.
  return text.endsWith('/') ? text.slice(0, -1) : text;
}

/** Throws `GateConfigError` for anything that cannot be meant, an option that there is not among them. */
export function settingsOf(
  options: GateOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Settings {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(KNOWN, name)) throw new GateConfigError(`there is no option ${name}`);
  }
  const endpoint = options.endpoint ?? env['GATE_ENDPOINT'] ?? env['GATE_LITE_URL'];
  if (endpoint === undefined || endpoint === '')
    throw new GateConfigError('endpoint is missing: give the address of Gate, or set GATE_ENDPOINT');
  const token = options.token ?? env['GATE_TOKEN'] ?? env['GATE_LITE_TOKEN'];
  if (token !== undefined && (token.trim() === '' || !ONE_LINE.test(token)))
    throw new GateConfigError('token must be one line of text, and not empty');
  const mode = options.mode ?? 'enforce';
  if (mode !== 'enforce' && mode !== 'observe')
    throw new GateConfigError(`mode is enforce or observe, and not ${String(mode)}`);
  const extraHeaders = { ...options.extraHeaders };
  for (const [name, value] of Object.entries(extraHeaders)) {
    if (!HEADER_NAME.test(name) || typeof value !== 'string' || !ONE_LINE.test(value))
      throw new GateConfigError(`extraHeaders: ${name} is no header that can be sent`);
    if (OWN_HEADERS.has(name.toLowerCase())) throw new GateConfigError(`extraHeaders: ${name} is set by this package`);
  }
  if (options.callback !== undefined)
    checkAddress(options.callback.url.split(/[?#]/)[0] as string, undefined, 'callback.url');
  return Object.freeze({
    endpoint: checkAddress(endpoint, token),
    token,
    mode,
    timeoutMs: within('timeoutMs', options.timeoutMs ?? 10_000, 1, 300_000),
    maxAttempts: Math.floor(within('retry.maxAttempts', options.retry?.maxAttempts ?? 3, 1, 10)),
    baseDelayMs: within('retry.baseDelayMs', options.retry?.baseDelayMs ?? 100, 0, 60_000),
    onVerdict: options.onVerdict,
    onPolicyError: options.onPolicyError,
    fetch: options.fetch ?? fetch,
    allowUninspectedStream: options.allowUninspectedStream ?? false,
    allowHostedTools: options.allowHostedTools ?? false,
    devMode: options.devMode ?? false,
    extraHeaders,
    callback: options.callback,
  });
}
