import type { FastifyRequest } from 'fastify';
import { caseReport } from '../../console/pages/cases/report.js';
import type { Services } from '../../console/services.js';
import type { CaseWithEvidence } from '../../contracts/cases.js';
import { GateError } from '../../domain/errors.js';
import type { ServiceApp } from '../plugins/app.js';
import { assertAskedOnce } from './asked-once.js';
import { assertEntered, type Entered } from './entered.js';
import { isUuid } from '../../domain/uuid.js';

type Who = Pick<Entered, 'person' | 'proof'>;

export interface CaseFilesOptions {
  readonly entered: (request: FastifyRequest) => Promise<Who | null>;
  readonly services: (who: Who) => Services;
  readonly clock: () => number;
}

/** A case as files: all of it as JSON, and one page in words. Made anew each time. */
export function answerCases(app: ServiceApp, { entered, services, clock }: CaseFilesOptions): void {
  const found = async (request: FastifyRequest): Promise<CaseWithEvidence> => {
    const who = await entered(request);
    assertEntered(who);
    assertAskedOnce(request, []);
    const { id } = request.params as { id: string };
    const known = isUuid(id) ? await services(who).ledger.case(id) : null;
    if (known === null) throw new GateError('case_not_found');
    return known;
  };
  const madeAt = () => new Date(clock()).toISOString();

  app.get('/cases/:id/export', async (request, reply) => {
    const { case: of, evidence } = await found(request);
    const file = { contract: 'gate.case-export/v1', exported_at: madeAt(), case: of, evidence };
    return reply
      .type('application/json')
      .header('content-disposition', `attachment; filename="gate-case-${of.id}.json"`)
      .send(`${JSON.stringify(file, null, 2)}\n`);
  });

  app.get('/cases/:id/report', async (request, reply) => {
    const known = await found(request);
    return reply
      .type('text/markdown; charset=utf-8')
      .header('content-disposition', `attachment; filename="gate-case-${known.case.id}.md"`)
      .send(caseReport(known, madeAt()));
  });
}
