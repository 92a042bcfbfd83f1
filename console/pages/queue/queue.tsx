import { toolOf } from '../../../contracts/call-methods.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { isSettled } from '../../../domain/decision/transitions.js';
import { GateError } from '../../../domain/errors.js';
import { summaryOf } from '../../../domain/review/summary.js';
import { capitalized } from '../../../domain/text.js';
import { isUuid } from '../../../domain/uuid.js';
import { type QueuePage, type QueueQuery, type Settled, settled } from '../../services.js';
import { callAddress, reviewAddress } from '../../ui/addresses.js';
import { Chain } from '../../ui/chain.js';
import { Away, Empty, Foreign, Said, Time } from '../../ui/parts.js';
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
import { type CameOfIt, cameOfIt, saidOf } from './came-of-it.js';
import { List, placeIn, soughtId } from './list.js';
import { listAddress, queueQuery } from './list-address.js';
import { Review } from './review.js';
import { standingOf } from '../../../domain/decision/quorum.js';

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
  const sought = soughtId(query);
  // Not every call waited for a person.
  const inLedger =
    sought !== null && listed?.ok && listed.value.items.length === 0
      ? await settled('ledger', visit.services.ledger.call(sought))
      : null;
  const first = isListAlone ? null : (id ?? (listed?.ok ? (listed.value.items[0]?.id ?? null) : null));
  const row = first === null ? null : await settled('hil', rowOf(visit, first));
  const found = row?.ok ? row.value : null;
  const isDone = notice === null && found !== null && visit.query['done'] === found.id;
  const [lately, said, signed, came] = await Promise.all([
    found && settled('hil', visit.services.hil.lately(found.agent_id)),
    found?.status === 'pending' ? saidOf(visit, found) : null,
    found ? signingVisit(visit).then(async (signer) => [signer, await isKeyless(signer, found)] as const) : null,
    isDone && found.status === 'approved' ? cameOfIt(visit, found) : null,
  ]);
  const [signing, keyless] = signed ?? [null, false];
  const broken = visit.services.ledger.broken();
  // Where the call was chosen by nobody it stays, decided: another one in its place would be under the hand that was about to decide.
  const chosen = found?.id ?? id;
  // What a vote waits for changes with the call: the script asks for both.
  const voted = isDone && found.status === 'pending' ? { done: found.id } : {};
  const self = listAddress(chosen === null ? '/hil' : reviewAddress(chosen), query, voted);
  const missing = id !== null && row?.ok === true && found === null;
  return {
    title: found ? `${toolOf(found)}, ${found.status}` : listTitle(listed),
    notice:
      notice ??
      (isDone ? doneNotice(found, came, visit.person.subject, nextOf(listed, found, query)) : null) ??
      (misread === null ? null : { kind: 'bad', text: misread }),
    ...(refused && found && isSettled(found.status) && { behind: <Stands row={found} nowMs={visit.nowMs} /> }),
    ...(missing && { status: 404 }),
    ...(isDetailAlone &&
      found && { version: JSON.stringify([visit.about.startedAt, found, lately, said, broken, keyless]) }),
    body: (
      <div class={id === null ? 'queue' : 'queue one'} data-live="/stream/hil" data-self={self}>
        <p class="live" aria-live="polite" data-live-status />
        {broken && (
          <div class="broken">
            <Chain of={{ ok: true, value: broken }} nowMs={visit.nowMs} />
          </div>
        )}
        {id !== null && listed && (
          <p class="back">
            <a href={listAddress('/hil', query)}>
              <span aria-hidden="true">‹ </span>
              {listed.ok && query.status === 'pending' ? `${listed.value.pending_count} waiting` : 'The list'}
            </a>
          </p>
        )}
        {listed && (
          <List
            visit={visit}
            listed={listed}
            inLedger={inLedger}
            query={query}
            selected={found}
            ticked={refused?.all('id') ?? []}
          />
        )}
        <section class="detail" aria-label="The chosen call">
          {row && !row.ok && <Away service={row.service} why={row.why} />}
          {missing && (
            <Empty>
              No such call waits or waited here, or its row is past its retention. <a href="/hil">The queue</a>
            </Empty>
          )}
          {found && lately && signing && (
            <Review
              row={found}
              lately={lately}
              said={said}
              keyless={keyless}
              visit={signing}
              query={query}
              reason={refused?.get('reason') ?? ''}
              assignee={refused?.get('assignee') ?? ''}
            />
          )}
          {refused && found?.status !== 'pending' && <Typed form={refused} />}
          {row === null && <Empty>A call that is chosen in the list is shown here.</Empty>}
        </section>
      </div>
    ),
  };
}

/** Whether an approval takes a passkey, and the person has none. Where that is not known it is told after the press. */
async function isKeyless(visit: SigningVisit, row: PendingRequest): Promise<boolean> {
  if (row.status !== 'pending' || !visit.passkeyFor(row.approval_tier) || !visit.mayPost('/hil/:id/approve'))
    return false;
  const own = await visit.services.hil.passkeys().catch(() => null);
  return own?.length === 0;
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
    return { query, listed: await settled('hil', asked(visit, query)), misread: null };
  } catch (error) {
    if (!(error instanceof GateError && error.code === 'invalid_cursor') || isListAlone) throw error;
    const first = { ...query, cursor: undefined };
    const misread = `This list has no such place as this address names. It is shown from its beginning (${error.code}).`;
    return { query: first, listed: await settled('hil', asked(visit, first)), misread };
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
  return next ? listAddress(reviewAddress(next.id), query) : null;
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

/** How a call ended, for whoever pressed too late: who was faster, and with what. */
function Stands({ row, nowMs }: { readonly row: PendingRequest; readonly nowMs: number }) {
  const when = row.decided_at && <Time iso={row.decided_at} nowMs={nowMs} />;
  const changed = row.modification_diff ? ' with changed arguments' : '';
  return row.decided_by && (row.status === 'approved' || row.status === 'denied') ? (
    <>
      <Foreign text={row.decided_by} /> {row.status} it{changed} {when}.
    </>
  ) : (
    <>
      It is {row.status} {when}.
    </>
  );
}

/** What a decision came to, read from the row: an address can claim anything. */
function doneNotice(row: PendingRequest, came: CameOfIt | null, by: string, next: string | null): Notice | null {
  const call = (
    <>
      <Foreign text={toolOf(row)} /> for <Foreign text={row.agent_id} />
    </>
  );
  if (row.status === 'pending') {
    const given = standingOf(row.approvals).length;
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
        . {came && came.words !== '' && <Said text={came.words} />}{' '}
        <a href={callAddress(row.correlation_id)}>What came of it</a>
        <Next href={next} />
      </>
    ),
  };
}
