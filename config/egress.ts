import { z } from 'zod';
import { SEVERITIES } from '../domain/evidence/egress/severity.js';
import { datadogSink, genericSink, type Sink, type SinkRouting, splunkSink } from '../domain/evidence/egress/sinks.js';
import { type Config, csv, seconds, setting } from './env.js';

const address = z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional();
const secretText = z.string().min(8).optional();
const tenants = csv.refine(
  (names) => names.every((name) => /^[A-Za-z0-9._-]{1,63}$/.test(name)),
  'must be tenant names separated by commas',
);
const severity = z.enum(SEVERITIES).default('info');
const TENANTS = 'Only rows of these tenants, separated by commas; empty: all.';
const SEVERITY = 'Only rows of this severity or above: info, medium (a human was asked), high (refused, alarms).';

/**
 * Streams of ledger rows to log platforms (docs/architecture/ledger-reads.md#streams-to-sinks). A sink without an address has no stream.
 */
export const EGRESS_SETTINGS = {
  intervalSecs: setting(
    'GATE_LEDGER_EGRESS_INTERVAL_SECS',
    seconds(30, 0, 300),
    'How often each sink is sent new rows; a failure doubles it up to 300. 0 starts no streams.',
  ),
  batchSize: setting(
    'GATE_LEDGER_EGRESS_BATCH_SIZE',
    z.coerce.number().int().min(1).max(1_000).default(100),
    'Rows of one request to a sink.',
  ),
  splunkUrl: setting('GATE_LEDGER_EGRESS_SPLUNK_URL', address, 'Splunk: base address of the HTTP event collector.'),
  splunkToken: setting('GATE_LEDGER_EGRESS_SPLUNK_TOKEN', secretText, 'Its token.', { secret: true }),
  splunkTenants: setting('GATE_LEDGER_EGRESS_SPLUNK_TENANTS', tenants, TENANTS),
  splunkMinSeverity: setting('GATE_LEDGER_EGRESS_SPLUNK_MIN_SEVERITY', severity, SEVERITY),
  datadogSite: setting(
    'GATE_LEDGER_EGRESS_DATADOG_SITE',
    z
      .string()
      .regex(/^[a-z0-9.-]{1,253}$/, 'must be a host name')
      .optional(),
    'Datadog: the site, such as datadoghq.eu.',
  ),
  datadogApiKey: setting('GATE_LEDGER_EGRESS_DATADOG_API_KEY', secretText, 'Its API key.', { secret: true }),
  datadogTenants: setting('GATE_LEDGER_EGRESS_DATADOG_TENANTS', tenants, TENANTS),
  datadogMinSeverity: setting('GATE_LEDGER_EGRESS_DATADOG_MIN_SEVERITY', severity, SEVERITY),
  genericUrl: setting('GATE_LEDGER_EGRESS_GENERIC_URL', address, 'Any HTTP receiver of JSON arrays.'),
  genericBearer: setting('GATE_LEDGER_EGRESS_GENERIC_BEARER', secretText, 'Sent to it as Authorization: Bearer.', {
    secret: true,
  }),
  genericTenants: setting('GATE_LEDGER_EGRESS_GENERIC_TENANTS', tenants, TENANTS),
  genericMinSeverity: setting('GATE_LEDGER_EGRESS_GENERIC_MIN_SEVERITY', severity, SEVERITY),
} as const;

/** Faults in settings that belong together, or `null`: a sink is configured with its secret or not at all. */
export function egressFault(config: Config<typeof EGRESS_SETTINGS>): string | null {
  const { splunkUrl, splunkToken, datadogSite, datadogApiKey } = config;
  if ((splunkUrl === undefined) !== (splunkToken === undefined))
    return 'GATE_LEDGER_EGRESS_SPLUNK_URL, GATE_LEDGER_EGRESS_SPLUNK_TOKEN: set both or none';
  if ((datadogSite === undefined) !== (datadogApiKey === undefined))
    return 'GATE_LEDGER_EGRESS_DATADOG_SITE, GATE_LEDGER_EGRESS_DATADOG_API_KEY: set both or none';
  return null;
}

/** The sinks that are configured. */
export function sinksOf(config: Config<typeof EGRESS_SETTINGS>): Sink[] {
  const { splunkUrl, splunkToken, datadogSite, datadogApiKey, genericUrl, genericBearer } = config;
  const routed = (kind: 'splunk' | 'datadog' | 'generic'): SinkRouting => ({
    tenants: config[`${kind}Tenants`],
    minSeverity: config[`${kind}MinSeverity`],
  });
  return [
    splunkUrl && splunkToken ? splunkSink({ ...routed('splunk'), url: splunkUrl, token: splunkToken }) : null,
    datadogSite && datadogApiKey
      ? datadogSink({ ...routed('datadog'), site: datadogSite, apiKey: datadogApiKey })
      : null,
    genericUrl ? genericSink({ ...routed('generic'), url: genericUrl, bearer: genericBearer }) : null,
  ].filter((sink) => sink !== null);
}
