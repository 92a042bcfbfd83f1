import { describe, expect, it } from '@jest/globals';
import { readLedgerConfig, vacuumFault } from './ledger.js';

const KEY = '0123456789abcdef'.repeat(4);

describe('the settings of the ledger', () => {
  it('binds loopback on its own ports unless told otherwise', () => {
    const config = readLedgerConfig({ GATE_LEDGER_SIDECAR_KEYS: `k2:${KEY},k1:${KEY.replace('0', '1')}` });
    expect(config).toMatchObject({ host: '127.0.0.1', port: 8083, healthHost: '127.0.0.1', healthPort: 9083 });
    expect(config.sidecarKeys.activeKeyId).toBe('k2');
  });

  it('does not start without keys, nor with placeholders, and repeats none of them', () => {
    expect(() => readLedgerConfig({})).toThrow(/GATE_LEDGER_SIDECAR_KEYS: is not set/);
    for (const keys of ['changeme', 'k1:abc', `k1:${'ab'.repeat(32)}`, `k1:${KEY},k1:${KEY}`]) {
      expect(() => readLedgerConfig({ GATE_LEDGER_SIDECAR_KEYS: keys })).toThrow(/GATE_LEDGER_SIDECAR_KEYS/);
      expect(() => readLedgerConfig({ GATE_LEDGER_SIDECAR_KEYS: keys })).not.toThrow(new RegExp(KEY));
    }
  });

  it('vacuums nothing unless told to, nothing younger than 183 days, and nothing that is not kept and proved elsewhere', () => {
    const read = (env: Record<string, string>) => readLedgerConfig({ GATE_LEDGER_SIDECAR_KEYS: `k1:${KEY}`, ...env });
    expect(read({})).toMatchObject({ vacuumIntervalSecs: 3600, vacuumSinks: [] });
    expect(read({}).vacuumRetentionSecs).toBeUndefined();
    expect(vacuumFault(read({}))).toBeNull();
    for (const seconds of ['15811199', '0', '-1', '220752001', 'a year'])
      expect(() => read({ GATE_LEDGER_VACUUM_RETENTION_SECS: seconds })).toThrow(/GATE_LEDGER_VACUUM_RETENTION_SECS/);
    expect(() => read({ GATE_LEDGER_VACUUM_SINKS: 'splunk,elsewhere' })).toThrow(/GATE_LEDGER_VACUUM_SINKS/);
    const on = { GATE_LEDGER_VACUUM_RETENTION_SECS: '15811200' };
    expect(vacuumFault(read(on))).toMatch(
      /GATE_LEDGER_EXPORT_DIR or _S3_ENDPOINT\) and GATE_LEDGER_CHECKPOINT_KEY_FILE/,
    );
    expect(vacuumFault(read({ ...on, GATE_LEDGER_EXPORT_DIR: 'cold' }))).toMatch(/CHECKPOINT_KEY_FILE/);
    const key = { GATE_LEDGER_CHECKPOINT_KEY_FILE: 'log.pem' };
    expect(vacuumFault(read({ ...on, ...key }))).toMatch(/cold copies/);
    expect(vacuumFault(read({ ...on, ...key, GATE_LEDGER_EXPORT_DIR: 'cold' }))).toBeNull();
    const endpoint = { GATE_LEDGER_EXPORT_S3_ENDPOINT: 'https://s3.example.com' };
    expect(vacuumFault(read({ ...on, ...key, ...endpoint }))).toBeNull();
  });

  it('takes verifier keys of witnesses, all well-formed', () => {
    const vkey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k';
    const read = (GATE_LEDGER_WITNESSES: string) =>
      readLedgerConfig({ GATE_LEDGER_SIDECAR_KEYS: `k1:${KEY}`, GATE_LEDGER_WITNESSES }).witnesses;
    expect(read('')).toEqual([]);
    expect(read(`${vkey}, ${vkey}`).map(({ name }) => name)).toEqual(['example.com/foo', 'example.com/foo']);
    expect(() => read('example.com/foo')).toThrow(/GATE_LEDGER_WITNESSES: not a verifier key/);
  });

  it('takes an object store for cold copies, and never repeats its secrets', () => {
    const read = (settings: Record<string, string>) =>
      readLedgerConfig({
        GATE_LEDGER_SIDECAR_KEYS: `k1:${KEY}`,
        ...Object.fromEntries(
          Object.entries(settings).map(([name, value]) => [`GATE_LEDGER_EXPORT_S3_${name}`, value]),
        ),
      });
    expect(read({})).toMatchObject({
      exportS3Endpoint: undefined,
      exportS3Prefix: 'gate',
      exportS3Region: 'us-east-1',
    });
    expect(
      read({ ENDPOINT: 'http://minio:9000', BUCKET: 'cold', PREFIX: 'a/b-1', SECRET_ACCESS_KEY: 'wJalrXUtnFEMI' }),
    ).toMatchObject({ exportS3Endpoint: 'http://minio:9000', exportS3Prefix: 'a/b-1' });
    for (const [name, values] of Object.entries({
      ENDPOINT: ['minio:9000', 'https://user:word@minio', 'https://minio/path', 'https://minio?x', 'ftp://minio'],
      BUCKET: ['Cold', 'a', 'a/b', '-ab'],
      PREFIX: ['/a', 'a/', 'a//b', '..', 'a/../b', 'a/.', 'a b', 'ü'],
      REGION: ['EU', 'eu_1'],
      SECRET_ACCESS_KEY: ['changeme'],
    }))
      for (const value of values)
        expect(() => read({ [name]: value })).toThrow(new RegExp(`GATE_LEDGER_EXPORT_S3_${name}`));
    expect(() => read({ SECRET_ACCESS_KEY: 'x'.repeat(2_000) })).not.toThrow(/xxx/);
  });
});
