import { LONGEST_TITLE } from '../../../contracts/cases.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { isRehearsal } from '../../../domain/review/rehearsal.js';
import { isUuid } from '../../../domain/uuid.js';
import { settled } from '../../services.js';
import { reviewAddress } from '../../ui/addresses.js';
import { Decided } from '../../ui/decided.js';
import { Csrf, Empty, Facts, Foreign, Id, OrAway, RequestId, Time } from '../../ui/parts.js';
import { RehearsalTold } from '../../ui/rehearsal.js';
import type { Page, Shown, Visit } from '../../visit.js';
import { rulesThatSay } from '../policies/rules-that-say.js';
import { Again } from './again.js';
import { Request } from './request.js';
import { spokenIn, textOf } from './rows.js';
import { Story } from './story.js';
import { Call } from './verdict.js';
import { besideApproval } from '../../../domain/decision/quorum.js';

/** The story of one call, from the rows of the ledger, in the order of the chain. */
export const CALL: Page = {
  path: '/audit/correlation/:cid',
  role: 'viewer',
  show: (visit) => callShown(visit, visit.params['cid'] ?? ''),
};

/** The same by an id that somebody typed: the call's, or its review's, which its agent was told beside it. */
export const FIND_CALL: Page = {
  path: '/audit/correlation',
  role: 'viewer',
  async show(visit) {
    const id = (visit.query['id'] ?? '').trim().toLowerCase();
    const review = isUuid(id) ? await settled('hil', visit.services.hil.row(id)) : null;
    return callShown(visit, review?.ok && review.value ? review.value.correlation_id : id);
  },
};

async function callShown({ query, services, nowMs, csrf, about, has, mayPost }: Visit, id: string): Promise<Shown> {
  const isId = isUuid(id);
  const [rows, review] = isId
    ? await Promise.all([settled('ledger', services.ledger.call(id)), settled('hil', services.hil.byCorrelation(id))])
    : ([
        { ok: true, value: [] },
        { ok: true, value: null },
      ] as const);
  const all = rows.ok ? rows.value : [];
  // The row that commits to the request: its verdict, or for a review without a call the row that opened it.
  const asked = all.find(
    (row) => ['proxy.verdict', 'hil.created'].includes(row.event_kind ?? '') && row['payload_sha256'] !== null,
  );
  // What policy was told of the call: some of it says where in the request it stands. Only these facts of it are shown.
  const judged = all.findLast((row) => row.event_kind === 'policy.evaluated' && row['payload_sha256'] !== null);
  const [request, facts, policies] = await Promise.all([
    asked ? settled('ledger', services.ledger.maskedParams(asked.id)) : null,
    judged ? settled('ledger', services.ledger.facts(id)) : ({ ok: true, value: null } as const),
    // Without the policy engine the words stand there without a way to their rules.
    spokenIn(all).length > 0 ? services.policy.list().catch(() => null) : null,
  ]);
  const rulesOf = policies ? rulesThatSay(policies) : () => [];
  const isEmpty = rows.ok && all.length === 0;
  const again =
    query['judged'] === 'again' && all.length > 0
      ? await settled(['ledger', 'policy'], services.judgedAgain(id))
      : null;
  return {
    title: `Call ${id.slice(0, 8)}`,
    ...(isEmpty && { status: 404 }),
    body: (
      <section class="call">
        <h1>
          Call <Id id={id} />
        </h1>
        <OrAway of={rows}>
          {(found) =>
            found.length === 0 ? (
              <Empty>
                No call has this id in your tenant. An id has 36 characters, as an agent is told it, with its dashes.{' '}
                <a href="/audit">Find a call by its agent, tool or time</a>
              </Empty>
            ) : (
              <Call rows={found} nowMs={nowMs} rulesOf={rulesOf} facts={facts} />
            )
          }
        </OrAway>
        {!isEmpty && (
          <>
            <OrAway of={review}>
              {(row) => row && <Review row={row} nowMs={nowMs} mayNote={mayPost('/hil/:id/note')} />}
            </OrAway>
            {request && (
              <Request of={request} method={textOf(asked?.policy_decision?.['rpc_method'])} rows={all} facts={facts} />
            )}
            {all.length > 0 && has('judging-again') && <Again id={id} of={again} />}
            {all.length > 0 && about.workflowPages !== null && <Workflow id={id} pages={about.workflowPages} />}
            {all.length > 0 && mayPost('/cases') && <IntoCase id={id} csrf={csrf} />}
            {all.length > 0 && <Story id={id} rows={all} nowMs={nowMs} />}
          </>
        )}
      </section>
    ),
  };
}

/** Who decided, and why, as the review service has it. */
const Review = ({
  row,
  nowMs,
  mayNote,
}: {
  readonly row: PendingRequest;
  readonly nowMs: number;
  readonly mayNote: boolean;
}) => (
  <section aria-labelledby="review">
    <h2 id="review">Review</h2>
    {isRehearsal(row) && <RehearsalTold />}
    <p>
      <Decided row={row} nowMs={nowMs} />{' '}
      <a href={reviewAddress(row.id)}>{row.status === 'pending' ? 'Decide it' : 'Its review'}</a>
      {mayNote && row.status !== 'pending' && (
        <>
          {', '}
          <a href={reviewAddress(row.id, 'note')}>{row.incident_summary ? 'another note' : 'note what came of it'}</a>
        </>
      )}
    </p>
    {(row.approvals ?? []).length > 0 && (
      <ul>
        {row.approvals?.map((approval) => {
          const { by, at, provenance } = approval;
          const mark = besideApproval(approval);
          return (
            <li key={by}>
              <Foreign text={by} /> approved <Time iso={at} nowMs={nowMs} />, proved by{' '}
              {provenance === 'console-bearer' ? (
                'a session of the console'
              ) : provenance === 'webauthn' ? (
                'a passkey'
              ) : (
                <Foreign text={provenance} />
              )}
              {mark !== null && `, which ${mark}`}
            </li>
          );
        })}
      </ul>
    )}
    <Facts
      of={[
        ['People needed', String(row.required_approvers ?? 1)],
        ['Through', <Foreign text={row.decided_via ?? 'not decided'} />],
        ...(row.incident_summary ? [['Note', <Foreign text={row.incident_summary} />] as const] : []),
      ]}
    />
  </section>
);

/** Where the engine's own pages show the run of the call; they ask for a token of their own. */
const Workflow = ({ id, pages }: { readonly id: string; readonly pages: string }) => (
  <p class="wide">
    <a href={`${pages.replace(/\/$/, '')}/${id}`} rel="noreferrer">
      Its workflow, in the engine's pages
    </a>
    <span class="dim">, which ask for a sign-in of their own</span>
  </p>
);

/** A case about this call, with its agent's rows to be attached later. */
const IntoCase = ({ id, csrf }: { readonly id: string; readonly csrf: string }) => (
  <section class="wide">
    <form method="post" action="/cases" class="filter">
      <Csrf token={csrf} />
      <RequestId />
      <input type="hidden" name="call" value={id} />
      <label>
        Title of a case <input name="title" required maxLength={LONGEST_TITLE} />
      </label>
      <button type="submit">Open a case of this call</button>
    </form>
  </section>
);
