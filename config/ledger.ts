import { z } from 'zod';
import { SINK_KINDS } from '../domain/evidence/egress/sinks.js';
import { parseVkey } from '../domain/ledger/tlog/note.js';
import { type Config, csv, type Env, readConfig, seconds, setting } from './env.js';
import { listenerSettings } from './listener.js';
import { keyRingText, parsedBy } from './shared.js';

const webhookUrl = z
  .string()
  .regex(/^https?:\/\/[^\s/]+/, 'must be an http:// or https:// address')
  .optional();

export const LEDGER_SETTINGS = {
  ...listenerSettings('GATE_LEDGER', 'the ledger', { port: 8083, healthPort: 9083 }),
  sidecarKeys: setting(
    'GATE_LEDGER_SIDECAR_KEYS',
    keyRingText,
    'Keys that encrypt what entries commit to and seal the head of the chain: id:64hex[,id:64hex…]; the first seals, all open.',
    { secret: true },
  ),
  verifyEverySecs: setting(
    'GATE_LEDGER_VERIFY_EVERY_SECS',
    seconds(600, 0),
    'How often the whole chain is walked without being asked, the first time at the start; 0 is never.',
  ),
  verifyThreads: setting(
    'GATE_LEDGER_VERIFY_THREADS',
    z.coerce.number().int().min(0).max(64).default(2),
    'Threads that walk a long chain beside the appends; 0 walks in the thread that answers requests.',
  ),
  exportDir: setting(
    'GATE_LEDGER_EXPORT_DIR',
    z.string().min(1).optional(),
    'Folder of the Iceberg table that POST /export writes; without it and without an object store there are no cold copies.',
  ),
  exportUri: setting(
    'GATE_LEDGER_EXPORT_URI',
    z
      .string()
      .regex(/^[a-z][a-z0-9+.-]*:\/\/\S+$/, 'must be a URI')
      .optional(),
    'How readers reach the table where that is not by its path or s3:// address; its files name each other by it, for good.',
  ),
  exportS3Endpoint: setting(
    'GATE_LEDGER_EXPORT_S3_ENDPOINT',
    z
      .string()
      .regex(/^https?:\/\/[^\s/@?#]+\/?$/, 'must be https://host[:port]')
      .optional(),
    'S3-compatible object store that cold copies go to instead of a folder; it has to honour If-None-Match on writes.',
  ),
  exportS3Bucket: setting(
    'GATE_LEDGER_EXPORT_S3_BUCKET',
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is no name of a bucket')
      .optional(),
    'Its bucket.',
  ),
  exportS3Prefix: setting(
    'GATE_LEDGER_EXPORT_S3_PREFIX',
    z
      .string()
      .regex(
        /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*$/,
        'is words of A-Z a-z 0-9 . _ - between slashes, none at its ends',
      )
      .default('gate'),
    'What the keys of this ledger begin with, for good; no two ledgers share one.',
  ),
  exportS3Region: setting(
    'GATE_LEDGER_EXPORT_S3_REGION',
    z
      .string()
      .regex(/^[a-z0-9-]{1,63}$/)
      .default('us-east-1'),
    'The region that requests are signed for.',
  ),
  exportS3AccessKeyId: setting(
    'GATE_LEDGER_EXPORT_S3_ACCESS_KEY_ID',
    z.string().min(1).max(256).optional(),
    'Access key for it: s3:GetObject and s3:PutObject below the prefix, s3:ListBucket on the bucket.',
    { secret: true },
  ),
  exportS3SecretAccessKey: setting(
    'GATE_LEDGER_EXPORT_S3_SECRET_ACCESS_KEY',
    z.string().min(1).max(1_024).optional(),
    'Its secret.',
    { secret: true },
  ),
  exportRetentionSecs: setting(
    'GATE_LEDGER_EXPORT_RETENTION_SECS',
    seconds(0, 0, 220_752_000),
    'Only entries older than this are copied.',
  ),
  checkpointKeyFile: setting(
    'GATE_LEDGER_CHECKPOINT_KEY_FILE',
    z.string().min(1).optional(),
    'PEM of the Ed25519 key that signs checkpoints of the ledger, a list of such keys (`gate keys rotate checkpoints`), which is read while the ledger runs, or where the key lies (`pkcs11:` or `awskms:`); without it there are no checkpoints and no proofs.',
  ),
  checkpointOrigin: setting(
    'GATE_LEDGER_ORIGIN',
    z
      .string()
      .regex(/^[^\s+]{1,255}$/)
      .optional(),
    'Name of this log in its checkpoints, for good; without it `<GATE_TRUST_DOMAIN>/ledger`.',
  ),
  witnesses: setting(
    'GATE_LEDGER_WITNESSES',
    z
      .string()
      .default('')
      .pipe(
        parsedBy((text) =>
          text
            .split(',')
            .filter((key) => key.trim() !== '')
            .map(parseVkey),
        ),
      ),
    'Witnesses whose cosignatures of checkpoints are kept: verifier keys (name+hex+base64), separated by commas.',
  ),
  exportKeyFile: setting(
    'GATE_LEDGER_EXPORT_KEY_FILE',
    z.string().min(1).optional(),
    'PEM of the Ed25519 key that signs regulatory bundles, a list of such keys (`gate keys rotate exports`), or where the key lies; without it none leaves.',
  ),
  exportKeyId: setting(
    'GATE_LEDGER_EXPORT_KEY_ID',
    z
      .string()
      .regex(/^[A-Za-z0-9._:-]+:v[1-9][0-9]*$/)
      .default('gate-ledger:v1'),
    'Name and version of that key, as bundles say it; a list has those of its keys.',
  ),
  keySetFile: setting(
    'GATE_LEDGER_KEY_SET_FILE',
    z.string().min(1).optional(),
    'Key set (gate.historical-signing-keys/v1) that row and bundle signatures are verified with, read anew each time; without it the export key alone.',
  ),
  requireCrypto: setting(
    'GATE_LEDGER_REQUIRE_CRYPTO',
    z.stringbool().default(false),
    'Commit to a chain only when every signature in it was verified.',
  ),
  anchorIntervalSecs: setting(
    'GATE_LEDGER_ANCHOR_INTERVAL_SECS',
    seconds(0, 0, 604_800),
    'Seconds between two looks whether the tail of the chain is to be anchored outside; 0 anchors nothing.',
  ),
  anchorTsaUrl: setting(
    'GATE_LEDGER_ANCHOR_TSA_URL',
    webhookUrl,
    'Time-stamping authority (RFC 3161 over HTTP) that stamps the root of the chain.',
  ),
  anchorTsaCaFile: setting(
    'GATE_LEDGER_ANCHOR_TSA_CA_FILE',
    z.string().min(1).optional(),
    'PEM of the roots whose time stamps count; without it they are kept and not verified.',
  ),
  anchorWebhook: setting(
    'GATE_LEDGER_ANCHOR_WEBHOOK_URL',
    webhookUrl,
    'Where the root of the chain is posted to; the bytes of the answer are kept.',
  ),
  retentionStandardSecs: setting(
    'GATE_LEDGER_RETENTION_STANDARD_SECS',
    z.coerce.number().int().min(1).max(630_720_000).optional(),
    'Seconds for which the sealed bytes beside entries of ordinary calls are kept; without it for good.',
  ),
  retentionExtendedSecs: setting(
    'GATE_LEDGER_RETENTION_EXTENDED_SECS',
    z.coerce.number().int().min(1).max(630_720_000).optional(),
    'The same for calls that were denied or reviewed, and where no class was given.',
  ),
  retentionPurgeSecs: setting(
    'GATE_LEDGER_RETENTION_PURGE_INTERVAL_SECS',
    seconds(3600),
    'Seconds between two looks at what has been kept long enough.',
  ),
  legalHold: setting(
    'GATE_LEDGER_LEGAL_HOLD',
    z.stringbool().default(false),
    'Erase nothing that time would erase; exports go on and say so in their row.',
  ),
  vacuumRetentionSecs: setting(
    'GATE_LEDGER_VACUUM_RETENTION_SECS',
    z.coerce
      .number()
      .int()
      .min(15_811_200, 'must be 15811200 (183 days) or more')
      .max(220_752_000, 'must be 220752000 (7 years) or less')
      .optional(),
    'Entries older than this that were copied to the cold tier are deleted from the chain, with the sealed bytes beside them, of which there is no copy (docs/decisions/ledger-vacuum.md); without it none ever is. Needs cold copies and GATE_LEDGER_CHECKPOINT_KEY_FILE.',
  ),
  vacuumIntervalSecs: setting(
    'GATE_LEDGER_VACUUM_INTERVAL_SECS',
    seconds(3600),
    'Seconds between two looks at what may be deleted.',
  ),
  vacuumSinks: setting(
    'GATE_LEDGER_VACUUM_SINKS',
    csv.refine(
      (names) => names.every((name) => SINK_KINDS.some((kind) => kind === name)),
      `must be names out of ${SINK_KINDS.join(', ')}, separated by commas`,
    ),
    'Sinks without whose confirmation no entry is deleted, separated by commas; empty: every sink whose stream ever asked for rows.',
  ),
  silenceWatchdogSecs: setting(
    'GATE_LEDGER_SILENCE_WATCHDOG_INTERVAL_SECS',
    seconds(0, 0, 604_800),
    'Seconds between two looks for agents that are silent; each silence leaves one row `agent_silent`. 0 looks for none.',
  ),
  silenceThresholdHours: setting(
    'GATE_LEDGER_SILENCE_WATCHDOG_THRESHOLD_HOURS',
    z.coerce.number().int().min(1).max(8_760).default(6),
    'Hours without a call after which an active agent is silent, unless it is on the list of those who may be.',
  ),
  driftWatchdogSecs: setting(
    'GATE_LEDGER_DRIFT_WATCHDOG_INTERVAL_SECS',
    seconds(0, 0, 604_800),
    'Seconds between two looks for agents whose behaviour drifted; each leaves one row `behavior_drifted` per recent window. 0 looks for none.',
  ),
  driftRecentDays: setting(
    'GATE_LEDGER_DRIFT_WATCHDOG_RECENT_DAYS',
    z.coerce.number().int().min(1).max(90).default(7),
    'Days of the window that is judged.',
  ),
  driftBaselineDays: setting(
    'GATE_LEDGER_DRIFT_WATCHDOG_BASELINE_DAYS',
    z.coerce.number().int().min(1).max(90).default(14),
    'Days before it that it is compared with.',
  ),
  authorityWebhook: setting(
    'GATE_LEDGER_AUTHORITY_WEBHOOK',
    webhookUrl,
    "Where a classified case is reported to; without it reports wait in the ledger's store.",
  ),
  authorityBearer: setting(
    'GATE_LEDGER_AUTHORITY_WEBHOOK_BEARER',
    z.string().min(1).optional(),
    'Bearer token for it.',
    { secret: true },
  ),
  authorityIntervalSecs: setting(
    'GATE_LEDGER_AUTHORITY_INTERVAL_SECS',
    seconds(30),
    'Seconds between two looks at what is due; the first wait after a failed report, doubled with each.',
  ),
} as const;
export type LedgerConfig = Config<typeof LEDGER_SETTINGS>;

/** Faults in settings that belong together, or `null`: nothing is vacuumed that is not kept and proved elsewhere. */
export function vacuumFault(
  config: Pick<LedgerConfig, 'vacuumRetentionSecs' | 'exportDir' | 'exportS3Endpoint' | 'checkpointKeyFile'>,
): string | null {
  const { vacuumRetentionSecs, exportDir, exportS3Endpoint, checkpointKeyFile } = config;
  const copied = exportDir !== undefined || exportS3Endpoint !== undefined;
  if (vacuumRetentionSecs === undefined || (copied && checkpointKeyFile !== undefined)) return null;
  return 'GATE_LEDGER_VACUUM_RETENTION_SECS: needs cold copies (GATE_LEDGER_EXPORT_DIR or _S3_ENDPOINT) and GATE_LEDGER_CHECKPOINT_KEY_FILE';
}

/** The settings of the ledger. Throws ConfigError with every fault at once. */
export const readLedgerConfig = (env: Env): LedgerConfig => readConfig('ledger', LEDGER_SETTINGS, env);
