import { randomUUID } from 'node:crypto';
import { toolOf } from '../../../contracts/call-methods.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import { whyItWaits } from '../../../domain/review/why-it-waits.js';
import { isUuid } from '../../../domain/uuid.js';
import { settled } from '../../services.js';
import { Csrf, Empty, Foreign, ForeignBlock, Table, Time } from '../../ui/parts.js';
import type { Action, Form, Shown, Visit } from '../../visit.js';
import { readable } from './arguments.js';
import { approve } from './decide.js';
import { inList } from './list-address.js';
import { queueShown, Severity } from './queue.js';

/** Calls that are decided on one page: as many as somebody reads. */
const MOST = 50;
type Decision = 'approve' | 'deny';

/** What the list was asked to do with the calls that are ticked: nothing yet. It shows them with their arguments, to be decided at once. */
export const BULK: Action = {
  path: '/hil/bulk',
  role: 'approver',
  does: 'look at several calls at once before they are decided',
  async act(visit, form) {
    const decision = form.get('decision') === 'deny' ? 'deny' : 'approve';
    const ids = [...new Set(form.all('id'))].filter(isUuid);
    if (ids.length === 0) throw new GateError('invalid_request', 'no call is ticked');
    if (ids.length > MOST)
      throw new GateError('invalid_request', `${ids.length} calls are ticked: ${MOST} at most are decided at once`);
    const rows = await Promise.all(ids.map((id) => visit.services.hil.row(id)));
    const waiting = rows.filter((row) => row !== null && row.status === 'pending') as PendingRequest[];
    if (waiting.length === 0) throw new GateError('invalid_request', 'none of them waits any more');
    const readableHere = decision === 'deny' ? waiting : waiting.filter((row) => isForMany(row, visit));
    if (decision === 'approve' && new Set(readableHere.map(toolOf)).size > 1)
      throw new GateError('invalid_request', 'they are calls of several tools: calls of one tool are approved at once');
    return confirmShown(visit, decision, readableHere, ids.length - readableHere.length);
  },
  refused: (visit, form) => queueShown(inList(visit, form), null, null, form),
};

/** What is approved among others: read as a whole, without a signature of its own, and not yet by this person. */
const isForMany = (row: PendingRequest, { person, passkeyFor }: Visit): boolean =>
  readable(row).isWhole && !passkeyFor(row.approval_tier) && !row.approvals?.some(({ by }) => by === person.subject);

const deciding = (decision: Decision): Action => ({
  path: `/hil/bulk/${decision}`,
  role: 'approver',
  does: decision === 'approve' ? 'approve several calls at once' : 'deny several calls at once',
  async act(visit, form) {
    const rows = rowsOf(form);
    const reason = form.get('reason').trim();
    const came: Came[] = [];
    let away: GateError | null = null;
    // One after the other: when the review service goes away, nothing more is sent to it.
    for (const { id, ...shown } of rows) {
      if (away === null && came.length > 0 && !(await visit.stands()))
        away = new GateError('unauthenticated', 'you are not signed in any more');
      if (away !== null) {
        came.push({ id, error: away, isSent: false });
        continue;
      }
      try {
        const row =
          decision === 'approve'
            ? await approve(visit, id, shown)
            : await visit.services.hil.decide(id, { decision, reason: reason === '' ? null : reason, ...shown });
        came.push({ id, row });
      } catch (error) {
        if (!(error instanceof GateError)) throw error;
        if (error.status >= 500) away = error;
        came.push({ id, error, isSent: true, stands: away === null ? await asItStands(visit, id) : null });
      }
    }
    return cameShown(visit, decision, came, rows, reason);
  },
  refused: (visit, form) => queueShown(visit, null, null, form),
});

export const BULK_APPROVE = deciding('approve');
export const BULK_DENY = deciding('deny');

/** What became of one of them. `stands`: the row of a refused one, where it could be read again. */
type Came =
  | { readonly id: string; readonly row: PendingRequest }
  | { readonly id: string; readonly error: GateError; readonly isSent: true; readonly stands: PendingRequest | null }
  | { readonly id: string; readonly error: GateError; readonly isSent: false };

/** The row of a refused decision, which says who was faster; without it the refusal is told alone. */
async function asItStands({ services: { hil } }: Visit, id: string): Promise<PendingRequest | null> {
  const row = await settled('The review service', hil.row(id));
  return row.ok ? row.value : null;
}

/** The row that is known of it. */
const knownOf = (one: Came): PendingRequest | null => ('row' in one ? one.row : one.isSent ? one.stands : null);

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

function confirmShown(visit: Visit, decision: Decision, rows: readonly PendingRequest[], left: number): Shown {
  const [verb, past] = decision === 'approve' ? ['Approve', 'approved'] : ['Deny', 'denied'];
  const calls = rows.length === 1 ? '1 call' : `${rows.length} calls`;
  return {
    title: `${verb} ${calls}?`,
    body: (
      <section class="bulk">
        <h1>
          {verb} {calls}?
        </h1>
        {left > 0 && (
          <p class="notice bad" role="alert">
            {left} of those you ticked {left === 1 ? 'is' : 'are'} not among them: decided meanwhile, approved by you
            already, too large to be read here, or approved only with a passkey: open those one by one.
          </p>
        )}
        {rows.length === 0 ? (
          <Empty>
            None is left. <a href="/hil">Back to the queue</a>
          </Empty>
        ) : (
          <form method="post" action={`/hil/bulk/${decision}`}>
            <Csrf token={visit.csrf} />
            <ol>
              {rows.map((row) => (
                <li key={row.id}>
                  <input type="hidden" name="row" value={`${row.id} ${row.original_payload_digest} ${randomUUID()}`} />
                  <h2>
                    <Foreign text={row.agent_id} /> asks for <Foreign text={toolOf(row)} />{' '}
                    <Severity of={row.sandbox_report?.severity ?? null} />
                  </h2>
                  <p class="dim">
                    <Foreign text={whyItWaits(row).join(' ')} />
                  </p>
                  <ForeignBlock text={readable(row).text} label={`Arguments of ${row.id.slice(0, 8)}`} />
                </li>
              ))}
            </ol>
            <p>Each is decided by itself. One that somebody else decides first keeps that decision.</p>
            <p class="acts">
              {decision === 'deny' && <Reason typed="" />}
              <button class={decision === 'approve' ? 'act' : 'destroy'} type="submit">
                {verb} {rows.length === 1 ? 'it' : `all ${rows.length}`}
              </button>{' '}
              <a href="/hil">Back: nothing is {past}</a>
            </p>
          </form>
        )}
      </section>
    ),
  };
}

const Reason = ({ typed }: { readonly typed: string }) => (
  <>
    <label for="reason" class="vh">
      Reason, which their agents are told
    </label>
    <input id="reason" name="reason" maxLength={1000} placeholder="Reason, which their agents are told" value={typed} />
  </>
);

/** Of those that the review service did not answer for, a form sends the same decisions again: what it has taken stays as it is. */
function cameShown(
  visit: Visit,
  decision: Decision,
  came: readonly Came[],
  rows: ReturnType<typeof rowsOf>,
  reason: string,
): Shown {
  const left = came.filter((one) => 'error' in one && one.error.status >= 500).map(({ id }) => id);
  const done = came.filter((one) => 'row' in one).length;
  return {
    title: `${done} of ${came.length} decided`,
    notice: { kind: done === came.length ? 'good' : 'bad', text: `${done} of ${came.length} took your decision.` },
    body: (
      <section class="bulk">
        <h1>What became of them</h1>
        <Table label="What became of each" heads={['Call', 'Tool', 'Agent', 'Now']}>
          {came.map((one) => (
            <tr key={one.id} data-came={one.id}>
              <td>
                <a href={`/hil/${one.id}`}>
                  <code>{one.id.slice(0, 8)}</code>
                </a>
              </td>
              <Whose row={knownOf(one)} />
              <td>{'row' in one ? <Standing row={one.row} /> : <Refused of={one} nowMs={visit.nowMs} />}</td>
            </tr>
          ))}
        </Table>
        {left.length > 0 && (
          <form method="post" action={`/hil/bulk/${decision}`}>
            <Csrf token={visit.csrf} />
            {rows
              .filter(({ id }) => left.includes(id))
              .map(({ id, actionDigest, requestId }) => (
                <input key={id} type="hidden" name="row" value={`${id} ${actionDigest} ${requestId}`} />
              ))}
            <p class="acts">
              {decision === 'deny' && <Reason typed={reason} />}
              <button class={decision === 'approve' ? 'act' : 'destroy'} type="submit">
                {decision === 'approve' ? 'Approve' : 'Deny'} the {left.length} without an answer
              </button>
            </p>
          </form>
        )}
        <p>
          <a href="/hil">To the queue</a>
        </p>
      </section>
    ),
  };
}

const Standing = ({ row }: { readonly row: PendingRequest }) =>
  row.status === 'pending' ? (
    <>
      your approval counts: {row.approvals?.length ?? 0} of {row.required_approvers ?? 1}
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

function Refused({ of, nowMs }: { readonly of: Exclude<Came, { row: PendingRequest }>; readonly nowMs: number }) {
  const row = knownOf(of);
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
      {of.isSent ? (
        <Foreign text={of.error.message} />
      ) : (
        <>
          not sent:{' '}
          {of.error.status >= 500 ? 'the review service went away before it' : <Foreign text={of.error.message} />}
        </>
      )}{' '}
      (<code>{of.error.code}</code>)
    </>
  );
}
