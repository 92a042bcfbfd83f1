import { z } from 'zod';
import type { CasesService } from '../../console/services.js';
import { caseClassification, caseWithEvidence, incidentCase } from '../../contracts/cases.js';
import type { AskLimits } from './ask-limits.js';
import { get, type Neighbour, unlessUnknown } from './neighbour.js';

interface Asking {
  /** Who opens a case, writes to it and changes it. */
  readonly subject: string;
  readonly limits: Pick<AskLimits, 'reportMs'>;
  readonly clock: () => number;
}

/** What stays in doubt where no answer came. */
const CASE_MAY_BE_OPENED =
  'It may have opened the case: look at the cases first. The same form sent again opens no second one.';
const CASE_MAY_BE_NOTED =
  'It may have written the note: look at the case first. The same form sent again writes it once.';
const CASE_MAY_BE_CHANGED = 'It may have changed the case: look at it before you do so again.';

const inCases = (path: string, body: object, doubt: string) =>
  ({ method: 'POST', path: `/cases${path}`, body, doubt }) as const;

/** The cases of the ledger as one person may ask for them and change them. */
export function casesOver({ ask }: Neighbour, { subject, limits, clock }: Asking): CasesService {
  return {
    cases: (status, limit) => ask(z.array(incidentCase), get('/cases', { status, limit })),
    case: (id) => unlessUnknown(ask(caseWithEvidence, get(`/cases/${encodeURIComponent(id)}`), limits.reportMs)),
    openCase: (title, subjects, request_id) =>
      ask(incidentCase, inCases('', { title, ...subjects, actor: subject, request_id }, CASE_MAY_BE_OPENED)),
    async noteInCase(id, detail, request_id) {
      const at = new Date(clock()).toISOString();
      await ask(
        null,
        inCases(
          `/${encodeURIComponent(id)}/timeline`,
          { at, kind: 'note', actor: subject, detail, request_id },
          CASE_MAY_BE_NOTED,
        ),
      );
    },
    async classifyCase(id, severity) {
      const path = `/${encodeURIComponent(id)}/classify`;
      await ask(caseClassification, inCases(path, { severity, actor: subject }, CASE_MAY_BE_CHANGED));
    },
    async setCaseStatus(id, status) {
      await ask(null, inCases(`/${encodeURIComponent(id)}/status`, { status, actor: subject }, CASE_MAY_BE_CHANGED));
    },
    async attachToCase(id, subjects) {
      await ask(
        null,
        inCases(`/${encodeURIComponent(id)}/attach`, { ...subjects, actor: subject }, CASE_MAY_BE_CHANGED),
      );
    },
  };
}
