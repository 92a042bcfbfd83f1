import { caseStatus, type IncidentCase, LONGEST_TITLE } from '../../../contracts/cases.js';
import { GateError } from '../../../domain/errors.js';
import { settled } from '../../services.js';
import { addressOf, caseAddress } from '../../ui/addresses.js';
import { Csrf, Empty, Foreign, OrAway, RequestId, requestIn, Table, Time } from '../../ui/parts.js';
import { type Action, type Form, NOTED, type Page, type Shown, type Visit, type WrittenFields } from '../../visit.js';
import { caseShown, Deadline, idOf, Status, Subjects, subjectsIn } from './case.js';

const LISTED = 200;

/** Incidents that people keep notes about. */
export const CASES: Page = {
  of: 'cases',
  path: '/cases',
  role: 'viewer',
  nav: { label: 'Cases', key: 'c' },
  show: (visit) => casesShown(visit),
};

/** One case: what is known, what was done, and the rows about it. */
export const CASE: Page = { of: 'cases', path: '/cases/:id', role: 'viewer', show: (visit) => caseShown(visit) };

const SUBJECTS: WrittenFields = { agent: 'Agents', call: 'Calls' };
/** Agents are ticked on their page. */
const SEVERAL = ['agent', 'call', 'ticked'];

export const OPEN_CASE: Action = {
  of: 'cases',
  path: '/cases',
  role: 'approver',
  does: 'open a case',
  written: { title: 'Title', ...SUBJECTS },
  several: SEVERAL,
  async act({ services }, form) {
    const title = form.get('title').trim();
    if (title === '') throw new GateError('invalid_request', 'a case needs a title');
    const { id } = await services.ledger.openCase(title, subjectsIn(form), requestIn(form));
    return caseAddress(id);
  },
  refused: (visit, form) => casesShown(visit, form),
};

const changing = (
  what: string,
  does: string,
  written: WrittenFields,
  change: (ledger: Visit['services']['ledger'], id: string, form: Form) => Promise<void>,
): Action => ({
  of: 'cases',
  path: `/cases/:id/${what}`,
  role: 'approver',
  does,
  written,
  several: SEVERAL,
  async act(visit, form) {
    const id = idOf(visit);
    if (id === null) throw new GateError('case_not_found');
    await change(visit.services.ledger, id, form);
    return caseAddress(id);
  },
  refused: (visit, form) => caseShown(visit, form),
});

export const NOTE_IN_CASE = changing('note', 'write into a case', NOTED, async (ledger, id, form) => {
  const note = form.get('note').trim();
  if (note === '') throw new GateError('invalid_request', 'the note is empty');
  await ledger.noteInCase(id, note, requestIn(form));
});
export const CLASSIFY_CASE = changing(
  'classify',
  'classify a case, which sets the deadline to report it',
  {},
  (ledger, id, form) => ledger.classifyCase(id, form.get('severity')),
);
export const ATTACH_TO_CASE = changing(
  'attach',
  'attach agents and calls to a case',
  SUBJECTS,
  async (ledger, id, form) => {
    const subjects = subjectsIn(form);
    if (subjects.agent_ids.length + subjects.correlation_ids.length === 0)
      throw new GateError('invalid_request', 'name an agent or a call');
    await ledger.attachToCase(id, subjects);
  },
);
export const SET_CASE_STATUS = changing('status', 'close a case, or open it again', {}, (ledger, id, form) =>
  ledger.setCaseStatus(id, form.get('status')),
);

async function casesShown({ services, mayPost, csrf, query, nowMs }: Visit, form?: Form): Promise<Shown> {
  const asked = caseStatus.safeParse(query['status']);
  const status = asked.success ? asked.data : undefined;
  const found = await settled('ledger', services.ledger.cases(status, LISTED));
  return {
    title: 'Cases',
    body: (
      <section class="cases">
        <h1>Cases</h1>
        <nav aria-label="Status">
          {([undefined, ...caseStatus.options] as const).map((option) => (
            <span key={option}>
              <a href={addressOf('/cases', { status: option })} aria-current={option === status ? 'page' : undefined}>
                {option ?? 'all'}
              </a>{' '}
            </span>
          ))}
        </nav>
        <OrAway of={found}>
          {(cases) =>
            cases.length === 0 ? (
              <Empty>
                No case. Open one here, of what <a href="/audit/hunt">a hunt</a> finds, or of a call on its page.
              </Empty>
            ) : (
              <Listed cases={cases} nowMs={nowMs} />
            )
          }
        </OrAway>
        {mayPost('/cases') && (
          <section aria-labelledby="open">
            <h2 id="open">Open a case</h2>
            <form method="post" action="/cases" class="sheet">
              <Csrf token={csrf} />
              <RequestId of={form} />
              <label>
                Title <input name="title" required maxLength={LONGEST_TITLE} value={form?.get('title') ?? ''} />
              </label>
              <Subjects form={form} />
              <p>
                <button class="act" type="submit">
                  Open
                </button>
              </p>
            </form>
          </section>
        )}
      </section>
    ),
  };
}

const Listed = ({ cases, nowMs }: { readonly cases: readonly IncidentCase[]; readonly nowMs: number }) => (
  <>
    <Table
      label="Cases"
      heads={['Case', 'Status', 'Severity', 'To be reported', { number: 'Agents' }, { number: 'Calls' }, 'Opened']}
    >
      {cases.map((one) => (
        <tr key={one.id}>
          <th scope="row">
            <a href={caseAddress(one.id)}>
              <Foreign text={one.title} />
            </a>
          </th>
          <td>
            <Status of={one.status} />
          </td>
          <td>{one.severity?.replaceAll('_', ' ') ?? ''}</td>
          <td>
            <Deadline of={one} nowMs={nowMs} />
          </td>
          <td class="number">{one.agent_ids.length}</td>
          <td class="number">{one.correlation_ids.length}</td>
          <td>
            <Time iso={one.created_at} nowMs={nowMs} />
          </td>
        </tr>
      ))}
    </Table>
    {cases.length === LISTED && <p class="dim">The newest {LISTED}; a status shows others.</p>}
  </>
);
