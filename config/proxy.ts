import { z } from 'zod';
import { mode } from '../contracts/call.js';
import { DEFAULT_TTL_SECONDS } from '../domain/decision/transitions.js';
import { accessTokenSettings } from './access-tokens.js';
import { inspectionTimeoutSetting } from './brain-models.js';
import { consoleUrl } from './console.js';
import { csv, onOff, seconds, setting } from './env.js';
import { listenerSettings } from './listener.js';
import { quarantineSetting, RESPONSE_SETTINGS } from './responses.js';
import { agentLimits, callbackBoundaries, demoAgents } from './shared.js';

/** Settings of the proxy process. The reference page is printed from these meanings. */
export const PROXY_SETTINGS = {
  ...listenerSettings('GATE_PROXY', 'the proxy', { port: 8443, healthPort: 8080 }),
  publicUrl: setting(
    'GATE_PROXY_PUBLIC_URL',
    z
      .url({ protocol: /^https?$/ })
      .refine((url) => new URL(url).pathname === '/', 'has no path')
      .optional(),
    'Address by which agents reach this listener, such as `https://gate.example:8443`: links in answers begin with it. Without it they begin with the `Host` of the request. A listener on loopback is called by this name and by those of loopback alone.',
  ),
  ...accessTokenSettings('GATE_PROXY'),
  revocations: setting(
    'GATE_PROXY_REVOCATIONS',
    z.enum(['identity', 'none']).default('identity'),
    'Who says which certificates of agents were taken back, and which agents are stopped. `none`: nobody; each certificate counts until it ends, and `gate contain` stops nobody here.',
  ),
  grants: setting(
    'GATE_PROXY_GRANTS',
    z.enum(['optional', 'required']).default('optional'),
    'Whether a tool call needs a grant (`X-Gate-Grant`), which says on whose behalf its agent asks. `required`: 403 `grant_required` without one. One that is shown is judged either way.',
  ),
  attestation: setting(
    'GATE_PROXY_ATTESTATION',
    z.enum(['off', 'required']).default('off'),
    'Whether identity is asked what the platform of an agent attested. `required`: rules hear it (`attestation`), and money is wired only from a platform that was attested; a tool call that identity cannot be asked about is 503.',
  ),
  consoleUrl: setting(
    'GATE_CONSOLE_URL',
    consoleUrl,
    'Where people open the console: links to decisions lead there, and MCP clients that open addresses are asked to show their user where his call is decided. Without it links have no address, and nobody is asked.',
  ),
  mode: setting(
    'GATE_MODE',
    mode.default('enforce'),
    '`enforce` honours verdicts; `observe` lets everything through and records what would have happened.',
  ),
  callbackAllowlist: setting(
    'GATE_PROXY_CALLBACK_ALLOWLIST',
    callbackBoundaries,
    'URL prefixes a callback address must match; empty refuses every callback.',
  ),
  callbackAllowPrivate: setting(
    'GATE_CALLBACK_ALLOW_PRIVATE',
    csv,
    'host:port pairs callbacks may reach although they are not public. Development only.',
  ),
  verboseVerdicts: setting(
    'GATE_PROXY_VERBOSE_VERDICTS',
    onOff,
    'Adds the scores of the detectors to denials and parks: for tuning; it tells an attacker what to change.',
  ),
  blockPoisonedDefinitions: setting(
    'GATE_PROXY_BLOCK_POISONED_DEFINITIONS',
    onOff,
    'Answers 502 instead of a list of tools that changed since an agent saw it first, or that holds instructions to a model; without it a change is recorded only, and instructions are taken out of the entry that holds them.',
  ),
  quarantineDefinitions: quarantineSetting('GATE_PROXY'),
  responseMode: RESPONSE_SETTINGS.responseMode,
  velocityLimit: setting(
    'GATE_VELOCITY_LIMIT',
    z.coerce.number().int().min(0).max(1_000_000).default(100),
    'Tool calls one agent may make per window; 0 turns the limit off.',
  ),
  velocityWindowSecs: setting(
    'GATE_VELOCITY_WINDOW_SECS',
    seconds(60, 1, 3_600),
    'Length of the sliding window of the velocity limit, in seconds.',
  ),
  requestCostMicros: setting(
    'GATE_PROXY_REQUEST_COST_MICROS',
    z.coerce.number().int().min(0).max(1_000_000_000_000).default(0),
    'The most that models may cost for one call, of a batch for each of its calls, in micro-units of the currency: so much is reserved of the budgets of its tenant and agent before anything of it is paid for, and what it did not cost is given back. 0 where no models judge.',
  ),
  ...agentLimits('GATE_PROXY'),
  demoAgents,
  callDeadlineSecs: setting(
    'GATE_CALL_DEADLINE_SECS',
    seconds(10, 1, 300),
    'A call must have begun within this time; later it is abandoned without an effect.',
  ),
  inspectionTimeoutSecs: inspectionTimeoutSetting,
  upstreamTimeoutSecs: setting(
    'GATE_UPSTREAM_TIMEOUT_SECS',
    seconds(30, 1, 600),
    'Time one upstream call may take before its outcome is uncertain.',
  ),
  ttlAutoSecs: setting(
    'GATE_REVIEW_TTL_AUTO_SECS',
    seconds(DEFAULT_TTL_SECONDS.auto),
    'How long a call of tier auto waits for a decision.',
  ),
  ttlStandardSecs: setting(
    'GATE_REVIEW_TTL_STANDARD_SECS',
    seconds(DEFAULT_TTL_SECONDS.standard),
    'How long a call of tier standard waits for a decision.',
  ),
  ttlStrictSecs: setting(
    'GATE_REVIEW_TTL_STRICT_SECS',
    seconds(DEFAULT_TTL_SECONDS.strict),
    'How long a call of tier strict waits for a decision.',
  ),
  decisionPublicKeyFile: setting(
    'GATE_HIL_DECISION_PUBLIC_KEY_FILE',
    z.string().min(1),
    "PEM of the public key that HIL's decisions are verified with.",
  ),
  signingKeyFile: setting(
    'GATE_SIGNING_KEY_FILE',
    z.string().min(1),
    'PEM of the Ed25519 key that signs authorizations, a list of such keys (`gate keys rotate authorizations`), which is read while the proxy runs, or where the key lies (`pkcs11:` or `awskms:`).',
  ),
  otherSigningKeysFile: setting(
    'GATE_SIGNING_OTHER_KEYS_FILE',
    z.string().min(1).optional(),
    'PEM of Ed25519 public keys that signed authorizations before, or will: they stand in the key set, and receipts of authorizations by them are taken.',
  ),
  maxInFlight: setting(
    'GATE_PROXY_MAX_IN_FLIGHT',
    z.coerce.number().int().min(1).max(100_000).default(500),
    'Calls under way at once; more are answered 503 and may be sent again.',
  ),
  judgedAtOnce: setting(
    'GATE_PROXY_JUDGED_AT_ONCE',
    z.coerce.number().int().min(1).max(100_000).default(16),
    'Calls that are judged at once, of those under way; the others wait, and agents take turns. Calls that are at their tools or wait for people do not count.',
  ),
  judgedPerAgent: setting(
    'GATE_PROXY_JUDGED_PER_AGENT',
    z.coerce.number().int().min(1).max(100_000).default(8),
    'How many of those may be of one agent.',
  ),
} as const;
