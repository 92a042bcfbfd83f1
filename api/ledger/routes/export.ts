import { z } from 'zod';
import {
  type ExportPass,
  exportPass,
  exportRecord,
  type IcebergExport,
  icebergExport,
} from '../../../contracts/ledger-export.js';
import type { ColdTier } from '../../../adapters/evidence/cold-tier/cold-tier.js';
import type { ServiceApp } from '../../plugins/app.js';
import { requiredWindow, time } from '../query.js';

const PARQUET = 'application/vnd.apache.parquet';

/**
 * The cold tier (docs/architecture/ledger-reads.md#cold-tier): exports, their records, and which rows of a window are in the table. With
 * `Accept: application/vnd.apache.parquet` the answer is the window's rows as one file.
 */
export function exportRoutes({ app, coldTier }: { readonly app: ServiceApp; readonly coldTier: ColdTier }): void {
  app.post('/export', { schema: { response: { 200: exportPass } } }, async (_request, reply) => {
    const pass = await coldTier.export();
    // A plain string would be sent as text.
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(pass) as ExportPass);
  });

  app.get('/exports', { schema: { response: { 200: z.array(exportRecord) } } }, () => coldTier.exports());

  app.get(
    '/export/iceberg',
    {
      schema: { querystring: z.object({ from: time, to: time }), response: { 200: icebergExport } },
      config: {
        described: {
          response: {
            200: { content: { 'application/json': { schema: icebergExport }, [PARQUET]: { schema: z.string() } } },
          },
        },
      },
    },
    async (request, reply) => {
      const window = requiredWindow(request.query);
      if (!(request.headers.accept ?? '').includes(PARQUET)) return coldTier.table(window);
      const { bytes, sha256 } = await coldTier.parquet(window);
      // The bytes are sent unchanged; the schema describes the JSON answer.
      return reply
        .type(PARQUET)
        .header('X-Gate-Data-Sha256', sha256)
        .send(Buffer.from(bytes) as unknown as IcebergExport);
    },
  );
}
