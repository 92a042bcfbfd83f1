import type { FastifyRequest } from 'fastify';
import type { Services } from '../../console/services.js';
import { GateError } from '../../domain/errors.js';
import { stopReportText } from '../../domain/identity/stop-reports.js';
import { isUuid } from '../../domain/uuid.js';
import type { ServiceApp } from '../plugins/app.js';
import { assertAskedOnce } from './asked-once.js';
import { assertEntered, type Entered } from './entered.js';

type Who = Pick<Entered, 'person' | 'proof'>;

export interface StopReportFilesOptions {
  readonly entered: (request: FastifyRequest) => Promise<Who | null>;
  readonly services: (who: Who) => Services;
}

/** The signed report of a stop as a file, as `gate verify --bundle` checks it. */
export function answerStopReports(app: ServiceApp, { entered, services }: StopReportFilesOptions): void {
  app.get('/stops/reports/:id', async (request, reply) => {
    const who = await entered(request);
    assertEntered(who);
    assertAskedOnce(request, []);
    const { id } = request.params as { id: string };
    const report = isUuid(id) ? await services(who).identity.report(id) : null;
    if (report === null) throw new GateError('not_found', 'There is no such report, or it is not made yet.');
    return reply
      .type('application/json')
      .header('content-disposition', `attachment; filename="gate-stop-${report.id}.json"`)
      .send(`${stopReportText(report)}\n`);
  });
}
