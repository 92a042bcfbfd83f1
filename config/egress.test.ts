import { describe, expect, it } from '@jest/globals';
import { EGRESS_SETTINGS, egressFault, sinksOf } from './egress.js';
import { readConfig } from './env.js';

const read = (env: Record<string, string>) => readConfig('test', EGRESS_SETTINGS, env);

describe('the settings of streams to sinks', () => {
  it('start no stream unless a sink is named, every 30 s with 100 rows', () => {
    const config = read({});
    expect(config).toMatchObject({ intervalSecs: 30, batchSize: 100 });
    expect([sinksOf(config), egressFault(config)]).toEqual([[], null]);
  });

  it('name the three kinds with their addresses and credentials', () => {
    const config = read({
      GATE_LEDGER_EGRESS_SPLUNK_URL: 'https://splunk.example:8088/',
      GATE_LEDGER_EGRESS_SPLUNK_TOKEN: 'token-of-splunk',
      GATE_LEDGER_EGRESS_DATADOG_SITE: 'datadoghq.eu',
      GATE_LEDGER_EGRESS_DATADOG_API_KEY: 'key-of-datadog',
      GATE_LEDGER_EGRESS_GENERIC_URL: 'http://collector/rows',
      GATE_LEDGER_EGRESS_GENERIC_BEARER: 'bearer-of-generic',
      GATE_LEDGER_EGRESS_GENERIC_TENANTS: 'acme, other',
      GATE_LEDGER_EGRESS_GENERIC_MIN_SEVERITY: 'high',
    });
    expect(egressFault(config)).toBeNull();
    expect(sinksOf(config)).toMatchObject([
      {
        kind: 'splunk',
        url: 'https://splunk.example:8088/services/collector',
        headers: { authorization: 'Splunk token-of-splunk' },
      },
      {
        kind: 'datadog',
        url: 'https://http-intake.logs.datadoghq.eu/api/v2/logs',
        headers: { 'dd-api-key': 'key-of-datadog' },
      },
      {
        kind: 'generic',
        url: 'http://collector/rows',
        headers: { authorization: 'Bearer bearer-of-generic' },
        tenants: ['acme', 'other'],
        minSeverity: 'high',
      },
    ]);
  });

  it('an address without its secret, or the other way round, is a fault', () => {
    expect(egressFault(read({ GATE_LEDGER_EGRESS_SPLUNK_URL: 'https://s' }))).toMatch(/SPLUNK_TOKEN/);
    expect(egressFault(read({ GATE_LEDGER_EGRESS_DATADOG_API_KEY: '12345678' }))).toMatch(/DATADOG_SITE/);
  });

  it.each([
    ['GATE_LEDGER_EGRESS_GENERIC_TENANTS', 'a b'],
    ['GATE_LEDGER_EGRESS_GENERIC_MIN_SEVERITY', 'critical'],
    ['GATE_LEDGER_EGRESS_GENERIC_URL', 'ftp://x'],
    ['GATE_LEDGER_EGRESS_DATADOG_SITE', 'x/y'],
    ['GATE_LEDGER_EGRESS_BATCH_SIZE', '0'],
    ['GATE_LEDGER_EGRESS_INTERVAL_SECS', '301'],
  ])('%s=%s refuses to start', (variable, value) => {
    expect(() => read({ [variable]: value })).toThrow(variable);
  });
});
