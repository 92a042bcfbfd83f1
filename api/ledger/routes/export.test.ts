import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';
import { testRow } from '../../../test/support/ledger.js';

const PARQUET = 'application/vnd.apache.parquet';
const WINDOW = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z';
let gate: TestLedgerService;
let directory: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gate-export-'));
  gate = await ledgerService('sqlite', { ledger: { coldPlace: { at: { directory }, retentionMs: 0 } } });
});
afterEach(async () => {
  await gate.close();
  rmSync(directory, { recursive: true, force: true });
});

describe('the cold tier over HTTP', () => {
  it('POST /export makes one pass; GET /exports lists what passes wrote', async () => {
    expect(await gate.call('POST /export')).toMatchObject({ status: 200, body: 'NothingToExport' });
    await gate.ledger.append([testRow(), testRow()]);
    const { Wrote: record } = (await gate.call<{ Wrote: object }>('POST /export')).body;
    expect(record).toMatchObject({ row_count: 2, seq_lo: 1, seq_hi: 2, data_uri: expect.stringMatching(/^file:\/\//) });
    expect((await gate.call('GET /exports')).body).toEqual([record]);
  });

  it('GET /export/iceberg says what of a window is in the table, or sends the window as Parquet', async () => {
    await gate.ledger.append([testRow()]);
    await gate.call('POST /export');
    const table = await gate.call(`GET /export/iceberg?${WINDOW}`);
    expect(table.body).toMatchObject({ contract: 'gate.iceberg-export/v1', row_count: 1, files: [{ seq_hi: 1 }] });
    const file = await gate.call(`GET /export/iceberg?${WINDOW}`, undefined, { headers: { accept: PARQUET } });
    expect(file.headers['content-type']).toBe(PARQUET);
    expect(file.headers['x-gate-data-sha256']).toBe(createHash('sha256').update(file.bytes).digest('hex'));
    expect(file.bytes.subarray(0, 4).toString()).toBe('PAR1');
  });

  it.each(['', 'from=2020-01-01T00:00:00Z', 'from=x&to=y', 'from=2021-01-01T00:00:00Z&to=2020-01-01T00:00:00Z'])(
    'the window "%s" is invalid_window',
    async (query) => {
      expect(await gate.call(`GET /export/iceberg?${query}`)).toMatchObject({
        status: 400,
        body: { error: 'invalid_window' },
      });
    },
  );

  it('without a folder every one is 503 export_sink_unavailable; only the console may ask', async () => {
    const bare = await ledgerService('sqlite');
    for (const route of ['POST /export', 'GET /exports', `GET /export/iceberg?${WINDOW}`]) {
      expect([route, await bare.call(route)]).toMatchObject([
        route,
        { status: 503, body: { error: 'export_sink_unavailable' } },
      ]);
      expect((await bare.call(route, undefined, { as: 'service-proxy' })).status).toBe(403);
    }
    await bare.close();
  });
});
