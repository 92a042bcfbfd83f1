import { readFileSync } from 'node:fs';
import { isAbsolute, normalize, sep } from 'node:path';
import { timingSafeEqual, createHash } from 'node:crypto';
import { z } from 'zod';
import { mode } from '../contracts/call.js';
import { parseKeyRing } from '../domain/crypto/key-ring.js';
import { isLabel } from '../domain/identity/spiffe.js';
import { isPublicAddress, literalAddress } from '../domain/outbound/addresses.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import {
  type Config,
  ConfigError,
  csv,
  type Env,
  onOff,
  port,
  readConfig,
  seconds,
  type Setting,
  setting,
} from './env.js';
import { volumeFault } from './data-volume.js';
import { accessTokenFaults, accessTokenSettings } from './access-tokens.js';
import { maskedParamsSetting } from './brain.js';
import { probeSettings } from './probes.js';
import { quarantineSetting, responseSettings } from './responses.js';
import {
  agentLimits,
  callbackBoundaries,
  demoAgents,
  escalateShares,
  parsedBy,
  reviewLimits,
  taintSettings,
} from './shared.js';
import { type UpstreamEntry, upstreamsFault, upstreamsSetting } from './upstreams.js';

/** Who may call: one entry of `GATE_LITE_AGENTS`. */
export interface AgentToken {
  readonly tenant: string;
  readonly agent: string;
  readonly token: string;
}
/** Who may decide: one entry of `GATE_LITE_DECIDERS`. */
export interface DeciderToken {
  readonly tenant: string;
  readonly token: string;
}

function registry(text: string): { key: string; token: string }[] {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      const at = entry.indexOf(':');
      if (at < 1) throw new Error('an entry is written name:token, several separated by commas');
      return { key: entry.slice(0, at).trim(), token: entry.slice(at + 1).trim() };
    });
  if (entries.length === 0) throw new Error('it names nobody');
  if (entries.some(({ token }) => token === '')) throw new Error('an entry has an empty token');
  if (new Set(entries.map(({ token }) => token)).size !== entries.length) throw new Error('two entries have one token');
  return entries;
}

const agents = parsedBy<readonly AgentToken[]>((text) =>
  registry(text).map(({ key, token }) => {
    const [tenant, agent, more] = key.split('/');
    if (!tenant || !agent || more !== undefined || !isLabel(tenant) || !isLabel(agent))
      throw new Error('an agent is written tenant/agent, each 1 to 63 characters of A-Z a-z 0-9 . _ -');
    return { tenant, agent, token };
  }),
);
const deciders = parsedBy<readonly DeciderToken[]>((text) =>
  registry(text).map(({ key, token }) => {
    if (!isLabel(key)) throw new Error('a tenant is 1 to 63 characters of A-Z a-z 0-9 . _ -');
    return { tenant: key, token };
  }),
);

const anyCase = (text: unknown) => (typeof text === 'string' ? text.toLowerCase() : text);
const httpUrl = z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' });

/** Settings of `gate lite`. Each has a flag (`flagOf`); flags beat variables. */
export const LITE_SETTINGS = {
  host: setting(
    'GATE_LITE_HOST',
    z.string().min(1).default('127.0.0.1'),
    'Address to listen on; anything but loopback needs tokens.',
  ),
  port: setting('GATE_LITE_PORT', port(8088), 'Port to listen on; 0 takes a free one.'),
  ledger: setting(
    'GATE_LITE_LEDGER',
    z.string().min(1).default('./gate-lite.db'),
    'The one file that keeps calls, reviews and the ledger; `:memory:` keeps nothing.',
  ),
  keys: setting(
    'GATE_LITE_KEYS',
    z.string().refine(isKeyRing, 'must be id:64hex[,id:64hex…]').optional(),
    'Keys that seal requests, results and the ledger head; without it they are made once in <ledger>.keys.',
    { secret: true },
  ),
  policies: setting(
    'GATE_LITE_POLICY_DIR',
    z.string().min(1).optional(),
    'Folder of compiled rules; without it ./policies where that holds some, else the ones built in (`built-in` names them).',
  ),
  upstreamUrl: setting(
    'GATE_LITE_UPSTREAM_URL',
    httpUrl.optional(),
    'Where the tools are. Without it calls are judged under gate.decision/v1, and executions are refused unjudged.',
  ),
  upstreams: upstreamsSetting,
  upstreamName: setting(
    'GATE_LITE_UPSTREAM_NAME',
    z.string().min(1).max(200).optional(),
    'The name under which its tools are classed (`gate tools`); without it its address, or its command.',
  ),
  upstreamAdapter: setting(
    'GATE_LITE_UPSTREAM_ADAPTER',
    z.enum(['auto', 'mcp-jsonrpc-v1', 'raw-json']).default('auto'),
    '`mcp-jsonrpc-v1` opens MCP sessions (streamable HTTP), `raw-json` posts each call as one JSON object; `auto` asks the address once, with `initialize` and where that is refused with `server/discover`, which it is.',
  ),
  upstreamApiKey: setting(
    'GATE_LITE_UPSTREAM_API_KEY',
    z.string().min(8).optional(),
    "Sent upstream as Authorization: Bearer; an agent's own token never goes there.",
    { secret: true },
  ),
  upstreamTimeoutSecs: setting(
    'GATE_LITE_UPSTREAM_TIMEOUT_SECS',
    seconds(120, 1, 600),
    'Time one upstream call may take before its outcome is uncertain.',
  ),
  mode: setting(
    'GATE_LITE_MODE',
    z.preprocess(anyCase, mode.default('enforce')),
    '`enforce` honours verdicts; `observe` lets everything through and records what would have happened.',
  ),
  profile: setting(
    'GATE_LITE_DEPLOYMENT_PROFILE',
    z.preprocess(anyCase, z.enum(['developer', 'hosted']).default('developer')),
    '`hosted` refuses to start with any setting that is unsafe where others can reach it.',
  ),
  token: setting(
    'GATE_LITE_TOKEN',
    z.string().min(1).optional(),
    'Bearer token of the one agent; without tokens every caller on loopback is `anonymous`.',
    { secret: true },
  ),
  agents: setting(
    'GATE_LITE_AGENTS',
    agents.optional(),
    'Several agents: tenant/agent:token,…; beats the single token.',
    { secret: true },
  ),
  ...accessTokenSettings('GATE_LITE'),
  decideToken: setting(
    'GATE_LITE_DECIDE_TOKEN',
    z.string().min(1).optional(),
    'Bearer token of the operator who decides; never the one of an agent. Without it (and without deciders) one is made at the first start and kept in <ledger>.decide-token.',
    { secret: true },
  ),
  deciders: setting(
    'GATE_LITE_DECIDERS',
    deciders.optional(),
    'Several operators, each for one tenant: tenant:token,…; beats the single token.',
    { secret: true },
  ),
  velocityLimit: setting(
    'GATE_LITE_VELOCITY_LIMIT',
    z.coerce.number().int().min(0).max(1_000_000).default(100),
    'Tool calls one agent may make per window; 0 turns the limit off.',
  ),
  velocityWindowSecs: setting(
    'GATE_LITE_VELOCITY_WINDOW_SECS',
    seconds(60, 1, 3_600),
    'Length of that sliding window.',
  ),
  rateLimitQps: setting(
    'GATE_LITE_RATE_LIMIT_QPS',
    z.coerce.number().max(10_000).default(0),
    'Calls per second one agent may make on average; 0 is off.',
  ),
  rateLimitBurst: setting(
    'GATE_LITE_RATE_LIMIT_BURST',
    z.coerce.number().int().min(1).max(10_000).optional(),
    'Calls one agent may make at once; without it the rate, rounded up.',
  ),
  pendingTtlSecs: setting(
    'GATE_LITE_PENDING_TTL_SECS',
    seconds(600),
    'How long a parked call waits for a decision before it expires.',
  ),
  ...agentLimits('GATE_LITE'),
  demoAgents,
  escalateShares,
  ...reviewLimits('GATE_LITE'),
  callbackAllowlist: setting(
    'GATE_LITE_CALLBACK_ALLOWLIST',
    callbackBoundaries,
    'URL prefixes a callback address must match; empty refuses every callback.',
  ),
  callbackAllowPrivate: setting(
    'GATE_LITE_CALLBACK_ALLOW_PRIVATE',
    csv,
    'host:port pairs callbacks may reach although they are not public. Development only.',
  ),
  callbackSecret: setting(
    'GATE_LITE_CALLBACK_SECRET',
    z.string().min(32).optional(),
    'Signs callbacks (HMAC-SHA256 in X-Gate-Signature).',
    { secret: true },
  ),
  ...probeSettings('GATE_LITE'),
  webhookUrl: setting(
    'GATE_LITE_WEBHOOK_URL',
    httpUrl.optional(),
    'Where each verdict and decision is posted as JSON, best effort; the address may carry a key and is never logged.',
    { secret: true },
  ),
  slackWebhookUrl: setting(
    'GATE_LITE_SLACK_WEBHOOK_URL',
    httpUrl.optional(),
    'Incoming webhook of a chat that is told of each parked call, with the two commands that decide it.',
    { secret: true },
  ),
  verboseVerdicts: setting(
    'GATE_LITE_VERBOSE_VERDICTS',
    onOff,
    'Adds the scores of the detectors to denials and parks: for tuning; it tells an attacker what to change.',
  ),
  blockPoisonedDefinitions: setting(
    'GATE_LITE_BLOCK_POISONED_DEFINITIONS',
    onOff,
    'Answers 502 to a list of tools that changed since it was pinned or that instructs a model; without it a change is recorded only, and instructions are taken out of the entry that holds them.',
  ),
  quarantineDefinitions: quarantineSetting('GATE_LITE'),
  maskedParams: maskedParamsSetting('GATE_LITE'),
  ...responseSettings('GATE_LITE'),
  ...taintSettings,
  allowedHosts: setting(
    'GATE_LITE_ALLOWED_HOSTS',
    csv,
    'Names this service is called by, beside loopback: others are refused, so that no web page can rebind its name to Gate.',
  ),
  logLevel: setting(
    'GATE_LOG_LEVEL',
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('warn'),
    'Least severe event that is logged, on standard error.',
  ),
  logFormat: setting(
    'GATE_LOG_FORMAT',
    z.enum(['text', 'json']).default('text'),
    'How it is logged: `text` for people, `json` for one event per line.',
  ),
} as const;

export type LiteConfig = Config<typeof LITE_SETTINGS>;

function isKeyRing(text: string): boolean {
  try {
    parseKeyRing(text);
    return true;
  } catch {
    return false;
  }
}

const SHORT_FLAGS: Readonly<Record<string, string>> = {
  GATE_LITE_UPSTREAM_URL: '--upstream',
  GATE_LITE_POLICY_DIR: '--policies',
  GATE_LITE_VELOCITY_WINDOW_SECS: '--velocity-window',
};

/** `GATE_LITE_RATE_LIMIT_QPS` is `--rate-limit-qps`; a few have shorter names. */
export const flagOf = ({ variable }: Setting): string =>
  SHORT_FLAGS[variable] ??
  `--${variable
    .replace(/^GATE_(LITE_)?/, '')
    .toLowerCase()
    .replaceAll('_', '-')}`;

const TOKENS = ['GATE_LITE_TOKEN', 'GATE_LITE_AGENTS', 'GATE_LITE_DECIDE_TOKEN', 'GATE_LITE_DECIDERS'] as const;

/** A flag that may be given without a value. */
export const isSwitch = ({ type }: Setting): boolean => type.safeParse(undefined).data === false;

/**
 * Reads the settings; `GATE_MODE` stands in for `GATE_LITE_MODE`. Throws ConfigError, one line per fault. `volume` says why a folder does
 * not keep what is written to it; the hosted profile asks it about `/data`.
 */
export function readLiteConfig(env: Env, volume: (folder: string) => string | null = volumeFault): LiteConfig {
  const empty = TOKENS.filter((variable) => env[variable] === '');
  if (empty.length > 0)
    throw new ConfigError(
      'lite',
      empty.map((variable) => `${variable}: is empty; unset it or give it a value`),
    );
  const given: Env = { ...env, GATE_LITE_MODE: env.GATE_LITE_MODE ?? env.GATE_MODE };
  const config = readConfig('lite', LITE_SETTINGS, given);
  const halfSet = accessTokenFaults('GATE_LITE', config, { tenantsKnown: true }).filter((each) => each !== null);
  if (halfSet.length > 0) throw new ConfigError('lite', halfSet);
  const fault =
    upstreamsFault(config) ??
    (config.profile === 'hosted' ? hostedFault(config, given, volume) : developerFault(config));
  if (fault !== null) throw new ConfigError('lite', [fault]);
  return config;
}

function developerFault(config: LiteConfig): string | null {
  if (sharesToken(config)) return 'GATE_LITE_DECIDE_TOKEN: an agent has the same token; whoever asks must not decide';
  if (isLoopback(config.host)) return null;
  if (!config.token && !config.agents && !config.oauthIssuer)
    return 'GATE_LITE_HOST: others could call as anybody; set GATE_LITE_TOKEN or GATE_LITE_AGENTS (or GATE_LITE_OAUTH_ISSUER), or listen on 127.0.0.1';
  if (!config.decideToken && !config.deciders)
    return 'GATE_LITE_HOST: others could decide; set GATE_LITE_DECIDE_TOKEN or GATE_LITE_DECIDERS, or listen on 127.0.0.1';
  for (const [variables, tokens] of [
    ['GATE_LITE_TOKEN or GATE_LITE_AGENTS', agentTokens(config)],
    ['GATE_LITE_DECIDE_TOKEN or GATE_LITE_DECIDERS', operatorTokens(config)],
  ] as const)
    if (tokens.some(isShort))
      return `${variables}: a token is shorter than ${TOKEN_BYTES} bytes, and others can try them; make one with \`openssl rand -base64 32\`, or listen on 127.0.0.1`;
  return null;
}

const agentTokens = ({ token, agents: list }: LiteConfig) => [
  ...(token ? [token] : []),
  ...(list ?? []).map((agent) => agent.token),
];
const operatorTokens = ({ decideToken, deciders: list }: LiteConfig) => [
  ...(decideToken ? [decideToken] : []),
  ...(list ?? []).map((decider) => decider.token),
];
const digest = (text: string) => createHash('sha256').update(text).digest();

function sharesToken(config: LiteConfig): boolean {
  let shared = false;
  for (const agent of agentTokens(config))
    for (const operator of operatorTokens(config)) shared = timingSafeEqual(digest(agent), digest(operator)) || shared;
  return shared;
}

/** Where others can try tokens, a token must be too long to guess. */
const TOKEN_BYTES = 32;
const isShort = (token: string): boolean => Buffer.byteLength(token.trim()) < TOKEN_BYTES;

const PREFIX = 'unsafe hosted configuration:';
const PLACEHOLDER = /^(change[-_ ]?me.*|replace[-_ ]?me.*|your[-_ ]?token.*|(.)\2*)$/i;

/**
 * The first reason not to start where others can reach it (docs/architecture/lite.md#hosted-profile), or `null`. Each names its setting.
 */
function hostedFault(config: LiteConfig, env: Env, volume: (folder: string) => string | null): string | null {
  const refuse = (text: string) => `${PREFIX} ${text}`;
  for (const [single, several, tokens] of [
    ['GATE_LITE_TOKEN', 'GATE_LITE_AGENTS', agentTokens(config)],
    ['GATE_LITE_DECIDE_TOKEN', 'GATE_LITE_DECIDERS', operatorTokens(config)],
  ] as const) {
    const given = [single, several].filter((variable) => written(env, variable) !== undefined);
    const [variable] = given;
    if (variable === undefined && single === 'GATE_LITE_TOKEN' && config.oauthIssuer !== undefined) continue;
    if (variable === undefined) return refuse(`set ${single} or ${several}`);
    if (given.length > 1) return refuse(`set ${single} or ${several}, not both`);
    if (
      written(env, variable)
        ?.split(',')
        .some((entry) => entry.trim() === '')
    )
      return refuse(`${variable} has an empty entry`);
    if (tokens.some(isShort)) return refuse(`${variable} holds a token shorter than ${TOKEN_BYTES} bytes`);
    if (tokens.some((token) => PLACEHOLDER.test(token.trim()))) return refuse(`${variable} holds a placeholder`);
  }
  if (sharesToken(config)) return refuse('GATE_LITE_DECIDE_TOKEN or GATE_LITE_DECIDERS repeats a token of an agent');
  if (config.mode !== 'enforce') return refuse('GATE_LITE_MODE must be enforce');
  if (config.verboseVerdicts) return refuse('GATE_LITE_VERBOSE_VERDICTS must be off');
  if (!(config.rateLimitQps >= 0.1 && config.rateLimitQps <= 100))
    return refuse('GATE_LITE_RATE_LIMIT_QPS must be from 0.1 to 100');
  if (config.rateLimitBurst === undefined || config.rateLimitBurst > 200)
    return refuse('GATE_LITE_RATE_LIMIT_BURST must be from 1 to 200');
  if (!beneathData(config.ledger))
    return refuse('GATE_LITE_LEDGER must be a file beneath /data, written without . or ..');
  const data = volume(DATA);
  if (data !== null) return refuse(`GATE_LITE_LEDGER: ${DATA} ${data}`);
  const upstream = config.upstreams ? upstreamsHostedFault(config.upstreams) : oneUpstreamFault(config);
  if (upstream !== null) return refuse(upstream);
  if (config.upstreamTimeoutSecs > 30) return refuse('GATE_LITE_UPSTREAM_TIMEOUT_SECS must be at most 30');
  if (config.callbackAllowPrivate.length > 0) return refuse('GATE_LITE_CALLBACK_ALLOW_PRIVATE must be empty');
  return null;
}

/** The text of a setting, from its variable or from the file that is named for it. */
function written(env: Env, variable: string): string | undefined {
  const file = env[`${variable}_FILE`];
  return env[variable] || (file ? readFileSync(file, 'utf8').trim() : undefined);
}

const DATA = `${sep}data`;
const beneathData = (file: string): boolean =>
  isAbsolute(file) && normalize(file) === file && file.startsWith(`${DATA}${sep}`) && file.length > DATA.length + 1;

function oneUpstreamFault({ upstreamUrl, upstreamAdapter }: LiteConfig): string | null {
  const fault = upstreamFault(upstreamUrl);
  if (fault !== null) return `GATE_LITE_UPSTREAM_URL ${fault}`;
  return upstreamAdapter === 'mcp-jsonrpc-v1' ? null : 'GATE_LITE_UPSTREAM_ADAPTER must be mcp-jsonrpc-v1';
}

/** What holds for the address of one upstream holds for each of several. A command would run beside the ledger and its keys. */
function upstreamsHostedFault(upstreams: readonly UpstreamEntry[]): string | null {
  const faults = upstreams.map((entry, at) => {
    const fault = 'command' in entry ? 'must not be a command' : upstreamFault(entry.url);
    return fault === null ? null : `GATE_UPSTREAMS: upstreams[${at}] ${fault}`;
  });
  return faults.find((fault) => fault !== null) ?? null;
}

function upstreamFault(text: string | undefined): string | null {
  if (text === undefined) return 'is not set';
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'must be https';
  if (url.username !== '' || url.password !== '' || url.hash !== '') return 'must not carry user info or a fragment';
  const host = url.hostname.replace(/\.$/, '');
  if (host === '' || host === 'localhost' || host === 'example.com' || /\.(example|invalid|test)$/.test(host))
    return 'names a host that is no real one';
  const address = literalAddress(host);
  if (address !== null) return isPublicAddress(address) ? null : 'names an address that is not public';
  if (!host.includes('.') || /\.(localhost|local|internal|home\.arpa)$/.test(host))
    return 'names a host that is not public';
  return null;
}
