import { Fragment } from 'preact';
import type { Json, JsonObject } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { modificationDiff, type PendingRequest } from '../../../contracts/review.js';
import { endTold, isExecutedHere, isLook } from '../../../domain/evidence/ended.js';
import { judgedBy, outcomeOf } from '../../../domain/evidence/reports/outcome.js';
import { factOf } from '../../../domain/evidence/reports/report-rows.js';
import { changesIn, summaryOf } from '../../../domain/evidence/reports/summaries.js';
import { pathText } from '../../../domain/review/argument-path.js';
import { valueAt } from '../../../domain/review/modification.js';
import { WITHDRAWN_BY_AGENT } from '../../../domain/review/transitions.js';
import { shownJson } from '../../../domain/shown-json.js';
import { spanTold } from '../../../domain/time-told.js';
import { printable } from '../../../domain/printable.js';
import { isUuid } from '../../../domain/uuid.js';
import { type Settled, settled } from '../../services.js';
import { Outcome } from '../../ui/entries.js';
import { Csrf, Empty, Facts, Foreign, ForeignBlock, Id, OrAway, RequestId, Said, Time } from '../../ui/parts.js';
import type { Page, Shown, Visit } from '../../visit.js';
import { policyAddress } from '../policies/address.js';
import { type RulePlace, rulesThatSay } from '../policies/policy.js';
import { Again } from './again.js';
import { valueText } from '../queue/arguments.js';
import { signalsOf, SignalsIn, suspicionsIn } from './evidence.js';

/** Rows that the page tells; a call has a few, and one that was tried again and again has them all in the JSON. */
const MOST_ROWS = 200;
const MOST_CHARACTERS = 100_000;

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

const newest = (rows: readonly LedgerEntry[], ...kinds: readonly string[]): LedgerEntry | undefined =>
  rows.findLast((row) => kinds.includes(row.event_kind ?? ''));

const lines = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((line) => typeof line === 'string') : [];

/** What policy said of a call, and of what an approver made of it. */
const spokenIn = (rows: readonly LedgerEntry[]): readonly string[] => [
  ...new Set(
    ['proxy.verdict', 'policy.evaluated', 'hil.modified'].flatMap((kind) => {
      const decision = newest(rows, kind)?.policy_decision;
      return [...lines(decision?.['reasons']), ...lines(decision?.['review_reasons'])];
    }),
  ),
];

/** Who asked for what, what was said of it, and what came of it. */
function Call({
  rows,
  nowMs,
  rulesOf,
  facts,
}: {
  readonly rows: readonly LedgerEntry[];
  readonly nowMs: number;
  readonly facts: Settled<Json>;
  readonly rulesOf: (said: string) => readonly RulePlace[];
}) {
  const verdict = newest(rows, 'proxy.verdict');
  const inspection = newest(rows, 'brain.inspection');
  const policy = newest(rows, 'policy.evaluated');
  const ended = newest(
    rows.filter((row) => !isLook(row)),
    'upstream.outcome',
    'call.aborted',
    'call.abandoned',
  );
  const [first] = rows;
  const spoke = spokenIn(rows);
  const undelivered = rows.filter(
    (row) => row.event_kind === 'alarm.call_stuck' && row.policy_decision?.['duty'] === 'callback',
  );
  const delivered = rows.filter((row) => row.event_kind === 'callback.delivered');
  const told = ended?.policy_decision;
  const known = ended ? undefined : knownOf(rows);
  return (
    <>
      <p class="headline">
        <Foreign text={first?.agent_id ?? ''} /> asked for <Foreign text={first?.tool_type ?? 'nothing by name'} />{' '}
        {first && <Time iso={first.timestamp} nowMs={nowMs} />}. {verdict && <Outcome row={verdict} />}{' '}
        {ended && <Outcome row={ended} />} {changedIn(rows) && <span class="tag said park">arguments changed</span>}
        {known?.word && <span class="tag said deny">{known.word}</span>}
      </p>
      <section class="verdict" aria-labelledby="verdict">
        <h2 id="verdict">Verdict</h2>
        {verdict ? (
          <p>
            <Said text={summaryOf(factOf(verdict))} />
          </p>
        ) : (
          <Empty>
            {rows.some((row) => row.event_kind?.startsWith('hil.'))
              ? 'None: this is a review without a call.'
              : 'No verdict is written yet: load the page again in a moment.'}
          </Empty>
        )}
        {spoke.length > 0 ? (
          <>
            <h3>Rules that spoke</h3>
            <ul>
              {spoke.map((line) => (
                <li key={line}>
                  <Said text={line} />
                  {rulesOf(line).map(({ name, line: at, title }) => (
                    <Fragment key={`${name} ${at}`}>
                      {' '}
                      <a href={policyAddress(name, at)}>{title ?? name}</a>
                    </Fragment>
                  ))}
                </li>
              ))}
            </ul>
          </>
        ) : (
          policy && <p class="dim">No rule spoke against it.</p>
        )}
        {verdict && (
          <Facts
            of={[
              ['Tier', <Foreign text={textOf(verdict.policy_decision?.['tier'])} />],
              ['Stopped by', <Foreign text={textOf(verdict.policy_decision?.['layer'])} />],
              ['Mode', <Foreign text={textOf(verdict.policy_decision?.['mode'])} />],
              ['Kind of call', <Foreign text={verdict.intent_category} />],
              ['Rules', <Rules of={verdict.policy_decision?.['policy_bundle']} />],
            ]}
          />
        )}
        {inspection && <Scores row={inspection} />}
        <OrAway of={facts}>{(told) => <Suspected of={suspicionsIn(told)} />}</OrAway>
      </section>
      <section aria-labelledby="result">
        <h2 id="result">Result</h2>
        {ended && told ? (
          <>
            <p>
              <Said text={summaryOf(factOf(ended))} />
            </p>
            <Facts
              of={[
                ['Status', <Foreign text={textOf(told['status_code'])} />],
                ['Took', typeof told['duration_ms'] === 'number' ? `${told['duration_ms']} ms` : 'not known'],
                [
                  'Digest of the result',
                  typeof told['result_sha256'] === 'string' ? <Id id={told['result_sha256']} short /> : 'none',
                ],
                ...(told['code'] ? [['Code', <Foreign text={textOf(told['code'])} />] as const] : []),
              ]}
            />
            <p class="dim">The ledger keeps the digest of a result, not the result.</p>
          </>
        ) : (
          <p class="dim">{known?.result ?? 'None yet: nothing ran, or it has not ended.'}</p>
        )}
        {delivered.map((row) => (
          <p key={row.id}>
            The caller's callback address was told <Time iso={row.timestamp} nowMs={nowMs} />:{' '}
            <Foreign text={textOf(row.policy_decision?.['status'])} />.
          </p>
        ))}
        {undelivered.map((row) => (
          <p key={row.id} class="notice bad">
            A message to the caller's callback address was given up <Time iso={row.timestamp} nowMs={nowMs} />:{' '}
            <Foreign text={row.reasoning} />
          </p>
        ))}
      </section>
    </>
  );
}

/** What inspection suspected, below what denies: classes, and no words of the request. */
const Suspected = ({ of }: { readonly of: readonly string[] }) =>
  of.length === 0 ? null : (
    <p>
      Suspected, which a person has to judge: <Foreign text={of.join(', ')} />.
    </p>
  );

/** What is known of a call without an outcome; `undefined` where it may still end. There is no `word` where the verdict says it already. */
function knownOf(rows: readonly LedgerEntry[]): { readonly word?: string; readonly result: string } | undefined {
  const verdict = newest(rows, 'proxy.verdict');
  const outcome = verdict && outcomeOf(judgedBy(verdict));
  if (outcome === 'denied') return { result: 'None: the call was denied, and nothing ran.' };
  if (newest(rows, 'alarm.record_tampered'))
    return {
      word: 'tampered',
      result: 'Not known: its record is not what Gate wrote, and Gate goes no further with it.',
    };
  const decided = newest(rows, 'hil.approved', 'hil.denied', 'hil.expired');
  switch (decided?.event_kind) {
    case 'hil.denied':
      return decided.policy_decision?.['decided_by'] === WITHDRAWN_BY_AGENT
        ? { word: 'withdrawn', result: 'None: its agent took the call back, and nothing ran.' }
        : { word: 'denied', result: 'None: the call was denied, and nothing ran.' };
    case 'hil.expired':
      return { word: 'expired', result: 'None: nobody decided in time, and nothing ran.' };
  }
  if (!verdict) return decided && { result: 'None: this is a review without a call.' };
  const isLeft = isExecutedHere(rows) === false && (outcome === 'allowed' || decided !== undefined);
  return isLeft ? { result: endTold({ stage: 'none', why: '' }).words } : undefined;
}

const textOf = (value: Json | undefined): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'none';

function Rules({ of }: { readonly of: Json | undefined }) {
  const bundle = (typeof of === 'object' && of !== null && !Array.isArray(of) ? of : {}) as JsonObject;
  const digest = bundle['hash_sha256'];
  if (typeof digest !== 'string') return <>none</>;
  return (
    <>
      {textOf(bundle['policy_count'])} of <Foreign text={textOf(bundle['version'])} />{' '}
      <Id id={digest.replace(/^sha256:/, '')} short />
    </>
  );
}

/** Not measured of an agent without a persona: its value says nothing then. */
const DRIFT = 'persona_drift_score';

/** What inspection made of the call. Scores are basis points in the row, and per cent here. */
function Scores({ row }: { readonly row: LedgerEntry }) {
  const scores = row['brain_scores'];
  const given =
    typeof scores === 'object' && scores !== null && !Array.isArray(scores)
      ? Object.entries(scores as JsonObject).filter(
          ([name]) => name !== DRIFT || (scores as JsonObject)['drift_available'] !== false,
        )
      : [];
  return (
    <>
      <h3>Inspection</h3>
      <p>
        <Said text={row.reasoning} />
      </p>
      {given.length > 0 && (
        <table class="values scores">
          <tbody>
            {given.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">
                  <Foreign text={name.replaceAll('_', ' ')} />
                </th>
                <td>
                  {typeof value === 'number' ? (
                    <>
                      <meter min={0} max={10_000} value={value} /> {(value / 100).toFixed(value % 100 === 0 ? 0 : 2)} %
                    </>
                  ) : (
                    <Foreign text={value === true ? 'yes' : value === false ? 'no' : JSON.stringify(value)} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <History of={row.policy_decision?.['behaviour']} />
    </>
  );
}

/** How the call compares with what its agent did before. A row of an earlier Gate says nothing of it. */
function History({ of }: { readonly of: Json | undefined }) {
  if (typeof of !== 'object' || of === null || Array.isArray(of)) return null;
  const { available, reasons, calls, days, profile_sha256: profile } = of;
  if (available !== true) return <p>Not compared with earlier calls of this agent: there are too few.</p>;
  const told = (Array.isArray(reasons) ? reasons : []).flatMap((reason) =>
    typeof reason === 'object' && reason !== null && !Array.isArray(reason) ? [textOf(reason['text'])] : [],
  );
  return (
    <>
      <p>
        {told.length === 0 ? 'Like' : 'Unlike'} what this agent did before ({textOf(calls)} calls of this tool,{' '}
        {textOf(days)} days; profile <Id id={textOf(profile)} short />){told.length === 0 ? '.' : ':'}
      </p>
      {told.length > 0 && (
        <ul>
          {told.map((text) => (
            <li key={text}>
              <Foreign text={text} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
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
    <p>
      <span class={`tag ${row.status}`}>{row.status}</span> {row.modification_diff && 'with changed arguments '}
      {row.decided_by && (
        <>
          by <Foreign text={row.decided_by} />{' '}
        </>
      )}
      {row.decided_at && <Time iso={row.decided_at} nowMs={nowMs} />}
      {row.decision_reason && (
        <>
          : <Foreign text={row.decision_reason} />
        </>
      )}{' '}
      <a href={`/hil/${row.id}`}>{row.status === 'pending' ? 'Decide it' : 'Its review'}</a>
      {mayNote && row.status !== 'pending' && (
        <>
          {', '}
          <a href={`/hil/${row.id}/note`}>{row.incident_summary ? 'another note' : 'note what came of it'}</a>
        </>
      )}
    </p>
    {(row.approvals ?? []).length > 0 && (
      <ul>
        {row.approvals?.map(({ by, at, provenance }) => (
          <li key={by}>
            <Foreign text={by} /> approved <Time iso={at} nowMs={nowMs} />, proved by{' '}
            {provenance === 'console-bearer' ? (
              'a session of the console'
            ) : provenance === 'webauthn' ? (
              'a passkey'
            ) : (
              <Foreign text={provenance} />
            )}
          </li>
        ))}
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

/** What an approver put in the place of what the agent sent, as the ledger has it; `null` where nobody did. */
function changedIn(rows: readonly LedgerEntry[]) {
  const row = newest(rows, 'hil.modified');
  if (!row) return null;
  const diff = modificationDiff.safeParse(row.policy_decision?.['modification_diff']);
  return { row, replacements: diff.success ? diff.data.replacements : [] };
}

const valueShown = (value: Json | undefined): string =>
  value === undefined
    ? 'not known'
    : printable(value !== null && typeof value === 'object' ? JSON.stringify(value) : valueText(value));

/** What ran in the place of what stands below, before anybody takes that for it. */
function AsItRan({
  rows,
  request,
}: {
  readonly rows: readonly LedgerEntry[];
  /** As the agent sent it, masked; `null` where it was purged. */
  readonly request: JsonObject | null;
}) {
  const change = changedIn(rows);
  if (!change) return null;
  const ran = rows.some((row) => row.event_kind === 'upstream.outcome' && !isLook(row));
  const became = ran ? 'As it ran' : newest(rows, 'hil.approved') ? 'As approved' : 'As changed';
  return (
    <>
      <p>
        <strong>Not as its agent sent it:</strong> <Foreign text={textOf(change.row.policy_decision?.['decided_by'])} />{' '}
        changed what stands here, and nothing else.
      </p>
      <table class="values diff">
        <thead>
          <tr>
            <th scope="col">Argument</th>
            <th scope="col">As the agent sent it</th>
            <th scope="col">{became}</th>
          </tr>
        </thead>
        <tbody>
          {change.replacements.map(({ path, value }) => (
            <tr key={JSON.stringify(path)} class="changed">
              <th scope="row">
                <bdi class="foreign">{printable(pathText(path))}</bdi>
              </th>
              <td class="foreign text">{valueShown(request === null ? undefined : valueAt(request, path))}</td>
              <td class="foreign text">
                <ins>{valueShown(value)}</ins>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

const Request = ({
  of,
  method,
  rows,
  facts,
}: {
  readonly method: string;
  readonly rows: readonly LedgerEntry[];
  readonly facts: Settled<Json>;
  readonly of: Settled<{ readonly masked_params: Json; readonly retention_class: string | null }>;
}) => (
  <section aria-labelledby="request">
    <h2 id="request">Request</h2>
    <OrAway of={of}>
      {({ masked_params: params, retention_class: kept }) => {
        const sent = params as JsonObject | null;
        if (sent === null)
          return (
            <>
              <AsItRan rows={rows} request={null} />
              <p class="dim">The request was purged at its date; the rows keep its digest.</p>
            </>
          );
        const { isWhole } = shownJson(params, MOST_CHARACTERS);
        return (
          <>
            <AsItRan rows={rows} request={{ method, params: sent }} />
            {!facts.ok && (
              <p class="notice bad">
                Values that another tool's answer brought in are not marked: what policy was told of the call cannot be
                read, as said above.
              </p>
            )}
            <SignalsIn
              of={params}
              most={MOST_CHARACTERS}
              signals={signalsOf(rows, facts.ok ? facts.value : null)}
              label="The request, secrets masked"
            />
            {!isWhole && (
              <p class="notice bad">Only the beginning: the request has more than {MOST_CHARACTERS} characters.</p>
            )}
            <p class="dim">
              As the agent sent it, secrets masked.{' '}
              {kept !== null && (
                <>
                  Retention class: <Foreign text={kept} />.
                </>
              )}
            </p>
          </>
        );
      }}
    </OrAway>
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
        Title of a case <input name="title" required maxLength={200} />
      </label>
      <button type="submit">Open a case of this call</button>
    </form>
  </section>
);

const checking = (seq: string | number | undefined): string =>
  `npx gate verify --bundle gate-proof-${seq}.json --key log.vkey`;

const Story = ({
  id,
  rows,
  nowMs,
}: {
  readonly id: string;
  readonly rows: readonly LedgerEntry[];
  readonly nowMs: number;
}) => (
  <section class="wide" aria-labelledby="story">
    <h2 id="story">What happened</h2>
    <ol class="story timed">
      {rows.slice(0, MOST_ROWS).map((row, at) => (
        <Step key={row.id} id={id} row={row} before={rows[at - 1]} nowMs={nowMs} />
      ))}
    </ol>
    {rows.length > MOST_ROWS && <p class="notice">{rows.length - MOST_ROWS} more rows are in the JSON.</p>}
    <p class="dim">
      <a href={`/api/audit/correlation/${id}`}>All rows as JSON</a>. A proof is checked on any machine, with neither
      this console nor the network; that of row {rows.at(-1)?.seq} with{' '}
      <code data-copy={checking(rows.at(-1)?.seq)}>{checking(rows.at(-1)?.seq)}</code>, where <code>log.vkey</code> has
      the log's key, its verifier key or its public key in PEM, which you have from elsewhere than the proof (
      <code>docs/how-to/prove-a-row.md</code>). <code data-copy="npx gate verify">npx gate verify</code> walks the whole
      chain.
    </p>
  </section>
);

function Step({
  id,
  row,
  before,
  nowMs,
}: {
  readonly id: string;
  readonly row: LedgerEntry;
  readonly before: LedgerEntry | undefined;
  readonly nowMs: number;
}) {
  const later = before ? Date.parse(row.timestamp) - Date.parse(before.timestamp) : 0;
  const changes = row.event_kind === 'hil.modified' ? null : changesIn(row.policy_decision);
  return (
    <li>
      <p>
        <Said text={summaryOf(factOf(row))} /> <Outcome row={row} />
      </p>
      {changes && (
        <p>
          Changed: <Foreign text={changes} />
        </p>
      )}
      <p class="dim">
        <Time iso={row.timestamp} nowMs={nowMs} /> {before && <>+{later < 10_000 ? `${later} ms` : spanTold(later)} </>}
        <code>
          <Foreign text={row.event_kind ?? row.method} />
        </code>{' '}
        {row.decided_by && (
          <>
            by <Foreign text={row.decided_by} />{' '}
          </>
        )}
        row {row.seq} <Id id={row.entry_hash} short />{' '}
        <a href={`/audit/correlation/${id}/proof?seq=${row.seq}`} download>
          proof
        </a>
      </p>
      {row.policy_decision && (
        <details>
          <summary>What the row says</summary>
          <ForeignBlock text={shownJson(row.policy_decision, MOST_CHARACTERS).text} label={`Row ${row.seq}`} />
        </details>
      )}
    </li>
  );
}
