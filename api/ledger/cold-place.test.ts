import { describe, expect, it } from '@jest/globals';
import { readLedgerConfig } from '../../config/ledger.js';
import { coldSinkAt } from '../../adapters/evidence/cold-tier/cold-place.js';
import { coldPlace } from './cold-place.js';

const SIDECAR_KEYS = `k1:${'0123456789abcdef'.repeat(4)}`;
const STORE = {
  GATE_LEDGER_EXPORT_S3_ENDPOINT: 'https://s3.example.com',
  GATE_LEDGER_EXPORT_S3_BUCKET: 'cold',
  GATE_LEDGER_EXPORT_S3_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  GATE_LEDGER_EXPORT_S3_SECRET_ACCESS_KEY: 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY',
};
const sinkOf = (env: Record<string, string>) => {
  const place = coldPlace(readLedgerConfig({ GATE_LEDGER_SIDECAR_KEYS: SIDECAR_KEYS, ...env }));
  return place && coldSinkAt(place);
};

describe('where cold copies go', () => {
  it('is nowhere, a folder, or an object store, which goes before a folder', () => {
    expect(sinkOf({})).toBeUndefined();
    expect(sinkOf({ GATE_LEDGER_EXPORT_DIR: '/data/cold' })?.files.location).toBe('file:///data/cold');
    expect(sinkOf({ ...STORE, GATE_LEDGER_EXPORT_DIR: '/data/cold' })?.files.location).toBe('s3://cold/gate');
    expect(sinkOf({ ...STORE, GATE_LEDGER_EXPORT_URI: 'https://lake/gate/' })?.files.location).toBe(
      'https://lake/gate',
    );
    expect(sinkOf({ ...STORE, GATE_LEDGER_EXPORT_RETENTION_SECS: '60' })?.retentionMs).toBe(60_000);
  });

  it.each(Object.keys(STORE))('is refused when an object store is named without %s', (missing) => {
    const named = Object.fromEntries(Object.entries(STORE).filter(([name]) => name !== missing));
    expect(() => sinkOf({ ...named, GATE_LEDGER_EXPORT_DIR: '/data/cold' })).toThrow(/set all four or none/);
  });
});
