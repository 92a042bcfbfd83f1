import { z } from 'zod';
import { BRAIN_SETTINGS } from './brain.js';
import { DEVELOPMENT_SETTINGS } from './development.js';
import { EGRESS_SETTINGS } from './egress.js';
import { type Env, type GroupConfig, readGroups, type SettingGroups, type Settings, setting } from './env.js';
import { HIL_SETTINGS, proxyOperators } from './hil.js';
import { LEDGER_SETTINGS } from './ledger.js';
import { POLICY_SETTINGS } from './policy.js';
import { PROXY_SETTINGS } from './proxy.js';
import { CALL_STORE_SETTINGS, ENGINE_SETTINGS, SHARED_SETTINGS, TLS_SETTINGS } from './shared.js';
import { SERVICE_URL_SETTINGS, UPSTREAM_SETTINGS, WORKER_HEALTH_SETTINGS, WORKER_SETTINGS } from './worker.js';

/** A process apart finds the engine; it never starts one. */
const ENGINE_APART_SETTINGS = {
  ...ENGINE_SETTINGS,
  address: setting('GATE_TEMPORAL_ADDRESS', z.string().min(1), 'host:port of the workflow engine.'),
} as const;

/** Proxy and worker share the call store, which only a server can offer to processes on different machines. */
const SHARED_STORE_SETTINGS = {
  ...SHARED_SETTINGS,
  databaseUrl: { ...SHARED_SETTINGS.databaseUrl, type: SHARED_SETTINGS.databaseUrl.type.unwrap() },
} as const;

const { trustDomain, logLevel } = SHARED_SETTINGS;
const { ledgerUrl, hilUrl } = SERVICE_URL_SETTINGS;
const { callbackAllowlist, callbackAllowPrivate, velocityWindowSecs, upstreamTimeoutSecs } = PROXY_SETTINGS;

/** What each process that runs apart reads (docs/decisions/processes-apart.md), by the part that reads it. */
export const APART_SETTINGS = {
  proxy: {
    shared: SHARED_STORE_SETTINGS,
    tls: TLS_SETTINGS,
    engine: ENGINE_APART_SETTINGS,
    callStore: CALL_STORE_SETTINGS,
    urls: { ledgerUrl, hilUrl },
    upstream: UPSTREAM_SETTINGS,
    operators: { operators: proxyOperators },
    own: PROXY_SETTINGS,
  },
  brain: { shared: { trustDomain, logLevel }, tls: TLS_SETTINGS, own: BRAIN_SETTINGS },
  'policy-engine': { shared: { trustDomain, logLevel }, tls: TLS_SETTINGS, own: POLICY_SETTINGS },
  hil: { shared: SHARED_SETTINGS, tls: TLS_SETTINGS, engine: ENGINE_APART_SETTINGS, own: HIL_SETTINGS },
  ledger: { shared: SHARED_SETTINGS, tls: TLS_SETTINGS, own: LEDGER_SETTINGS },
  worker: {
    shared: SHARED_STORE_SETTINGS,
    tls: TLS_SETTINGS,
    engine: ENGINE_APART_SETTINGS,
    callStore: CALL_STORE_SETTINGS,
    urls: SERVICE_URL_SETTINGS,
    proxy: { callbackAllowlist, callbackAllowPrivate, velocityWindowSecs, upstreamTimeoutSecs },
    own: WORKER_SETTINGS,
    egress: EGRESS_SETTINGS,
    health: WORKER_HEALTH_SETTINGS,
  },
} as const satisfies Record<string, SettingGroups>;

export type ProcessName = keyof typeof APART_SETTINGS;
export type ApartConfig<Name extends ProcessName> = GroupConfig<(typeof APART_SETTINGS)[Name]>;
export const PROCESS_NAMES = Object.keys(APART_SETTINGS) as readonly ProcessName[];

/** What `gate start` reads: every process's settings, those of its own children, and no certificate files. */
export const START_SETTINGS = {
  shared: SHARED_SETTINGS,
  development: DEVELOPMENT_SETTINGS,
  engine: ENGINE_SETTINGS,
  callStore: CALL_STORE_SETTINGS,
  worker: WORKER_SETTINGS,
  proxy: PROXY_SETTINGS,
  brain: BRAIN_SETTINGS,
  policy: POLICY_SETTINGS,
  hil: HIL_SETTINGS,
  ledger: LEDGER_SETTINGS,
  egress: EGRESS_SETTINGS,
} as const satisfies SettingGroups;

/** The settings of one process that runs apart, typed and frozen. Throws ConfigError with every fault of every group at once. */
export const readApartConfig = <Name extends ProcessName>(name: Name, env: Env): ApartConfig<Name> =>
  readGroups(`gate ${name === 'worker' ? 'worker' : `serve ${name}`}`, APART_SETTINGS[name], env) as ApartConfig<Name>;

/** One line of a reference: what is read, and what holds when nothing is set. */
export interface SettingLine {
  readonly variable: string;
  /** `required`, `none`, `empty`, or the value. */
  readonly default: string;
  readonly secret: boolean;
  readonly meaning: string;
}

/** Every setting of the groups once, in their order. */
export function settingLines(groups: SettingGroups): readonly SettingLine[] {
  const lines = new Map<string, SettingLine>();
  for (const settings of Object.values<Settings>(groups))
    for (const { variable, meaning, type, secret = false } of Object.values(settings))
      if (!lines.has(variable)) lines.set(variable, { variable, default: defaultText(type), secret, meaning });
  return [...lines.values()];
}

function defaultText(type: z.ZodType): string {
  const result = type.safeParse(undefined);
  if (!result.success) return 'required';
  if (result.data === undefined) return 'none';
  return Array.isArray(result.data) ? 'empty' : z.coerce.string().parse(result.data);
}
