import type { ComponentChildren } from 'preact';
import { toolOf } from '../../../contracts/call-methods.js';
import { type PendingRequest, type PendingSummary, riskTier, type SinceLastCall } from '../../../contracts/review.js';
import { canonicalDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import { oneLine } from '../../../domain/printable.js';
import { changesTold, comparedTold, endedTold, NONE_SINCE } from '../../../domain/review/since-last.js';
import { summaryOf } from '../../../domain/review/summary.js';
import { deadlineOf } from '../../../domain/review/transitions.js';
import { isPersonsName } from '../../../domain/review/vouching.js';
import { whyItWaits } from '../../../domain/review/why-it-waits.js';
import { AS_ASKED, predictedOf, reasonsOf, wasChanged } from '../../../domain/sandbox/told.js';
import { isUuid } from '../../../domain/uuid.js';
import { escapedInPath } from '../../../domain/name-in-path.js';
import { isAtLeast } from '../../roles.js';
import { type QueuePage, type QueueQuery, type Settled, settled } from '../../services.js';
import { Chain } from '../../ui/chain.js';
import { Away, Csrf, Empty, Facts, Foreign, Id, OrAway, Time } from '../../ui/parts.js';
import { Typed } from '../../ui/typed.js';
import {
  type Form,
  type Notice,
  type Page,
  type Shown,
  type SigningVisit,
  signingVisit,
  type Visit,
} from '../../visit.js';
import { Arguments, Changed } from './arguments.js';
import { type CameOfIt, cameOfIt, type SaidOfIt, saidOf } from './came-of-it.js';
import { Forms, fresh, ListFields } from './forms.js';
import { listAddress, queueQuery, ROWS, STATUSES } from './list-address.js';
import { Similar } from './similar.js';

/** The first page: what waits. */
export const HOME: Page = { path: '/', role: 'viewer', show: (visit) => queueShown(visit, null) };

export const QUEUE: Page = {
  path: '/hil',
  role: 'viewer',
  nav: { label: 'Queue', key: 'h' },
  show: (visit) => queueShown(visit, null),
};

/** A row beside the list; also where a decision link leads. */
export const REVIEW: Page = {
  path: '/hil/:id',
  role: 'viewer',
  show: (visit) => queueShown(visit, visit.params['id'] ?? ''),
};

/** The list, and one row of it: the named one, or the first. `refused` is the form that was sent and refused. */
export async function queueShown(
  visit: Visit,
  id: string | null,
  notice: Notice | null = null,
  refused: Form | null = null,
): Promise<Shown> {
  const wanted = queueQuery(visit);
  // The script puts it beside the list that is shown.
  const isDetailAlone = id !== null && visit.query['part'] === 'detail';
  const isListAlone = id === null && visit.query['part'] === 'rows';
  const { query, listed, misread } = isDetailAlone
    ? { query: wanted, listed: null, misread: null }
    : await listOf(visit, wanted, isListAlone);
  const first = isListAlone ? null : (id ?? (listed?.ok ? (listed.value.items[0]?.id ?? null) : null));
  const row = first === null ? null : await settled('The review service', rowOf(visit, first));
  const found = row?.ok ? row.value : null;
  const isDone = notice === null && found !== null && visit.query['done'] === found.id;
  const [lately, said, signing, came] = await Promise.all([
    found && settled('The review service', visit.services.hil.lately(found.agent_id)),
    found?.status === 'pending' ? saidOf(visit, found) : null,
    found ? signingVisit(visit) : null,
    isDone && found.status === 'approved' ? cameOfIt(visit, found) : null,
  ]);
  const broken = visit.services.ledger.broken();
  // Where the call was chosen by nobody it stays, decided: another one in its place would be under the hand that was about to decide.
  const chosen = found?.id ?? id;
  const self = listAddress(chosen === null ? '/hil' : `/hil/${escapedInPath(chosen)}`, query);
  const missing = id !== null && row?.ok === true && found === null;
  return {
    title: found ? `${toolOf(found)}, ${found.status}` : listTitle(listed),
    notice:
      notice ??
      (isDone ? doneNotice(found, came, visit.person.subject, nextOf(listed, found, query)) : null) ??
      (misread === null ? null : { kind: 'bad', text: misread }),
    ...(missing && { status: 404 }),
    ...(isDetailAlone && found && { version: JSON.stringify([visit.about.startedAt, found, lately, said, broken]) }),
    body: (
      <div class={id === null ? 'queue' : 'queue one'} data-live="/stream/hil" data-self={self}>
        <p class="live" aria-live="polite" data-live-status />
        {broken && (
          <div class="broken">
            <Chain of={{ ok: true, value: broken }} nowMs={visit.nowMs} />
          </div>
        )}
        {listed && (
          <List visit={visit} listed={listed} query={query} selected={found} ticked={refused?.all('id') ?? []} />
        )}
        <section class="detail" aria-label="The chosen call">
          {row && !row.ok && <Away service={row.service} why={row.why} />}
          {missing && <Empty>No such call waits or waited here, or its row is past its retention.</Empty>}
          {found && lately && signing && (
            <Review
              row={found}
              lately={lately}
              said={said}
              visit={signing}
              query={query}
              reason={refused?.get('reason') ?? ''}
              assignee={refused?.get('to') ?? ''}
            />
          )}
          {refused && found?.status !== 'pending' && <Typed form={refused} />}
          {row === null && <Empty>A call that is chosen in the list is shown here.</Empty>}
        </section>
      </div>
    ),
  };
}

/**
 * The list, from its beginning where it has no such place as the address names, with why. The script, which puts what it asked for behind rows that
 * stand there, is refused.
 */
async function listOf(
  visit: Visit,
  query: QueueQuery,
  isListAlone: boolean,
): Promise<{ query: QueueQuery; listed: Settled<QueuePage>; misread: string | null }> {
  try {
    return { query, listed: await settled('The review service', asked(visit, query)), misread: null };
  } catch (error) {
    if (!(error instanceof GateError && error.code === 'invalid_cursor') || isListAlone) throw error;
    const first = { ...query, cursor: undefined };
    const misread = `This list has no such place as this address names. It is shown from its beginning (${error.code}).`;
    return { query: first, listed: await settled('The review service', asked(visit, first)), misread };
  }
}

const rowOf = async ({ services: { hil } }: Visit, id: string): Promise<PendingRequest | null> =>
  isUuid(id) ? ((await hil.row(id)) ?? (await hil.byCorrelation(id))) : null;

/** The list; where a whole id is looked for, the call that has it as its own or as its correlation id, whatever became of it. */
async function asked(visit: Visit, query: QueueQuery): Promise<QueuePage> {
  const { hil } = visit.services;
  const id = soughtId(query);
  if (id === null) return hil.summaries(query);
  const [row, { pending_count }] = await Promise.all([
    rowOf(visit, id),
    hil.summaries({ status: 'pending', sort: 'oldest', limit: 1 }),
  ]);
  return { items: row ? [summaryOf(row)] : [], next_cursor: null, searched_to: null, pending_count };
}

/** The whole id that is looked for; `null` for anything else. */
function soughtId({ q = '' }: QueueQuery): string | null {
  const id = q.trim().toLowerCase();
  return isUuid(id) ? id : null;
}

/** Nothing is known of what waits where nobody answered, nor where no list was asked for. */
const listTitle = (listed: Settled<QueuePage> | null): string => {
  if (listed === null) return 'Call';
  if (!listed.ok) return 'Not known what waits';
  const { pending_count: waiting } = listed.value;
  return waiting === 0 ? 'Nothing waits' : `${waiting} wait`;
};

/** Where the next call that waits is, after the place of the decided one: on a telephone no list stands beside it. */
function nextOf(listed: Settled<QueuePage> | null, row: PendingRequest, query: QueueQuery): string | null {
  if (!listed?.ok || query.status !== 'pending') return null;
  const others = listed.value.items.filter(({ id }) => id !== row.id);
  const next = others[placeIn(others, row, query)] ?? others[0];
  return next ? listAddress(`/hil/${next.id}`, query) : null;
}

const Next = ({ href }: { readonly href: string | null }) =>
  href === null ? null : (
    <>
      {' '}
      <a class="next" href={href}>
        Next call
      </a>
    </>
  );

/** What a decision came to, read from the row: an address can claim anything. */
function doneNotice(row: PendingRequest, came: CameOfIt | null, by: string, next: string | null): Notice | null {
  const call = (
    <>
      <Foreign text={toolOf(row)} /> for <Foreign text={row.agent_id} />
    </>
  );
  if (row.status === 'pending') {
    const given = row.approvals?.length ?? 0;
    return given === 0
      ? null
      : {
          kind: 'good',
          text: (
            <>
              Your approval of {call} counts: {given} of {row.required_approvers ?? 1}. It waits for others.
              <Next href={next} />
            </>
          ),
        };
  }
  const changed = row.modification_diff ? ' with changed arguments' : '';
  // Who denies gets what was asked for; who meant something else is told so.
  const isDenial = row.status === 'denied' && row.decided_by === by && !row.modification_diff;
  return {
    kind: came?.kind ?? (row.status === 'approved' || isDenial ? 'good' : 'bad'),
    text: (
      <>
        {row.status === 'approved' ? `Approved${changed}` : capitalized(row.status)}: {call}
        {row.decided_by && (
          <>
            , by <Foreign text={row.decided_by} />
          </>
        )}
        . {came && came.words !== '' && <Foreign text={came.words} />}{' '}
        <a href={`/audit/correlation/${row.correlation_id}`}>What came of it</a>
        <Next href={next} />
      </>
    ),
  };
}

const capitalized = (word: string): string => `${word[0]?.toUpperCase() ?? ''}${word.slice(1)}`;

/** The rows of a list, in the form that takes those that are ticked, where somebody may tick them. */
function Ticking({
  visit,
  query,
  picks,
  isTicked,
  children,
}: {
  readonly visit: Visit;
  readonly query: QueueQuery;
  readonly picks: boolean;
  readonly isTicked: boolean;
  readonly children: ComponentChildren;
}) {
  if (!picks) return <>{children}</>;
  return (
    <form method="post" action="/hil/bulk" class={isTicked ? 'ticked' : undefined}>
      <Csrf token={visit.csrf} />
      <ListFields query={query} />
      {children}
      <p class="bulk-acts">
        <button type="submit" name="decision" value="approve">
          Approve ticked
        </button>{' '}
        <button type="submit" name="decision" value="deny">
          Deny ticked
        </button>
      </p>
    </form>
  );
}

function List({
  visit,
  listed,
  query,
  selected,
  ticked,
}: {
  readonly visit: Visit;
  readonly listed: Settled<QueuePage>;
  readonly query: QueueQuery;
  readonly selected: PendingRequest | null;
  readonly ticked: readonly string[];
}) {
  const picks = query.status === 'pending' && isAtLeast(visit.person.role, 'approver');
  const isById = soughtId(query) !== null;
  return (
    <section class="list" aria-label="Calls">
      <h1>
        {query.status === 'pending' ? 'Waiting' : capitalized(query.status)}{' '}
        {listed.ok && query.status === 'pending' && <span class="count">{listed.value.pending_count}</span>}
      </h1>
      <form class="filter" method="get" action="/hil" role="search">
        <label>
          <span class="vh">Agent, tool, words or an id</span>
          <input name="q" type="search" placeholder="Agent, tool, words or an id" value={query.q ?? ''} data-search />
        </label>
        <label>
          <span class="vh">Status</span>
          <select name="status">
            {STATUSES.map((status) => (
              <option key={status} value={status} selected={status === query.status}>
                {status}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="vh">Predicted effect</span>
          <select name="risk">
            <option value="">any effect</option>
            {riskTier.options.map((risk) => (
              <option key={risk} value={risk} selected={risk === query.riskTier}>
                {risk}
              </option>
            ))}
          </select>
        </label>
        <button type="submit">Show</button>
      </form>
      <div data-list>
        <OrAway of={listed}>
          {({ items, next_cursor, searched_to }) => {
            // Before the end of the list. How far, is not told where the last row has no time: then it has fewer than a page has.
            const stopped = next_cursor !== null && (searched_to !== null || items.length < ROWS);
            return items.length === 0 && next_cursor === null && !query.cursor ? (
              <Empty>
                {isById
                  ? 'No call has this id, or its row is past its retention.'
                  : query.status === 'pending' && !query.q && !query.riskTier
                    ? 'Nothing waits. A call that policy parks appears here by itself.'
                    : 'None. Show another status, or take the filter away. A whole id is found in any status.'}
              </Empty>
            ) : (
              <>
                <Ticking visit={visit} query={query} picks={picks} isTicked={ticked.length > 0}>
                  <div data-rows data-place={selected ? placeIn(items, selected, query) : undefined}>
                    {/* Lists of their own would be as many lists to who listens. */}
                    <div class="rows" role="list">
                      {parts(items).map((part) => (
                        <div class="few" key={part[0]?.id}>
                          {part.map((item) => (
                            <div class="row" role="listitem" key={item.id} data-row={item.id}>
                              {picks && item.status === 'pending' && (
                                <label class="pick">
                                  <input
                                    type="checkbox"
                                    name="id"
                                    value={item.id}
                                    checked={ticked.includes(item.id)}
                                    aria-label={chosen(item)}
                                  />
                                </label>
                              )}
                              <Row item={item} visit={visit} query={query} selected={item.id === selected?.id} />
                            </div>
                          ))}
                        </div>
                      ))}
                    </div>
                  </div>
                  <p data-next class={stopped ? 'dim' : undefined}>
                    {stopped && items.length === 0 && !query.cursor && 'None so far. '}
                    {stopped &&
                      (searched_to === null ? (
                        'The list is not searched to its end. '
                      ) : (
                        <>
                          Searched as far as what was asked for <Time iso={searched_to} nowMs={visit.nowMs} />.{' '}
                        </>
                      ))}
                    {next_cursor !== null ? (
                      <a href={listAddress('/hil', query, { cursor: next_cursor })} rel="next">
                        {stopped ? 'Search on' : `Next ${ROWS}`}
                      </a>
                    ) : (
                      items.length === 0 && 'No more of them: the search is at its end.'
                    )}
                  </p>
                </Ticking>
                {query.cursor && (
                  <p>
                    <a href={listAddress('/hil', { ...query, cursor: undefined })}>From the beginning</a>
                  </p>
                )}
              </>
            );
          }}
        </OrAway>
      </div>
    </section>
  );
}

/**
 * Rows that a browser lays out together when somebody scrolls to them: as many as fit into a part of a frame's time. They stand in the list of
 * their page, which is skipped as a whole where nobody looks: of ten thousand by themselves each would be looked at in every frame.
 */
const LAID_OUT_TOGETHER = 5;
const parts = <Item,>(items: readonly Item[]): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / LAID_OUT_TOGETHER) }, (_, at) =>
    items.slice(at * LAID_OUT_TOGETHER, (at + 1) * LAID_OUT_TOGETHER),
  );

/** What a box is for; without elements of its own, which a browser would lay out in every row. */
const chosen = (item: PendingSummary): string =>
  `Choose ${oneLine(item.tool)} for ${oneLine(item.agent_id)}, ${item.id.slice(0, 8)}: ${oneLine(asksFor(item))}`;

/** What the call would do, as predicted, before why it waits: rows of one rule differ in that alone. */
const asksFor = ({ predicted, risk_summary }: PendingSummary): string =>
  predicted === null ? risk_summary : `${predicted}: ${risk_summary}`;

/** How many rows stand before a call's place in the list, where the keys go on from when it was decided and is not in the list any more. */
function placeIn(items: readonly PendingSummary[], { created_at, id }: PendingRequest, { sort }: QueueQuery): number {
  const isBefore = (item: PendingSummary): boolean => {
    const [one, other] = [`${item.created_at} ${item.id}`, `${created_at} ${id}`];
    return sort === 'oldest' ? one < other : one > other;
  };
  return items.filter(isBefore).length;
}

function Row({
  item,
  visit: { nowMs },
  query,
  selected,
}: {
  readonly item: PendingSummary;
  readonly visit: Visit;
  readonly query: QueueQuery;
  readonly selected: boolean;
}) {
  return (
    <a href={listAddress(`/hil/${item.id}`, query)} aria-current={selected ? 'true' : undefined}>
      <span class="what">
        <Foreign text={item.tool} /> <Severity of={item.severity} />
        {item.status !== query.status && (
          <>
            {' '}
            <span class={`tag ${item.status}`}>{item.status}</span>
          </>
        )}
      </span>
      <span class="when">
        {item.status === 'pending' ? (
          <Time iso={item.expires_at} nowMs={nowMs} />
        ) : (
          <Time iso={item.decided_at ?? item.created_at} nowMs={nowMs} />
        )}
      </span>
      <span class="dim why" title={oneLine(asksFor(item))}>
        <Foreign text={asksFor(item)} />
      </span>
      <span class="dim">
        <Foreign text={item.agent_id} /> <Short id={item.id} />
        {item.required_approvers > 1 && (
          <>
            , {item.approvals_count} of {item.required_approvers}
          </>
        )}
        {item.assigned_to && (
          <>
            , for <Foreign text={item.assigned_to} />
          </>
        )}
        {item.status !== 'pending' && item.decided_by && (
          <>
            , by <Foreign text={item.decided_by} />
          </>
        )}
      </span>
    </a>
  );
}

/** The beginning of an id: calls that are alike in all else are told apart by it, here and where several are decided. */
const Short = ({ id }: { readonly id: string }) => <code>{id.slice(0, 8)}</code>;

export const Severity = ({ of }: { readonly of: string | null }) =>
  of === null ? <span class="tag unscored">no report</span> : <span class={`tag ${of}`}>{of}</span>;

/** Everything about a decision. */
function Review({
  row,
  lately,
  said,
  visit,
  query,
  reason,
  assignee,
}: {
  readonly row: PendingRequest;
  readonly lately: Settled<readonly PendingRequest[]>;
  /** `null`: of a call that was decided. */
  readonly said: SaidOfIt | null;
  readonly visit: SigningVisit;
  readonly query: QueueQuery;
  readonly reason: string;
  readonly assignee: string;
}) {
  const { nowMs } = visit;
  const due = deadlineOf(row);
  return (
    <article data-review={row.id}>
      <h2>
        <Foreign text={row.agent_id} /> {row.status === 'pending' ? 'asks' : 'asked'} for <Foreign text={toolOf(row)} />
      </h2>
      {row.status === 'pending' ? (
        <p class="deadline">
          <meter
            min={0}
            max={row.ttl_seconds}
            value={Math.max(0, (due - nowMs) / 1000)}
            aria-label="Time left"
            data-due={due}
          />{' '}
          expires <Time iso={new Date(due).toISOString()} nowMs={nowMs} />
        </p>
      ) : (
        <p>
          <span class={`tag ${row.status}`}>{row.status}</span>{' '}
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
          )}
        </p>
      )}
      <section aria-labelledby="why">
        <h3 id="why">Why it waits</h3>
        <ul>
          {whyItWaits(row).map((line) => (
            <li key={line}>
              <Foreign text={line} />
            </li>
          ))}
        </ul>
        {said !== null && said.inspected !== null && (
          <p>
            Inspection: <Foreign text={said.inspected} />
          </p>
        )}
      </section>
      <section aria-labelledby="effect">
        <h3 id="effect">Predicted effect</h3>
        <p data-predicted>
          <Severity of={row.sandbox_report?.severity ?? null} /> <Foreign text={predictedOf(row) ?? ''} />
        </p>
        {wasChanged(row) && <p class="standing">Of what runs nobody predicted anything: {AS_ASKED}.</p>}
        {reasonsOf(row).length > 0 && (
          <ul>
            {reasonsOf(row).map((line) => (
              <li key={line}>
                <Foreign text={line} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <Arguments row={row} />
      {row.modification_diff && <Changed row={row} />}
      {row.status === 'pending' && (
        <Forms
          row={row}
          effect={said?.effect ?? null}
          visit={visit}
          query={query}
          reason={reason}
          assignee={assignee}
          deciders={decidersOf(lately)}
        />
      )}
      <div {...fresh('similar', lately.ok && canonicalDigest(lately.value.map(({ id }) => id)))}>
        <Similar row={row} lately={lately} visit={visit} />
      </div>
      {row.since_last_call !== undefined && (
        <section aria-labelledby="since">
          <h3 id="since">Since this agent's last such call that waited</h3>
          <ul>
            <li>{row.since_last_call ? <LastCall last={row.since_last_call} nowMs={nowMs} /> : NONE_SINCE}</li>
            {row.since_last_call &&
              changesTold(row.since_last_call).map((line) => (
                <li key={line}>
                  <Foreign text={line} />
                </li>
              ))}
          </ul>
        </section>
      )}
      <div {...fresh('facts', [row.assigned_to, row.approvals])}>
        <Facts
          of={[
            ...((row.required_approvers ?? 1) > 1 ? [['Approvals', approvalsTold(row, nowMs)] as const] : []),
            ...(visit.person.tenant === null ? [['Tenant', <Foreign text={row.tenant} />] as const] : []),
            ['Assigned to', assignedTold(row)],
            ['Asked', <Time iso={row.created_at} nowMs={nowMs} />],
            ['Identity', row.agent_spiffe ? <Foreign text={row.agent_spiffe} /> : 'none'],
            ['Tier of approval', row.approval_tier ?? 'standard'],
            ['Review', <Id id={row.id} />],
            [
              'Call',
              <>
                <Id id={row.correlation_id} /> <a href={`/audit/correlation/${row.correlation_id}`}>its story</a>
              </>,
            ],
            ['Digest', <Id id={row.original_payload_digest} />],
          ]}
        />
      </div>
    </article>
  );
}

/** To whom, and by whom where that is somebody else. */
function assignedTold({ assigned_to: to, assigned_by: by }: PendingRequest) {
  if (!to) return 'nobody';
  return (
    <>
      <Foreign text={to} />
      {by && by !== to && (
        <>
          , by <Foreign text={by} />
        </>
      )}
    </>
  );
}

/** The people who decided these calls, each once. */
const decidersOf = (lately: Settled<readonly PendingRequest[]>): readonly string[] =>
  lately.ok
    ? [
        ...new Set(
          lately.value
            .flatMap(({ decided_by, approvals }) => [decided_by ?? '', ...(approvals ?? []).map(({ by }) => by)])
            .filter(isPersonsName),
        ),
      ]
    : [];

/** Which call that was, what became of it, and how it differs. */
const LastCall = ({ last, nowMs }: { readonly last: SinceLastCall; readonly nowMs: number }) => (
  <>
    <a href={`/hil/${last.pending_id}`}>
      <Time iso={last.created_at} nowMs={nowMs} />
    </a>
    , <Foreign text={endedTold(last)} /> (<Id id={last.pending_id} />
    ): {comparedTold(last)}
  </>
);

function approvalsTold({ approvals = [], required_approvers: required = 1 }: PendingRequest, nowMs: number) {
  return (
    <>
      {approvals.length} of {required}
      {approvals.map(({ by, at, reason }) => (
        <span key={by}>
          , <Foreign text={by} /> <Time iso={at} nowMs={nowMs} />
          {reason !== undefined && (
            <>
              : <Foreign text={reason} />
            </>
          )}
        </span>
      ))}
    </>
  );
}
