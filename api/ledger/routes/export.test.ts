import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { type LedgerStore, openLedger } from '../../../domain/ledger/ledger-store.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import type { Service } from '../../plugins/service.js';
import { createLedgerService } from '../app.js';

const PARQUET = 'application/vnd.apache.parquet';
let place: TestLedgerPlace;
let ledger: LedgerStore;
let service: Service;
let directory: string;

async function open(withSink: boolean): Promise<void> {
  ledger = await openLedger({
    target: place.target,
    sidecarKeys: place.keys,
    ...(withSink && { coldSink: { directory, retentionMs: 0 } }),
  });
  service = createLedgerService({
    ledger,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    resolveCaller: (request) => ({
      kind: 'service',
      callerId: String(request.headers['x-test-caller']),
      spiffe: 'spiffe://gate.local/service/test',
      fingerprint: 'ab'.repeat(32),
    }),
  });
}
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gate-export-'));
  place = await ledgerPlace('sqlite');
  await open(true);
});
afterEach(async () => {
  await service.close();
  await ledger.close();
  await place.remove();
  rmSync(directory, { recursive: true, force: true });
});

const ask = (method: 'GET' | 'POST', url: string, headers: Record<string, string> = {}) =>
  service.app.inject({ method, url, headers: { 'x-test-caller': 'service-console', ...headers } });
const WINDOW = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z';

describe('the cold tier over HTTP (ledger sheet 6.1)', () => {
  it('POST /export makes one pass; GET /exports lists what passes wrote', async () => {
    const nothing = await ask('POST', '/export');
    expect([nothing.statusCode, nothing.json()]).toEqual([200, 'NothingToExport']);
    await ledger.append([testRow(), testRow()]);
    const { Wrote: record } = (await ask('POST', '/export')).json<{ Wrote: object }>();
    expect(record).toMatchObject({ row_count: 2, seq_lo: 1, seq_hi: 2, data_uri: expect.stringMatching(/^file:\/\//) });
    expect((await ask('GET', '/exports')).json()).toEqual([record]);
  });

  it('GET /export/iceberg says what of a window is in the table, or sends the window as Parquet', async () => {
    await ledger.append([testRow()]);
    await ask('POST', '/export');
    const table = await ask('GET', `/export/iceberg?${WINDOW}`);
    expect(table.json()).toMatchObject({ contract: 'gate.iceberg-export/v1', row_count: 1, files: [{ seq_hi: 1 }] });
    const file = await ask('GET', `/export/iceberg?${WINDOW}`, { accept: PARQUET });
    expect(file.headers['content-type']).toBe(PARQUET);
    expect(file.headers['x-gate-data-sha256']).toBe(createHash('sha256').update(file.rawPayload).digest('hex'));
    expect(file.rawPayload.subarray(0, 4).toString()).toBe('PAR1');
  });

  it.each(['', 'from=2020-01-01T00:00:00Z', 'from=x&to=y', 'from=2021-01-01T00:00:00Z&to=2020-01-01T00:00:00Z'])(
    'the window "%s" is invalid_window',
    async (query) => {
      const { statusCode, body } = await ask('GET', `/export/iceberg?${query}`);
      expect([statusCode, (JSON.parse(body) as { error: string }).error]).toEqual([400, 'invalid_window']);
    },
  );

  it('without a folder every one is 503 export_sink_unavailable; only the console may ask', async () => {
    await service.close();
    await ledger.close();
    await open(false);
    const routes = [
      ['POST', '/export'],
      ['GET', '/exports'],
      ['GET', `/export/iceberg?${WINDOW}`],
    ] as const;
    for (const [method, url] of routes) {
      const { statusCode, body } = await ask(method, url);
      expect([url, statusCode, (JSON.parse(body) as { error: string }).error]).toEqual([
        url,
        503,
        'export_sink_unavailable',
      ]);
      expect((await ask(method, url, { 'x-test-caller': 'service-proxy' })).statusCode).toBe(403);
    }
  });
});
