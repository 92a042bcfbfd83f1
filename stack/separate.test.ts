import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMtlsFetch } from '../activities/clients/mtls-fetch.js';
import { ConfigError } from '../config/env.js';
import { ensureTestPki, type TestPki } from '../test/support/service-certificates.js';
import { loadSettings, startApart } from './separate.js';

let folder: string;
let pki: TestPki;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-apart-'));
  pki = await ensureTestPki({ stateDir: folder, trustDomain: 'gate.local' });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const tlsOf = (service: 'brain' | 'ledger' | 'hil') => ({
  GATE_LOG_LEVEL: 'silent',
  GATE_TLS_CA_FILE: pki.caFile,
  GATE_TLS_CERT_FILE: pki.services[service].certFile,
  GATE_TLS_KEY_FILE: pki.services[service].keyFile,
});
const faultsOf = (env: Record<string, string>, name: 'brain' | 'hil' | 'ledger' = 'brain'): readonly string[] => {
  try {
    loadSettings(name, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
};

describe('the certificate of a process apart', () => {
  it('is taken when it is the service’s own', () => {
    expect(faultsOf(tlsOf('brain'))).toEqual([]);
  });

  it('is refused when it is another workload’s: callers would refuse it later and nobody would see why', () => {
    expect(faultsOf(tlsOf('ledger'))).toEqual([
      'GATE_TLS_CERT_FILE: is the certificate of spiffe://gate.local/service/ledger, not of spiffe://gate.local/service/brain',
    ]);
  });

  it('is refused with a key that is not its own', () => {
    expect(faultsOf({ ...tlsOf('brain'), GATE_TLS_KEY_FILE: pki.services.hil.keyFile })).toEqual([
      'GATE_TLS_KEY_FILE: is not the private key of GATE_TLS_CERT_FILE',
    ]);
  });

  it('is refused when another CA signed it', async () => {
    const other = await ensureTestPki({ stateDir: join(folder, 'other'), trustDomain: 'gate.local' });
    expect(faultsOf({ ...tlsOf('brain'), GATE_TLS_CA_FILE: other.caFile })).toEqual([
      'GATE_TLS_CERT_FILE: was not signed by the CA of GATE_TLS_CA_FILE',
    ]);
  });

  it('is taken when one of several CAs signed it, as while a CA is being replaced', async () => {
    const other = await ensureTestPki({ stateDir: join(folder, 'other'), trustDomain: 'gate.local' });
    const both = join(folder, 'both.crt');
    writeFileSync(both, other.ca + pki.ca);
    expect(faultsOf({ ...tlsOf('brain'), GATE_TLS_CA_FILE: both })).toEqual([]);
  });

  it('is named with every file that cannot be read, all at once', () => {
    const missing = join(folder, 'missing');
    const faults = faultsOf({ GATE_TLS_CA_FILE: missing, GATE_TLS_CERT_FILE: missing, GATE_TLS_KEY_FILE: missing });
    expect(faults.map((fault) => fault.split(':')[0])).toEqual([
      'GATE_TLS_CA_FILE',
      'GATE_TLS_CERT_FILE',
      'GATE_TLS_KEY_FILE',
    ]);
  });

  it('of a ledger that would vacuum what is kept nowhere else is refused', () => {
    const env = {
      ...tlsOf('ledger'),
      GATE_LEDGER_SIDECAR_KEYS: `k1:${'0123456789abcdef'.repeat(4)}`,
      GATE_LEDGER_VACUUM_RETENTION_SECS: '31536000',
    };
    expect(faultsOf(env, 'ledger')).toEqual([
      'GATE_LEDGER_VACUUM_RETENTION_SECS: needs cold copies (GATE_LEDGER_EXPORT_DIR or _S3_ENDPOINT) and GATE_LEDGER_CHECKPOINT_KEY_FILE',
    ]);
  });

  it('towards the engine is whole or not there: half of mutual TLS does not quietly become none', () => {
    const env = {
      ...tlsOf('hil'),
      GATE_TEMPORAL_ADDRESS: '127.0.0.1:1',
      GATE_TEMPORAL_TLS_CA_FILE: pki.caFile,
      GATE_PAYLOAD_KEYS: `k1:${'0123456789abcdef'.repeat(4)}`,
      GATE_HIL_PAYLOAD_KEYS: `k1:${'0123456789abcdef'.repeat(4)}`,
      GATE_HIL_SESSION_KEY: '89abcdef01234567'.repeat(4),
      GATE_HIL_DECISION_KEY_FILE: 'unused',
      GATE_HIL_OPERATORS: 'dev@acme:Zk3l9PqRs7TuVwXyZ0123456789abcdEF',
    };
    expect(faultsOf(env, 'hil')).toEqual([
      'GATE_TEMPORAL_TLS_CA_FILE, GATE_TEMPORAL_TLS_CERT_FILE, GATE_TEMPORAL_TLS_KEY_FILE: set all three or none',
    ]);
  });
});

describe('a process apart', () => {
  const ports = { GATE_BRAIN_PORT: '0', GATE_BRAIN_HEALTH_PORT: '0' };

  it('serves on its ports until it is stopped, and may be stopped twice', async () => {
    const brain = await startApart('brain', { ...tlsOf('brain'), ...ports });
    const health = `http://127.0.0.1:${brain.ports.healthPort}`;
    expect((await fetch(`${health}/readyz`)).status).toBe(200);
    const asProxy = createMtlsFetch({
      ...pki.services.proxy,
      expectedServerSpiffe: pki.services.brain.spiffe,
      timeoutMs: 5_000,
    });
    const refused = await asProxy(`https://127.0.0.1:${brain.ports.port}/inspect`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(refused.status).toBe(400);
    await asProxy.close();
    await brain.stop();
    await brain.stop();
    await brain.stopped;
    await expect(fetch(`${health}/health`)).rejects.toThrow();
  });

  it('says in one line which port is taken, and leaves nothing open', async () => {
    const taken = createServer();
    await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
    const { port } = taken.address() as AddressInfo;
    await expect(startApart('brain', { ...tlsOf('brain'), ...ports, GATE_BRAIN_PORT: String(port) })).rejects.toThrow(
      `port ${port} of the brain is in use by another process`,
    );
    taken.close();
  });

  it('says in one line which neighbour it cannot start without', async () => {
    const env = {
      ...tlsOf('ledger'),
      GATE_DATABASE_URL: 'postgres://gate@127.0.0.1:1/gate',
      GATE_LEDGER_SIDECAR_KEYS: `k1:${'0123456789abcdef'.repeat(4)}`,
    };
    await expect(startApart('ledger', env)).rejects.toThrow(/^the ledger store: .*ECONNREFUSED/);
  });
});
