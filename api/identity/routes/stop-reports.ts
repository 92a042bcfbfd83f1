import { z } from 'zod';
import {
  dueStopReport,
  keptStopReport,
  type KeptStopReport,
  stopCalls,
  stopReportAnswer,
  stopReportsQuery,
} from '../../../contracts/identity.js';
import type { StopReportSigner } from '../../../adapters/identity/stop-report-signature.js';
import type { KeptReport, StopReportStore } from '../../../domain/identity/stop-reports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import type { People } from '../people.js';
import { instant, instantOr, ofTenant } from './changes.js';

export interface StopReportParts {
  readonly store: StopReportStore;
  readonly people: People;
  readonly clock: () => number;
  readonly trustDomain: string;
  readonly sign: StopReportSigner;
  /** Called when a row waits for the ledger. */
  readonly onMade: () => void;
}

/** Five thousand calls. */
const BODY_LIMIT = 8_388_608;

/** What was running when something was stopped: told by a proxy, signed here, read by people (docs/architecture/identity.md#reports). */
export function stopReportRoutes(app: ServiceApp, parts: StopReportParts): void {
  const { store, people, clock, trustDomain, sign, onMade } = parts;
  const onRequest = askerFirst(people.readerOf);

  app.get('/stops/reports/due', { schema: { response: { 200: z.array(dueStopReport) } } }, async () =>
    (await store.reportsDue(clock())).map(({ id, tenant, kind, name, stoppedMs }) => ({
      id,
      tenant,
      kind,
      name,
      stopped_at: instant(stoppedMs),
    })),
  );
  app.post(
    '/stops/reports/:id/calls',
    {
      schema: { params: ofTenant.params, body: stopCalls, response: { 200: z.strictObject({ id: z.uuid() }) } },
      bodyLimit: BODY_LIMIT,
    },
    async (request) => {
      const { id } = request.params;
      await store.makeReport(id, request.body, { nowMs: clock(), trustDomain, sign });
      onMade();
      return { id };
    },
  );

  app.get(
    '/stops/reports',
    { schema: { querystring: stopReportsQuery, response: { 200: z.array(keptStopReport) } }, onRequest },
    async (request) => {
      const { tenant, before } = request.query;
      people.assertReads(tenant, request);
      return (await store.stopReports(tenant, before === undefined ? undefined : Date.parse(before))).map(keptOf);
    },
  );
  app.get(
    '/stops/reports/:id',
    { schema: { ...ofTenant, response: { 200: stopReportAnswer } }, onRequest },
    async (request) => {
      const { tenant } = request.query;
      people.assertReads(tenant, request);
      const { report, ...kept } = await store.stopReport(request.params.id, tenant);
      return { ...keptOf(kept), report };
    },
  );
}

const keptOf = (kept: KeptReport): KeptStopReport => ({
  id: kept.id,
  tenant: kept.tenant,
  stopped: { kind: kept.kind, id: kept.stoppedId, name: kept.name },
  stopped_at: instant(kept.stoppedMs),
  stopped_by: kept.stoppedBy,
  reason: kept.reason,
  state: kept.state,
  certificates_revoked: kept.revokedCertificates,
  made_at: instantOr(kept.madeMs),
  report_sha256: kept.sha256,
});
