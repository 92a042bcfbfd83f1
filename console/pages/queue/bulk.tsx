import { randomUUID } from 'node:crypto';
import { setImmediate as others } from 'node:timers/promises';
import { toolOf } from '../../../contracts/call-methods.js';
import { type LinkedAction, linkedAction } from '../../../contracts/decision-link.js';
import { LONGEST_DECISION_REASON, type PendingRequest } from '../../../contracts/review.js';
import { GateError, isInDoubt } from '../../../domain/errors.js';
import { isRehearsal } from '../../../domain/review/rehearsal.js';
import { argumentsOf } from '../../../domain/review/since-last.js';
import { whyItWaits } from '../../../domain/review/why-it-waits.js';
import { predictedOf } from '../../../domain/sandbox/told.js';
import { printable } from '../../../domain/printable.js';
import { shownJson } from '../../../domain/shown-json.js';
import { isUuid } from '../../../domain/uuid.js';
import { SERVICE_WORDS } from '../../services.js';
import { reviewAddress } from '../../ui/addresses.js';
import { Csrf, Empty, Foreign, Said, ShownBlock, Table, Time } from '../../ui/parts.js';
import { Rehearsal, RehearsalTold } from '../../ui/rehearsal.js';
import { type Action, type Form, REASON, type Shown, type Visit } from '../../visit.js';
import { MOST_CHARACTERS, readable } from './arguments.js';
import { saidOf } from './came-of-it.js';
import { approve, reasonGiven } from './decide.js';
import { ListFields } from './decision-fields.js';
import { NotByEnter, NotByEnterTold } from './forms.js';
import { backAddress, inList, listAddress, type TickedOn, tickedOn } from './list-address.js';
import { queueShown } from './queue.js';
import { Severity, Why } from './review.js';
import { standingOf } from '../../../domain/decision/quorum.js';

/** Calls that are decided on one page: as many as somebody reads. */
const MOST = 50;
/** So few that what else is asked here is answered in between: each may be of a megabyte. */
const READ_AT_ONCE = 4;
/** How many characters of the arguments of each a denial shows: it needs no whole call, and all of them would be megabytes. */
const BEGINNING = 2_000;
const TOGETHER = `${MOST_CHARACTERS.toLocaleString('en')} characters`;
type Decision = LinkedAction;

/** What the list was asked to do with the calls that are ticked: nothing yet. It shows them with their arguments, to be decided at once. */
export const BULK: Action = {
  path: '/hil/bulk',
  role: 'approver',
  does: 'look at several calls at once before they are decided',
  written: {},
  several: ['id'],
  async act(visit, form) {
    const { data: decision } = linkedAction.safeParse(form.get('decision'));
    if (decision === undefined) throw new GateError('invalid_request', 'decision: is approve or deny');
    const ids = [...new Set(form.all('id'))].filter(isUuid);
    if (ids.length === 0) throw new GateError('invalid_request', 'no call is ticked');
    if (ids.length > MOST)
      throw new GateError('invalid_request', `${ids.length} calls are ticked: ${MOST} at most are decided at once`);
    const waiting: PendingRequest[] = [];
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      const rows = await Promise.all(ids.slice(at, at + READ_AT_ONCE).map((id) => visit.services.hil.row(id)));
      for (const row of rows) if (row?.status === 'pending') waiting.push(row);
    }
    if (waiting.length === 0) throw new GateError('invalid_request', 'none of them waits any more');
    const decided = decision === 'deny' ? waiting : await forMany(waiting, visit);
    if (decision === 'approve' && new Set(decided.map(toolOf)).size > 1)
      throw new GateError(
        'invalid_request',
        'they are calls of several tools, and calls of one tool are approved at once: untick the others. They can be denied at once',
      );
    const read = decision === 'deny' ? await readBeginnings(decided) : await readTogether(decided, visit);
    return confirmShown(visit, decision, read, ids.length - decided.length, tickedOn(visit, form));
  },
  refused: (visit, form) => queueShown(inList(visit, form), null, null, form),
};

/** What is approved among others: without a signature of its own, and not yet by this person. */
async function forMany(
  rows: readonly PendingRequest[],
  { person, signing }: Visit,
): Promise<readonly PendingRequest[]> {
  const passkeyFor = await signing();
  return rows.filter(
    (row) => !passkeyFor(row.approval_tier) && !row.approvals?.some(({ by }) => by === person.subject),
  );
}

/** A call as the page shows it. */
interface Read {
  readonly row: PendingRequest;
  /** As it is put on a page. */
  readonly shown: string;
  readonly isWhole: boolean;
  /** What its approval does, in words, where that is known; nothing for a denial. */
  readonly effect: string | null;
}

interface ReadTogether {
  readonly calls: readonly Read[];
  readonly apart: readonly PendingRequest[];
}

async function readBeginnings(rows: readonly PendingRequest[]): Promise<ReadTogether> {
  const calls: Read[] = [];
  for (const row of rows) {
    const { text, isWhole } = shownJson(argumentsOf(row.request_payload), BEGINNING);
    calls.push({ row, shown: printable(text), isWhole, effect: null });
    await others();
  }
  return { calls, apart: [] };
}

/**
 * What is approved together is shown as a whole, and together it is as much as of one call: a page of more is read by nobody, and makes whoever
 * else asks wait. The calls that do not fit are `apart`. The smallest are read first, and what was read counts even where it is not shown, as
 * reading is what costs: no call takes the place of those that could be read.
 */
export async function readTogether(rows: readonly PendingRequest[], visit: Visit): Promise<ReadTogether> {
  const long: { readonly row: PendingRequest; readonly length: number }[] = [];
  for (const row of rows) {
    const { text, isWhole } = shownJson(argumentsOf(row.request_payload), MOST_CHARACTERS);
    if (isWhole) long.push({ row, length: text.length });
    await others();
  }
  const fit = new Map<PendingRequest, string>();
  let room = MOST_CHARACTERS;
  for (const { row, length } of long.sort((one, other) => one.length - other.length)) {
    if (length > room) break;
    const { shown, isWhole } = readable(row, room);
    if (isWhole) fit.set(row, shown);
    room -= length;
    await others();
  }
  const calls: Promise<Read>[] = [];
  for (const row of rows) {
    const shown = fit.get(row);
    if (shown !== undefined)
      calls.push(saidOf(visit, row).then(({ effect }) => ({ row, shown, isWhole: true, effect })));
  }
  return { calls: await Promise.all(calls), apart: rows.filter((row) => !fit.has(row)) };
}

const deciding = (decision: Decision): Action => ({
  path: `/hil/bulk/${decision}`,
  role: 'approver',
  does: decision === 'approve' ? 'approve several calls at once' : 'deny several calls at once',
  written: REASON,
  several: ['row'],
  async act(visit, form) {
    const rows = rowsOf(form);
    const reason = reasonGiven(form);
    const came: Promise<Came>[] = [];
    let away: GateError | null = null;
    // One after the other: when the review service goes away, nothing more is sent to it.
    for (const { id, ...shown } of rows) {
      if (away === null && came.length > 0) away = await leftBy(visit);
      if (away !== null) {
        came.push(Promise.resolve({ id, row: null, refused: { error: away, isSent: false } }));
        continue;
      }
      try {
        const row =
          decision === 'approve'
            ? await approve(visit, id, { reason, ...shown, via: 'bulk' })
            : await visit.services.hil.decide(id, { decision, reason, ...shown, via: 'bulk' });
        came.push(Promise.resolve({ id, row, refused: null }));
      } catch (error) {
        if (!(error instanceof GateError)) throw error;
        if (error.status >= 500) away = error;
        const refused = { error, isSent: true };
        // Beside the decisions that are sent meanwhile: none of them waits for what is only told.
        const standing = away === null ? asItStands(visit, id) : Promise.resolve(null);
        came.push(standing.then((row) => ({ id, row, refused })));
      }
    }
    return cameShown(visit, decision, await Promise.all(came), rows, reason, tickedOn(visit, form));
  },
  refused: (visit, form) => queueShown(inList(visit, form), null, null, form),
});

export const BULK_APPROVE = deciding('approve');
export const BULK_DENY = deciding('deny');

interface Refusal {
  readonly error: GateError;
  readonly isSent: boolean;
}

/** What became of one of them: its row as it stands, where that is known. */
interface Came {
  readonly id: string;
  readonly row: PendingRequest | null;
  readonly refused: Refusal | null;
}

/** Why nothing more is sent for a person: who is signed out, or where nobody can say that he is not. What was decided is told all the same. */
async function leftBy({ stands }: Visit): Promise<GateError | null> {
  const isIn = await stands().catch(() => null);
  if (isIn === true) return null;
  const words = isIn === null ? 'it cannot be said whether you are signed in' : 'you are not signed in any more';
  return new GateError('unauthenticated', words);
}

/** The row of a refused decision, which says who was faster; without it the refusal is told alone, whatever the reason. */
const asItStands = ({ services: { hil } }: Visit, id: string): Promise<PendingRequest | null> =>
  hil.row(id).catch(() => null);

/** The calls of the form: each with the digest that was shown, and an id that makes a second click the same decision. */
function rowsOf(form: Form) {
  const rows = form.all('row').map((text) => {
    const [id = '', actionDigest = '', requestId = ''] = text.split(' ');
    return { id, actionDigest, requestId };
  });
  if (
    rows.length === 0 ||
    rows.length > MOST ||
    rows.some(({ id, actionDigest, requestId }) => !isUuid(id) || !isUuid(requestId) || actionDigest === '')
  )
    throw new GateError('invalid_request', 'the form is not whole: load the page again. Nothing was decided');
  return rows;
}

function confirmShown(
  visit: Visit,
  decision: Decision,
  { calls: read, apart }: ReadTogether,
  left: number,
  ticked: TickedOn,
): Shown {
  const [verb, past] = decision === 'approve' ? ['Approve', 'approved'] : ['Deny', 'denied'];
  const title =
    read.length > 0
      ? `${verb} ${read.length === 1 ? '1 call' : `${read.length} calls`}?`
      : apart.length > 0
        ? `None of them can be ${past} here`
        : `None is left to be ${past}`;
  return {
    title,
    body: (
      <section class="bulk">
        <h1>{title}</h1>
        {left > 0 && (
          <p class="notice bad" role="alert">
            {left} of those you ticked {left === 1 ? 'is' : 'are'} not among them: decided meanwhile, approved by you
            already, or approved only with a passkey: open those one by one.
          </p>
        )}
        {apart.length > 0 && (
          <p class="notice bad" role="alert">
            {read.length > 0
              ? `${apart.length} of those you ticked ${apart.length === 1 ? 'is' : 'are'} not among them, as ${TOGETHER} of arguments are read together: open ${apart.length === 1 ? 'it by itself, or tick it' : 'each by itself, or tick them'} again after these, to see whether ${apart.length === 1 ? 'it fits' : 'some fit'} then: `
              : `${apart.length === 1 ? 'Its arguments, as they are shown, are' : 'The arguments of each, as they are shown, are'} more than the ${TOGETHER} that are read together. Open ${apart.length === 1 ? 'it' : 'each'} by itself: `}
            <CallLinks to={apart} on={ticked} />.
          </p>
        )}
        {read.length === 0 ? (
          <Empty>
            <Back to={ticked} />
          </Empty>
        ) : (
          <form method="post" action={`/hil/bulk/${decision}`}>
            <Csrf token={visit.csrf} />
            <TickedFields on={ticked} />
            <ol>
              {read.map(({ row, shown, isWhole, effect }) => (
                <li key={row.id}>
                  <input type="hidden" name="row" value={`${row.id} ${row.original_payload_digest} ${randomUUID()}`} />
                  <h2>
                    {isRehearsal(row) && (
                      <>
                        <Rehearsal />{' '}
                      </>
                    )}
                    <Foreign text={row.agent_id} /> {isRehearsal(row) ? 'would ask' : 'asks'} for{' '}
                    <Foreign text={toolOf(row)} />
                  </h2>
                  {isRehearsal(row) && <RehearsalTold />}
                  <p>
                    Predicted: <Severity of={row.sandbox_report?.severity ?? null} />{' '}
                    <Said text={predictedOf(row) ?? ''} />
                  </p>
                  <ul class="dim">
                    {whyItWaits(row).map((line) => (
                      <li key={line}>
                        <Why line={line} />
                      </li>
                    ))}
                  </ul>
                  <ShownBlock shown={shown} label={`Arguments of ${row.id.slice(0, 8)}`} />
                  {!isWhole && (
                    <p class="dim">
                      Their beginning: <CallLinks to={[row]} on={ticked} /> shows more.
                    </p>
                  )}
                  {effect && <p class="dim">{effect}</p>}
                </li>
              ))}
            </ol>
            <p>Each is decided by itself. One that somebody else decides first keeps that decision.</p>
            <p class="acts">
              <Reason typed="" of={decision} />
              <button class={decision === 'approve' ? 'act' : 'destroy'} type="submit">
                {verb} {read.length === 1 ? 'it' : `all ${read.length}`}
              </button>{' '}
              <a href={backAddress(ticked)}>Back: nothing is {past}</a>
            </p>
          </form>
        )}
      </section>
    ),
  };
}

const CallLinks = ({ to, on }: { readonly to: readonly PendingRequest[]; readonly on: TickedOn }) => (
  <>
    {to.map(({ id }, at) => (
      <span key={id}>
        {at > 0 && ', '}
        <a href={listAddress(reviewAddress(id), on.query)}>
          <code>{id.slice(0, 8)}</code>
        </a>
      </span>
    ))}
  </>
);

/** Where the calls were ticked, so that the pages after this one lead back there. */
const TickedFields = ({ on: { caseId, query } }: { readonly on: TickedOn }) => (
  <>
    <ListFields query={query} />
    {caseId !== null && <input type="hidden" name="case" value={caseId} />}
  </>
);

const Back = ({ to }: { readonly to: TickedOn }) => (
  <a href={backAddress(to)}>{to.caseId === null ? 'Back to the list' : 'Back to the case'}</a>
);

const Reason = ({ typed, of }: { readonly typed: string; readonly of: Decision }) => (
  <>
    {of === 'approve' && <NotByEnter />}
    <label for="reason" class="vh">
      Reason, which their agents are told
    </label>
    <input
      id="reason"
      name="reason"
      maxLength={LONGEST_DECISION_REASON}
      placeholder="Reason, which their agents are told"
      value={typed}
      aria-describedby={of === 'approve' ? 'not-by-enter' : undefined}
    />
    {of === 'approve' && <NotByEnterTold />}
  </>
);

/** Of those that the review service did not answer for, a form sends the same decisions again: what it has taken stays as it is. */
function cameShown(
  visit: Visit,
  decision: Decision,
  came: readonly Came[],
  rows: ReturnType<typeof rowsOf>,
  reason: string | null,
  ticked: TickedOn,
): Shown {
  const left = came.filter(({ refused }) => refused !== null && refused.error.status >= 500).map(({ id }) => id);
  const done = came.filter(({ refused }) => refused === null).length;
  return {
    title: `${done} of ${came.length} decided`,
    notice: { kind: done === came.length ? 'good' : 'bad', text: countOf(came) },
    body: (
      <section class="bulk">
        <h1>What became of them</h1>
        <Table label="What became of each" heads={['Call', 'Tool', 'Agent', 'Now']}>
          {came.map(({ id, row, refused }) => (
            <tr key={id}>
              <td>
                <a href={listAddress(reviewAddress(id), ticked.query)}>
                  <code>{id.slice(0, 8)}</code>
                </a>
              </td>
              <Whose row={row} />
              <td>
                {refused !== null && <Refused row={row} by={refused} nowMs={visit.nowMs} />}
                {refused === null && row !== null && <Standing row={row} />}
              </td>
            </tr>
          ))}
        </Table>
        {left.length > 0 && (
          <form method="post" action={`/hil/bulk/${decision}`}>
            <Csrf token={visit.csrf} />
            <TickedFields on={ticked} />
            {rows
              .filter(({ id }) => left.includes(id))
              .map(({ id, actionDigest, requestId }) => (
                <input key={id} type="hidden" name="row" value={`${id} ${actionDigest} ${requestId}`} />
              ))}
            <p class="acts">
              <Reason typed={reason ?? ''} of={decision} />
              <button class={decision === 'approve' ? 'act' : 'destroy'} type="submit">
                {decision === 'approve' ? 'Approve' : 'Deny'} the {left.length} without an answer
              </button>
            </p>
          </form>
        )}
        <p>
          <Back to={ticked} />
        </p>
      </section>
    ),
  };
}

/** How many took the decision, as far as that is known: one whose answer was lost may have taken it. */
function countOf(came: readonly Came[]): string {
  const done = came.filter(({ refused }) => refused === null).length;
  const notKnown = came.filter(({ refused }) => refused?.isSent && isInDoubt(refused.error)).length;
  const notSent = came.filter(({ refused }) => refused !== null && !refused.isSent).length;
  if (notKnown === 0) return `${done} of ${came.length} took your decision.`;
  const rest = notSent > 0 ? `, and ${notSent} ${notSent === 1 ? 'was' : 'were'} not sent` : '';
  return `${done} of ${came.length} are known to have taken your decision; of ${notKnown} it is not known${rest}.`;
}

const Standing = ({ row }: { readonly row: PendingRequest }) =>
  row.status === 'pending' ? (
    <>
      your approval counts: {standingOf(row.approvals).length} of {row.required_approvers ?? 1}
    </>
  ) : (
    <span class={`tag ${row.status}`}>{row.status}</span>
  );

const Whose = ({ row }: { readonly row: PendingRequest | null }) => (
  <>
    <td>{row && <Foreign text={toolOf(row)} />}</td>
    <td>{row && <Foreign text={row.agent_id} />}</td>
  </>
);

function Refused({
  row,
  by: { error, isSent },
  nowMs,
}: {
  readonly row: PendingRequest | null;
  readonly by: Refusal;
  readonly nowMs: number;
}) {
  return (
    <>
      {row && row.status !== 'pending' && (
        <>
          <span class={`tag ${row.status}`}>{row.status}</span>
          {row.decided_by && (
            <>
              {' '}
              by <Foreign text={row.decided_by} />
            </>
          )}
          {row.decided_at && (
            <>
              {' '}
              <Time iso={row.decided_at} nowMs={nowMs} />
            </>
          )}
          .{' '}
        </>
      )}
      {isSent ? (
        <Foreign text={error.message} />
      ) : (
        <>
          not sent:{' '}
          {error.status >= 500 ? `${SERVICE_WORDS.hil} went away before it` : <Foreign text={error.message} />}
        </>
      )}{' '}
      (<code>{error.code}</code>)
    </>
  );
}
