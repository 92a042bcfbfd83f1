import type { ComponentChildren } from 'preact';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { type PendingRequest, type PendingSummary, riskTier } from '../../../contracts/review.js';
import { oneLine } from '../../../domain/printable.js';
import { REHEARSAL } from '../../../domain/review/rehearsal.js';
import { capitalized } from '../../../domain/text.js';
import { isUuid } from '../../../domain/uuid.js';
import type { QueuePage, QueueQuery, Settled } from '../../services.js';
import { Rehearsal } from '../../ui/rehearsal.js';
import { callAddress, reviewAddress } from '../../ui/addresses.js';
import { Csrf, Empty, Foreign, OrAway, SaidShort, Time } from '../../ui/parts.js';
import type { Visit } from '../../visit.js';
import { ListFields } from './decision-fields.js';
import { listAddress, ROWS, STATUSES } from './list-address.js';
import { Severity } from './review.js';

/** The whole id that is looked for; `null` for anything else. */
export function soughtId({ q = '' }: QueueQuery): string | null {
  const id = q.trim().toLowerCase();
  return isUuid(id) ? id : null;
}

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
        <button type="submit" name="decision" value="approve" aria-describedby="none-ticked">
          Approve ticked
        </button>{' '}
        <button type="submit" name="decision" value="deny" aria-describedby="none-ticked">
          Deny ticked
        </button>{' '}
        <span id="none-ticked" class="dim">
          Tick several calls to decide them together.
        </span>
      </p>
    </form>
  );
}

/** How many wait; of a part of them, how many of all those stand here. */
function Count({
  of: { items, next_cursor, pending_count },
  query,
}: {
  readonly of: QueuePage;
  readonly query: QueueQuery;
}) {
  if (query.status !== 'pending') return null;
  const isPart = (query.q !== undefined || query.riskTier !== undefined) && soughtId(query) === null;
  const isWhole = next_cursor === null && query.cursor === undefined;
  return (
    <span class="count">
      {isPart && (isWhole ? `${items.length} of ` : 'some of ')}
      {pending_count}
    </span>
  );
}

/** Of an opened call that the list has no row of, because it was decided: where those like it are. */
function WaitsNoMore({ selected, query }: { readonly selected: PendingRequest | null; readonly query: QueueQuery }) {
  if (selected === null || selected.status === 'pending') return null;
  const status = STATUSES.find((one) => one === selected.status);
  return (
    <p class="dim" data-waits-no-more>
      The opened call waits no more.{' '}
      {status && <a href={listAddress('/hil', { ...query, status, cursor: undefined })}>Those that are {status}</a>}
    </p>
  );
}

/** Of a whole id that no call under review has: what the ledger has of it. */
function NotReviewed({ id, of }: { readonly id: string; readonly of: Settled<readonly LedgerEntry[]> }) {
  if (!of.ok)
    return (
      <Empty>
        No call that waits or waited has this id. {capitalized(of.service)}, which has the others, is away:{' '}
        <Foreign text={of.why} />.
      </Empty>
    );
  if (of.value.length === 0) return <Empty>No call has this id, or it is past its retention.</Empty>;
  return (
    <Empty>
      This call never waited for a person, or its review is past its retention.{' '}
      <a href={callAddress(id)}>Its story in the ledger</a>
    </Empty>
  );
}

export function List({
  visit,
  listed,
  inLedger,
  query,
  selected,
  ticked,
}: {
  readonly visit: Visit;
  readonly listed: Settled<QueuePage>;
  /** Rows of the call whose whole id is looked for, where it has no review; `null`: nobody asked for any. */
  readonly inLedger: Settled<readonly LedgerEntry[]> | null;
  readonly query: QueueQuery;
  readonly selected: PendingRequest | null;
  readonly ticked: readonly string[];
}) {
  const picks = query.status === 'pending' && visit.mayPost('/hil/bulk');
  const sought = soughtId(query);
  return (
    <section class="list" aria-label="Calls">
      <button type="button" class="by-keys" data-keys-help>
        <kbd>?</kbd> keys
      </button>
      <h1>
        {query.status === 'pending' ? 'Waiting' : capitalized(query.status)}{' '}
        {listed.ok && <Count of={listed.value} query={query} />}
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
        {query.status === 'pending' && soughtId(query) === null && <WaitsNoMore selected={selected} query={query} />}
        <OrAway of={listed}>
          {({ items, next_cursor, searched_to }) => {
            // Before the end of the list. How far, is not told where the last row has no time: then it has fewer than a page has.
            const stopped = next_cursor !== null && (searched_to !== null || items.length < ROWS);
            if (sought !== null && inLedger !== null) return <NotReviewed id={sought} of={inLedger} />;
            return items.length === 0 && next_cursor === null && !query.cursor ? (
              <Empty>
                {query.status === 'pending' && !query.q && !query.riskTier ? (
                  <span data-by-itself>Nothing waits. A call that policy parks appears here by itself.</span>
                ) : (
                  'None. Show another status, or take the filter away. A whole id is found in any status.'
                )}
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
  `Choose ${item.rehearsal ? `${REHEARSAL} ` : ''}${oneLine(item.tool)} for ${oneLine(item.agent_id)}, ${item.id.slice(0, 8)}: ${oneLine(asksFor(item))}`;

/** What the call would do, as predicted, before why it waits: rows of one rule differ in that alone. */
const asksFor = ({ predicted, risk_summary }: PendingSummary): string =>
  predicted === null ? risk_summary : `${predicted}: ${risk_summary}`;

/** How many rows stand before a call's place in the list, where the keys go on from when it was decided and is not in the list any more. */
export function placeIn(
  items: readonly PendingSummary[],
  { created_at, id }: PendingRequest,
  { sort }: QueueQuery,
): number {
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
    <a href={listAddress(reviewAddress(item.id), query)} aria-current={selected ? 'true' : undefined}>
      <span class="what">
        {item.rehearsal && (
          <>
            <Rehearsal />{' '}
          </>
        )}
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
        <SaidShort text={asksFor(item)} />
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
