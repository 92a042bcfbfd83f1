import { toolOf } from '../../../contracts/call-methods.js';
import {
  type CaseStatus,
  caseSeverity,
  caseStatus,
  type CaseWithEvidence,
  type IncidentCase,
  LONGEST_CASE_NOTE,
} from '../../../contracts/cases.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { oneLine } from '../../../domain/printable.js';
import { isUuid } from '../../../domain/uuid.js';
import { type CaseSubjects, settled, type Settled } from '../../services.js';
import { addressOf, callAddress, caseAddress, reviewAddress } from '../../ui/addresses.js';
import { Entries } from '../../ui/entries.js';
import { Choice } from '../../ui/fields.js';
import { Csrf, Empty, Facts, Foreign, Id, OrAway, RequestId, Table, Time } from '../../ui/parts.js';
import { Typed } from '../../ui/typed.js';
import { type Form, type Shown, type Visit } from '../../visit.js';

export const SEVERITIES = [
  ['serious', 'serious incident: 15 days'],
  ['death', 'death of a person: 10 days'],
  ['critical_infra', 'critical infrastructure: 2 days'],
] as const satisfies readonly (readonly [(typeof caseSeverity.options)[number], string])[];
const ROWS = 200;
/** Agents of a case whose waiting calls are looked for, and calls of each. */
const AGENTS_ASKED = 20;
const WAITING = 50;

export const idOf = ({ params: { id = '' } }: Visit): string | null => (isUuid(id) ? id : null);

/** What is ticked, and what is typed, one on a line. */
export function subjectsIn(form: Form): CaseSubjects {
  const named = (field: string) => [
    ...new Set(
      form
        .all(field)
        .flatMap((text) => text.split(/\r?\n/))
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    ),
  ];
  return {
    agent_ids: [...new Set([...named('agent'), ...form.all('ticked').flatMap(decoded)])],
    correlation_ids: named('call'),
  };
}

/** A ticked name comes as it stands in an address, because a page holds no character that nobody sees. */
function decoded(name: string): readonly string[] {
  try {
    return [decodeURIComponent(name)];
  } catch {
    return [];
  }
}

export const Status = ({ of }: { readonly of: CaseStatus }) => (
  <span class={`tag ${{ open: 'deny', contained: 'park', closed: 'none' }[of]}`}>{of}</span>
);

/** When the authority has to know; of a case that is closed nothing is due here. */
export function Deadline({ of, nowMs }: { readonly of: IncidentCase; readonly nowMs: number }) {
  if (of.regulatory_deadline === undefined) return null;
  const isLate = of.status !== 'closed' && Date.parse(of.regulatory_deadline) < nowMs;
  return (
    <>
      <Time iso={of.regulatory_deadline} nowMs={nowMs} /> {isLate && <span class="tag deny">past</span>}
    </>
  );
}

export const Subjects = ({ form }: { readonly form: Form | undefined }) => (
  <>
    <label>
      Agents, one on a line
      <textarea name="agent" rows={2} value={form ? subjectsIn(form).agent_ids.join('\n') : ''} />
    </label>
    <label>
      Calls by their correlation id, one on a line
      <textarea name="call" rows={2} value={form?.all('call').join('\n') ?? ''} />
    </label>
  </>
);

export async function caseShown(visit: Visit, form?: Form): Promise<Shown> {
  const { services, mayPost, csrf, nowMs } = visit;
  const id = idOf(visit);
  const found: Settled<CaseWithEvidence | null> =
    id === null ? { ok: true, value: null } : await settled('ledger', services.ledger.case(id));
  if (found.ok && found.value === null)
    return {
      title: 'No such case',
      status: 404,
      body: (
        <section class="case">
          <h1>No such case</h1>
          <Empty>
            Your tenant has no such case. <a href="/cases">All cases</a>
          </Empty>
          {form && <Typed form={form} />}
        </section>
      ),
    };
  const agents = found.ok ? (found.value?.case.agent_ids ?? []) : [];
  const mayAct = mayPost('/cases/:id/note');
  const [waiting, unseen] = await Promise.all([
    settled('hil', Promise.all(agents.slice(0, AGENTS_ASKED).map((agent) => services.hil.waitingOf(agent, WAITING)))),
    neverSeen(visit, agents, found.ok ? (found.value?.evidence ?? []) : []),
  ]);
  return {
    title: found.ok ? `Case: ${found.value?.case.title ?? ''}` : 'Case',
    body: (
      <section class="case">
        <OrAway of={found}>
          {(value) =>
            value && (
              <>
                <About of={value.case} unseen={unseen} nowMs={nowMs} />
                <Waiting
                  of={waiting}
                  caseId={value.case.id}
                  agents={agents.length}
                  csrf={mayAct ? csrf : null}
                  nowMs={nowMs}
                />
                {mayAct && <Acts of={value.case} csrf={csrf} form={form} />}
                <Timeline of={value.case} nowMs={nowMs} />
                <Evidence rows={value.evidence} nowMs={nowMs} />
              </>
            )
          }
        </OrAway>
        {form && !found.ok && <Typed form={form} />}
        <p>
          <a href="/cases">All cases</a>
        </p>
      </section>
    ),
  };
}

/** Agents of whom the ledger has no row, and how many were not looked for: a name that was mistyped stands in a case like any other. */
async function neverSeen(
  { services }: Visit,
  agents: readonly string[],
  evidence: readonly LedgerEntry[],
): Promise<Unseen> {
  const seen = new Set(evidence.map(({ agent_id }) => agent_id));
  const missing = agents.filter((agent) => !seen.has(agent));
  // The ledger takes `*` for any text.
  const asked = missing.filter((agent) => !agent.includes('*')).slice(0, AGENTS_ASKED);
  const found = await settled('ledger', Promise.all(asked.map((agent) => services.ledger.rows({ agent, limit: 1 }))));
  return found.ok
    ? { agents: asked.filter((_, at) => found.value[at]?.length === 0), unasked: missing.length - asked.length }
    : { agents: [], unasked: 0 };
}

interface Unseen {
  readonly agents: readonly string[];
  readonly unasked: number;
}

const About = ({
  of,
  unseen,
  nowMs,
}: {
  readonly of: IncidentCase;
  readonly unseen: Unseen;
  readonly nowMs: number;
}) => (
  <>
    <h1>
      <Foreign text={of.title} /> <Status of={of.status} />
    </h1>
    <Facts
      of={[
        ['Case', <Id id={of.id} />],
        ['Opened', <Time iso={of.created_at} nowMs={nowMs} />],
        ['Severity', of.severity?.replaceAll('_', ' ') ?? 'not classified'],
        ['To be reported', of.regulatory_deadline ? <Deadline of={of} nowMs={nowMs} /> : 'no deadline yet'],
      ]}
    />
    <p>
      <a href={caseAddress(of.id, 'export')} download>
        The case as JSON
      </a>
      ,{' '}
      <a href={caseAddress(of.id, 'report')} download>
        a report of one page
      </a>
    </p>
    <h2>Agents</h2>
    <Named of={of.agent_ids} none="None yet." link={(agent) => addressOf('/audit', { agent })} />
    {unseen.agents.length > 0 && (
      <p class="notice bad">
        The ledger has no row of{' '}
        {unseen.agents.map((agent, at) => (
          <span key={agent}>
            {at > 0 && ', '}
            <Foreign text={agent} />
          </span>
        ))}
        : no such agent was seen.
      </p>
    )}
    {unseen.unasked > 0 && <p class="dim">Whether the ledger has rows of {unseen.unasked} more was not looked for.</p>}
    <h2>Calls</h2>
    <Named of={of.correlation_ids} none="None yet." link={(call) => callAddress(call)} />
  </>
);

function Named({
  of,
  none,
  link,
}: {
  readonly of: readonly string[];
  readonly none: string;
  readonly link: (name: string) => string;
}) {
  if (of.length === 0) return <p class="dim">{none}</p>;
  return (
    <p>
      {of.slice(0, ROWS).map((name) => (
        <span key={name}>
          <a href={link(name)}>
            <Foreign text={name} />
          </a>{' '}
        </span>
      ))}
      {of.length > ROWS && <span class="dim">and {of.length - ROWS} more</span>}
    </p>
  );
}

/** What of these agents can still be stopped: every call that waits. A denial is sent from the page that lists them. */
function Waiting({
  of,
  caseId,
  agents,
  csrf,
  nowMs,
}: {
  readonly of: Settled<readonly (readonly PendingRequest[])[]>;
  readonly caseId: string;
  readonly agents: number;
  readonly csrf: string | null;
  readonly nowMs: number;
}) {
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">What waits of these agents</h2>
      <OrAway of={of}>
        {(found) => {
          const all = found.flat();
          const shown = all.slice(0, WAITING);
          if (all.length === 0)
            return <p class="dim">Nothing{agents > AGENTS_ASKED && ` of the first ${AGENTS_ASKED}`}.</p>;
          const table = (
            <Table label="Waiting calls" heads={[...(csrf === null ? [] : ['Deny']), 'Agent', 'Tool', 'Since']}>
              {shown.map((row) => (
                <tr key={row.id}>
                  {csrf !== null && (
                    <td>
                      <label class="pick">
                        <input type="checkbox" name="id" value={row.id} checked />
                        <span class="vh">Deny this call</span>
                      </label>
                    </td>
                  )}
                  <td>
                    <Foreign text={row.agent_id} />
                  </td>
                  <td>
                    <a href={reviewAddress(row.id)}>
                      <Foreign text={toolOf(row)} />
                    </a>
                  </td>
                  <td>
                    <Time iso={row.created_at} nowMs={nowMs} />
                  </td>
                </tr>
              ))}
            </Table>
          );
          const more = (all.length > shown.length || agents > AGENTS_ASKED) && (
            <p class="dim">
              The oldest {shown.length}
              {agents > AGENTS_ASKED && ` of the first ${AGENTS_ASKED} agents`}; there may be more after them.
            </p>
          );
          if (csrf === null)
            return (
              <>
                {table}
                {more}
              </>
            );
          return (
            <form method="post" action="/hil/bulk">
              <Csrf token={csrf} />
              <input type="hidden" name="decision" value="deny" />
              <input type="hidden" name="case" value={caseId} />
              {table}
              {more}
              <p>
                <button class="destroy" type="submit">
                  Look at those ticked, to deny them
                </button>
              </p>
              <p class="dim">
                New calls of these agents are judged as before: denying stops what waits, not the agent.
              </p>
            </form>
          );
        }}
      </OrAway>
    </section>
  );
}

const Acts = ({
  of,
  csrf,
  form,
}: {
  readonly of: IncidentCase;
  readonly csrf: string;
  readonly form: Form | undefined;
}) => (
  <section aria-labelledby="acts">
    <h2 id="acts">What to do</h2>
    <form method="post" action={caseAddress(of.id, 'note')} class="sheet">
      <Csrf token={csrf} />
      <RequestId of={form} />
      <label>
        Note
        <textarea name="note" rows={2} required maxLength={LONGEST_CASE_NOTE} value={form?.get('note') ?? ''} />
      </label>
      <p>
        <button type="submit">Write it down</button>
      </p>
    </form>
    <form method="post" action={caseAddress(of.id, 'classify')} class="filter">
      <Csrf token={csrf} />
      <Choice label="Severity" name="severity" value={of.severity} any="not classified" of={SEVERITIES} />
      <button type="submit">Classify</button>
      <span class="dim">
        Sets the deadline anew, from now, and tells the authority where that is set up (Regulation (EU) 2024/1689,
        article 73).
      </span>
    </form>
    <form method="post" action={caseAddress(of.id, 'status')} class="filter">
      <Csrf token={csrf} />
      <Choice
        label="Status"
        name="status"
        value={of.status}
        any="choose"
        of={caseStatus.options.map((option) => [option, option])}
      />
      <button type="submit">Set</button>
      <span class="dim">“Contained” records what people did: Gate stops no agent and no call by it.</span>
    </form>
    <details>
      <summary>Attach agents and calls</summary>
      <form method="post" action={caseAddress(of.id, 'attach')} class="sheet">
        <Csrf token={csrf} />
        <Subjects form={form} />
        <p>
          <button type="submit">Attach</button>
        </p>
      </form>
    </details>
  </section>
);

const Timeline = ({ of, nowMs }: { readonly of: IncidentCase; readonly nowMs: number }) => (
  <section aria-labelledby="timeline">
    <h2 id="timeline">What was done</h2>
    <ol class="story">
      {of.timeline.slice(-ROWS).map(({ at, kind, actor, detail }, index) => (
        <li key={index}>
          <p>
            {oneLine(kind.replaceAll('_', ' '))} {detail !== '' && <Foreign text={detail} />}
          </p>
          <p class="dim">
            <Time iso={at} nowMs={nowMs} /> by <Foreign text={actor} />
          </p>
        </li>
      ))}
    </ol>
    {of.timeline.length > ROWS && <p class="dim">The newest {ROWS}; the JSON has all.</p>}
  </section>
);

const Evidence = ({ rows, nowMs }: { readonly rows: readonly LedgerEntry[]; readonly nowMs: number }) => (
  <section>
    <h2 id="evidence">Rows about it</h2>
    {rows.length === 0 ? (
      <Empty>No row of your tenant is about these agents and calls. Attach some.</Empty>
    ) : (
      <Entries label="Rows about it" rows={rows.slice(0, ROWS)} nowMs={nowMs} />
    )}
    {rows.length > ROWS && (
      <p class="dim">
        The newest {ROWS} of {rows.length}; the JSON has them.
      </p>
    )}
  </section>
);
