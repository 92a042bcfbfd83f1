import { z } from 'zod';
import { seconds, setting } from './env.js';

const serviceUrl = (defaultUrl: string) =>
  z.url({ protocol: /^https$/, message: 'must be an https:// URL' }).default(defaultUrl);

/** Settings of the worker: where tools are, and how what broke is closed. */
export const WORKER_SETTINGS = {
  upstreamUrl: setting(
    'GATE_UPSTREAM_URL',
    z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional(),
    'The MCP server behind Gate (streamable HTTP). Without it `gate start` runs its demonstration tools.',
  ),
  upstreamApiKey: setting(
    'GATE_UPSTREAM_API_KEY',
    z.string().min(8).optional(),
    "Sent to the upstream as Authorization: Bearer. Agents' own credentials never go there.",
    { secret: true },
  ),
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

/** Where the services are, for a worker or proxy that runs apart from them. */
export const SERVICE_URL_SETTINGS = {
  brainUrl: setting('GATE_BRAIN_URL', serviceUrl('https://127.0.0.1:8081'), 'Brain.'),
  policyUrl: setting('GATE_POLICY_URL', serviceUrl('https://127.0.0.1:8082'), 'Policy engine.'),
  ledgerUrl: setting('GATE_LEDGER_URL', serviceUrl('https://127.0.0.1:8083'), 'Ledger.'),
  hilUrl: setting('GATE_HIL_URL', serviceUrl('https://127.0.0.1:8084'), 'Human review.'),
} as const;
