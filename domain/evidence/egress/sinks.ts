import type { JsonObject } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { atLeast, type Severity, severityOf } from './severity.js';

/** The kinds of sinks (docs/architecture/ledger-reads.md#streams-to-sinks). There is at most one sink of each kind. */
export const SINK_KINDS = ['splunk', 'datadog', 'generic'] as const;
export type SinkKind = (typeof SINK_KINDS)[number];

/** Selects the rows a sink gets. The cursor also moves past the others. */
export interface SinkRouting {
  /** Empty means every tenant. */
  readonly tenants: readonly string[];
  readonly minSeverity: Severity;
}

/** A receiver of rows: its address and its format. */
export interface Sink extends SinkRouting {
  readonly kind: SinkKind;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** One row in this sink's format; `joined` makes one body of several. */
  renderRow(row: LedgerEntry): string;
  joined(rows: readonly string[]): string;
}

const ENVELOPE_FIELDS = [
  'id',
  'seq',
  'timestamp',
  'entry_hash',
  'prev_hash',
  'event_kind',
  'method',
  'agent_id',
  'tenant',
  'tool_name',
  'intent_category',
  'authorized',
  'signal',
  'reasoning',
  'correlation_id',
  'policy_decision',
  'state_namespace',
] as const;

/** The fields of a row that every sink gets. Receivers deduplicate by `id`, the entry's UUID. */
export function envelopeOf(row: LedgerEntry): JsonObject {
  const fields = row as JsonObject;
  return {
    contract: 'gate.egress-event/v1',
    ...Object.fromEntries(ENVELOPE_FIELDS.map((name) => [name, fields[name] ?? null])),
  };
}

export const isRouted = ({ tenants, minSeverity }: SinkRouting, row: LedgerEntry): boolean =>
  (tenants.length === 0 || tenants.some((tenant) => tenant === (row as JsonObject)['tenant'])) &&
  atLeast(severityOf(row), minSeverity);

const inArray = (rows: readonly string[]): string => `[${rows.join(',')}]`;

export const splunkSink = ({ url, token, ...routing }: SinkRouting & { url: string; token: string }): Sink => ({
  ...routing,
  kind: 'splunk',
  url: `${url.replace(/(?<!\/)\/+$/, '')}/services/collector`,
  headers: { authorization: `Splunk ${token}` },
  renderRow: (row) =>
    JSON.stringify({
      time: Date.parse(row.timestamp) / 1000,
      source: 'gate-ledger',
      sourcetype: 'gate:ledger',
      event: envelopeOf(row),
    }),
  joined: (rows) => rows.join('\n'),
});

export const datadogSink = ({
  site,
  apiKey,
  url = `https://http-intake.logs.${site}/api/v2/logs`,
  ...routing
}: SinkRouting & { site: string; apiKey: string; url?: string }): Sink => ({
  ...routing,
  kind: 'datadog',
  url,
  headers: { 'dd-api-key': apiKey },
  renderRow(row) {
    const envelope = envelopeOf(row);
    return JSON.stringify({
      ddsource: 'gate',
      service: 'gate-ledger',
      message: JSON.stringify(envelope),
      ...envelope,
    });
  },
  joined: inArray,
});

export const genericSink = ({
  url,
  bearer,
  ...routing
}: SinkRouting & { url: string; bearer?: string | undefined }): Sink => ({
  ...routing,
  kind: 'generic',
  url,
  headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  renderRow: (row) => JSON.stringify(envelopeOf(row)),
  joined: inArray,
});
