import { z } from 'zod';
import { seconds, setting } from './env.js';
import { healthSettings } from './listener.js';
import { PROXY_SETTINGS } from './proxy.js';
import { upstreamsSetting } from './upstreams.js';

/** Where the tools are: the worker calls them, and the proxy forwards control methods to them. */
export const UPSTREAM_SETTINGS = {
  upstreams: upstreamsSetting,
  upstreamUrl: setting(
    'GATE_UPSTREAM_URL',
    z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional(),
    'The MCP server behind Gate (streamable HTTP). Without it `gate start` runs its demonstration tools.',
  ),
  upstreamName: setting(
    'GATE_UPSTREAM_NAME',
    z.string().min(1).max(200).optional(),
    'The name under which its tools are classed (`gate tools`); without it its address. The demonstration tools are `demo`.',
  ),
  upstreamApiKey: setting(
    'GATE_UPSTREAM_API_KEY',
    z.string().min(8).optional(),
    "Sent to the upstream as Authorization: Bearer. Agents' own credentials never go there.",
    { secret: true },
  ),
} as const;

const {
  callbackAllowlist,
  callbackAllowPrivate,
  velocityWindowSecs,
  upstreamTimeoutSecs,
  quarantineDefinitions,
  revocations,
} = PROXY_SETTINGS;

/** What proxy and worker must agree on about a call. */
export const CALL_LIMIT_SETTINGS = {
  callbackAllowlist,
  callbackAllowPrivate,
  velocityWindowSecs,
  upstreamTimeoutSecs,
  quarantineDefinitions,
  revocations,
} as const;

/** Settings of the worker: how decisions are verified, and how broken calls are closed. */
export const WORKER_SETTINGS = {
  decisionPublicKeyFile: setting(
    'GATE_HIL_DECISION_PUBLIC_KEY_FILE',
    z.string().min(1),
    "PEM of the public key that HIL's decisions are verified with.",
  ),
  callbackSecret: setting(
    'GATE_CALLBACK_SECRET',
    z.string().min(32).optional(),
    'Signs callbacks (HMAC-SHA256 in X-Gate-Signature); at least 32 characters.',
    { secret: true },
  ),
  reconcileEverySecs: setting(
    'GATE_RECONCILE_EVERY_SECS',
    seconds(30),
    'How often records without an end are looked at.',
  ),
  reconcileGraceSecs: setting(
    'GATE_RECONCILE_GRACE_SECS',
    seconds(60),
    'How long past its due moment a call may stand before it is closed, fail closed.',
  ),
  retentionDays: setting(
    'GATE_RECORD_RETENTION_DAYS',
    z.coerce.number().int().min(30).max(3_650).default(30),
    'How long call records are kept; never less than 30 days.',
  ),
} as const;

/** A worker that runs separately answers only probes. */
export const WORKER_HEALTH_SETTINGS = healthSettings('GATE_WORKER', 9091);
