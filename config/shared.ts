import { z } from 'zod';
import { MAX_ESCALATIONS } from '../contracts/review.js';
import { parseKeyRing, type KeyRing } from '../domain/crypto/key-ring.js';
import { parseCallbackAllowlist } from '../domain/outbound/callback-url.js';
import { errorText } from '../domain/errors.js';
import { type Config, csv, seconds, setting } from './env.js';
import type { FlowSettings } from '../domain/information-flow/flow.js';

/** Reads text with a parser of the domain; what it throws becomes the setting's fault. */
export const parsedBy = <Value>(parse: (text: string) => Value) =>
  z.string().transform((text, context): Value => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: errorText(error) });
      return z.NEVER;
    }
  });

export const keyRingText = parsedBy<KeyRing>(parseKeyRing);

/** Where callbacks may go, each entry as it was written. An entry that is not a valid boundary is a configuration error. */
export const callbackBoundaries = csv.superRefine((entries, context) => {
  try {
    parseCallbackAllowlist(entries);
  } catch (error) {
    context.addIssue({ code: 'custom', message: errorText(error) });
  }
});

/** What every process of the full stack reads. */
export const SHARED_SETTINGS = {
  stateDir: setting(
    'GATE_STATE_DIR',
    z.string().min(1).default('.gate'),
    'Folder of everything Gate keeps on this machine.',
  ),
  databaseUrl: setting(
    'GATE_DATABASE_URL',
    z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
      .optional(),
    'Postgres for every store, one schema each; without it SQLite files under the state folder.',
    { secret: true },
  ),
  trustDomain: setting(
    'GATE_TRUST_DOMAIN',
    z
      .string()
      .regex(/^[a-z0-9.-]{1,255}$/)
      .default('gate.local'),
    'SPIFFE trust domain of agents and services.',
  ),
  logLevel: setting(
    'GATE_LOG_LEVEL',
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'Least severe log line that is written.',
  ),
} as const;

/** The certificate of a process that runs separately; `npm start` takes those of its development CA. */
export const TLS_SETTINGS = {
  caFile: setting('GATE_TLS_CA_FILE', z.string().min(1), "PEM of the CA that signed this deployment's certificates."),
  certFile: setting(
    'GATE_TLS_CERT_FILE',
    z.string().min(1),
    "PEM of this process's certificate, its SPIFFE id as URI SAN.",
  ),
  keyFile: setting('GATE_TLS_KEY_FILE', z.string().min(1), 'PEM of the private key to it.'),
  workloadDir: setting(
    'GATE_WORKLOAD_STATE_DIR',
    z.string().min(1).optional(),
    'Folder in which this process keeps the certificate that identity gave it, where `GATE_TLS_CERT_FILE` is a bootstrap certificate. Identity itself needs none.',
  ),
} as const;

/** The workflow engine, for the processes that use it: proxy, hil, worker. */
export const ENGINE_SETTINGS = {
  address: setting(
    'GATE_TEMPORAL_ADDRESS',
    z.string().min(1).optional(),
    'host:port of the workflow engine; without it `gate start` brings one up itself.',
  ),
  namespace: setting('GATE_TEMPORAL_NAMESPACE', z.string().min(1).default('gate'), "Namespace of Gate's workflows."),
  taskQueue: setting(
    'GATE_TASK_QUEUE',
    z.string().min(1).default('gate-tool-call'),
    "Task queue of Gate's workflows and activities.",
  ),
  park: setting(
    'GATE_PARK',
    z.enum(['continue', 'stay']).default('continue'),
    'Where a parked call waits: `continue` in a small run of its own on the queue `<GATE_TASK_QUEUE>-parked`, `stay` in the run that judged it.',
  ),
  payloadKeys: setting(
    'GATE_PAYLOAD_KEYS',
    keyRingText,
    'Keys that encrypt workflow histories: id:64hex[,id:64hex…]; the first seals, all open.',
    { secret: true },
  ),
  tlsCaFile: setting(
    'GATE_TEMPORAL_TLS_CA_FILE',
    z.string().optional(),
    "CA of the engine's certificate; set all three for mutual TLS to the engine.",
  ),
  tlsCertFile: setting('GATE_TEMPORAL_TLS_CERT_FILE', z.string().optional(), 'Client certificate towards the engine.'),
  tlsKeyFile: setting('GATE_TEMPORAL_TLS_KEY_FILE', z.string().optional(), 'Key to it.'),
  tlsServerName: setting(
    'GATE_TEMPORAL_TLS_SERVER_NAME',
    z.string().optional(),
    "Name expected in the engine's certificate, where it is not the address.",
  ),
} as const;

/** What agents read, and what is trusted of it, in both editions (docs/architecture/information-flow.md). */
export const taintSettings = {
  taintTrustedTools: setting(
    'GATE_TAINT_TRUSTED_TOOLS',
    csv,
    'Tools, separated by commas, whose answers nobody outside can write to, such as a directory: addresses from them may go anywhere. Of any other tool, an address in its answer that goes to a tool which sends or pays waits for a person.',
  ),
  taintTrustedValues: setting(
    'GATE_TAINT_TRUSTED_VALUES',
    csv,
    'Domains (with every mail address and host below them), mail addresses and account numbers, separated by commas, that may go anywhere whoever named them.',
  ),
  taintWindowSecs: setting(
    'GATE_TAINT_WINDOW_SECS',
    seconds(86_400, 0, 2_592_000),
    'How long it is remembered what an answer brought to an agent; 0 turns it off.',
  ),
} as const;

/** As the call store takes them. */
export const flowSettingsOf = ({
  taintTrustedTools,
  taintTrustedValues,
  taintWindowSecs,
}: Config<typeof taintSettings>): FlowSettings => ({
  windowMs: taintWindowSecs * 1000,
  trustedTools: taintTrustedTools,
  trustedValues: taintTrustedValues,
});

/** The call store, opened by proxy and worker alike. */
export const CALL_STORE_SETTINGS = {
  ...taintSettings,
  recordKeys: setting(
    'GATE_RECORD_KEYS',
    keyRingText,
    'Keys that encrypt requests and results in the call store: id:64hex[,id:64hex…].',
    { secret: true },
  ),
} as const;

/** Agents whose calls are a demonstration: kept separate in the ledger, and in neither invoices nor evidence after a cleanup. */
export const demoAgents = setting(
  'GATE_DEMO_AGENTS',
  csv.refine((entries) => entries.every((entry) => /^[A-Za-z0-9._-]{1,63}\/[A-Za-z0-9._-]{1,63}$/.test(entry)), {
    message: 'an agent is written tenant/agent',
  }),
  "Agents, as tenant/agent, whose calls are a demonstration: their rows have the namespace `demo`, are on no invoice, and are what the demonstration's cleanup hides; one person is enough for each of them, also in tier strict. Where `gate start` runs its own tools, the two agents that belong to them.",
);

const SHARES = `must be up to ${MAX_ESCALATIONS} shares between 0 and 0.99, each larger than the one before, separated by commas; 0 alone turns it off`;

/** `0.5`, `0.5,0.8`; none where it is `0`. */
const shares = z
  .string()
  .default('0.5')
  .transform((text, context): readonly number[] => {
    const entries = text.split(',').map((entry) => (entry.trim() === '' ? Number.NaN : Number(entry)));
    if (entries.length === 1 && entries[0] === 0) return [];
    const isRising = entries.every((share, index) => share > (entries[index - 1] ?? 0) && share <= 0.99);
    if (isRising && entries.length <= MAX_ESCALATIONS) return entries;
    context.addIssue({ code: 'custom', message: SHARES });
    return z.NEVER;
  });

/** When a review that nobody has decided is escalated, in both editions. */
export const escalateShares = setting(
  'GATE_HIL_SLA_ESCALATE_FRACTION',
  shares,
  'Shares of its time, separated by commas, after which a review that nobody has decided is escalated, once for each: its row says so, the ledger has `hil.escalated`. 0 turns it off.',
);

/** What one agent may have waiting for people at once, in the edition whose settings start with this prefix. */
export const reviewLimits = <Prefix extends string>(prefix: Prefix) => ({
  maxParkedCalls: setting(
    `${prefix}_MAX_PARKED_CALLS`,
    z.coerce.number().int().min(1).max(1_000_000).default(100),
    'Calls of one agent that may wait for a decision at once; one more is answered 429.',
  ),
  maxParkedBytes: setting(
    `${prefix}_MAX_PARKED_BYTES`,
    // A single request must fit: its numbers may grow to nearly four times their length when they are written out.
    z.coerce.number().int().min(4_194_304).max(10_000_000_000).default(16_777_216),
    'Bytes that the requests among them may hold together.',
  ),
});

/** What one agent may do per minute besides tool calls, in the edition whose settings start with this prefix. */
export const agentLimits = <Prefix extends string>(prefix: Prefix) => ({
  controlLimit: setting(
    `${prefix}_CONTROL_LIMIT`,
    z.coerce.number().int().min(0).max(1_000_000).default(600),
    'Control calls (initialize, ping, lists, notifications) one agent may make per minute; 0 turns the limit off.',
  ),
  replayLimit: setting(
    `${prefix}_REPLAY_LIMIT`,
    z.coerce.number().int().min(0).max(1_000_000).default(6_000),
    'Answers of earlier calls one agent may ask for again per minute, polls included; 0 turns the limit off.',
  ),
  replayBytes: setting(
    `${prefix}_REPLAY_BYTES`,
    z.coerce.number().int().min(0).max(100_000_000_000).default(67_108_864),
    'Bytes of retained results one agent may be sent again per minute, and one result more; 0 turns the limit off.',
  ),
  streamLimit: setting(
    `${prefix}_STREAM_LIMIT`,
    z.coerce.number().int().min(0).max(1_000_000).default(100),
    'Event streams of MCP sessions one agent may have open at once; 0 turns the limit off.',
  ),
});
export const agentLimitsOf = (config: {
  readonly controlLimit: number;
  readonly replayLimit: number;
  readonly replayBytes: number;
  readonly streamLimit: number;
}) => ({
  controls: config.controlLimit,
  replays: config.replayLimit,
  replayedBytes: config.replayBytes,
  streams: config.streamLimit,
});
