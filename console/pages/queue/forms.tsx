import { LONGEST_ASSIGNEE, LONGEST_DECISION_REASON, type PendingRequest } from '../../../contracts/review.js';
import { isRehearsal, REHEARSAL } from '../../../domain/review/rehearsal.js';
import { whyRowNotChangeable } from '../../../domain/review/changeable.js';
import type { QueueQuery } from '../../services.js';
import { reviewAddress } from '../../ui/addresses.js';
import type { SigningVisit, Visit } from '../../visit.js';
import { foldedIn, readingOf } from './arguments.js';
import { DecisionFields, Signature } from './decision-fields.js';
import { linkIn, listAddress } from './list-address.js';
import { standingOf } from '../../../domain/decision/quorum.js';

/** What can be done with a row that waits; what cannot is shown with its reason. */
export function Forms({
  row,
  effect,
  keyless,
  visit,
  query,
  reason,
  assignee,
  deciders,
}: {
  readonly row: PendingRequest;
  /** What an approval does, in words. */
  readonly effect: string | null;
  /** An approval takes a passkey, and the person has none. */
  readonly keyless: boolean;
  readonly visit: SigningVisit;
  readonly query: QueueQuery;
  /** What was typed before, in a form that was refused. */
  readonly reason: string;
  readonly assignee: string;
  /** Who decided calls of the agent lately, to choose from. */
  readonly deciders: readonly string[];
}) {
  const { person } = visit;
  if (!visit.mayPost('/hil/:id/approve'))
    return <p class="dim">Your role, {person.role}, looks on: an approver decides.</p>;
  const mine = row.approvals?.some(({ by }) => by === person.subject) ?? false;
  const large = !readingOf(row).isWhole;
  const several = row.required_approvers ?? 1;
  const fixed = whyNotChanged(row);
  const reasonIs = isRehearsal(row) ? 'Reason, which is recorded' : 'Reason, which its agent is told';
  const folded = foldedIn(row);
  const lacksKey = keyless && !large && !mine;
  const whyNot = large
    ? 'The call is too large to be read here.'
    : mine
      ? `You have approved it; it waits for somebody else (${standingOf(row.approvals).length} of ${several}).`
      : lacksKey
        ? 'It is approved with a passkey, and you have registered none:'
        : null;
  const signs = visit.passkeyFor(row.approval_tier);
  const fields = <DecisionFields row={row} query={query} visit={visit} />;
  return (
    <section class="decide" aria-label="Decide">
      <form method="post" action={reviewAddress(row.id, 'deny')}>
        {fields}
        <Signature needed={signs} />
        <label for="reason" class="vh">
          {reasonIs}
        </label>
        <input id="reason" name="reason" maxLength={LONGEST_DECISION_REASON} placeholder={reasonIs} value={reason} />
        {/* The first button is the one that Enter in the field means. */}
        <button class="destroy" type="submit">
          Deny
        </button>
        <button
          class="act"
          type="submit"
          formaction={reviewAddress(row.id, 'approve')}
          data-decide="a"
          disabled={whyNot !== null}
          aria-describedby={whyNot ? 'why-not' : undefined}
          {...signed(visit, row, { decision: 'approve' })}
        >
          Approve{several > 1 ? ` (${several} people must)` : ''}
        </button>
      </form>
      {fixed !== null ? (
        <button type="button" disabled aria-describedby="not-changed">
          Change…
        </button>
      ) : (
        <a class="button" href={modifyAddress(visit, row.id, query)} data-decide="m">
          Change…
        </a>
      )}
      <div {...fresh('assign', row.assigned_to)}>
        <form method="post" action={reviewAddress(row.id, 'assign')}>
          {fields}
          {row.assigned_to === person.subject ? (
            <button type="submit" name="nobody" value="yes">
              Give it back
            </button>
          ) : (
            <button type="submit">Assign to me</button>
          )}
        </form>
        <details class="assign" open={assignee !== ''}>
          <summary>Assign to somebody else</summary>
          <form method="post" action={reviewAddress(row.id, 'assign')}>
            {fields}
            <label>
              Decides as{' '}
              <input
                name="assignee"
                value={assignee}
                required
                maxLength={LONGEST_ASSIGNEE}
                size={32}
                list="deciders"
                placeholder="operator:ada"
              />
            </label>
            <datalist id="deciders">
              {deciders
                .filter((name) => name !== person.subject)
                .map((name) => (
                  <option key={name} value={name} />
                ))}
            </datalist>
            <button type="submit">Assign</button>
          </form>
        </details>
      </div>
      {folded > 0 && whyNot === null && (
        <p class="standing" data-folded>
          {folded === 1 ? 'A long value above is folded' : `${folded} long values above are folded`}: read what you
          approve.
        </p>
      )}
      {effect && whyNot === null && <p class="dim">{effect}</p>}
      {signs && whyNot === null && <p class="dim">To approve it your passkey is asked for.</p>}
      {fixed !== null && (
        <p id="not-changed" class="dim">
          {fixed}
        </p>
      )}
      {whyNot && (
        <p id="why-not" class={lacksKey ? 'notice bad' : 'dim'}>
          {whyNot} {lacksKey && <a href="/me">register one</a>}
        </p>
      )}
    </section>
  );
}

/** Why nobody changes a call, in a sentence, where nobody may. */
export function whyNotChanged(row: PendingRequest): string | null {
  switch (whyRowNotChangeable(row)) {
    case null:
      return null;
    case 'modify_under_quorum':
      return `It needs ${row.required_approvers} people, so it is approved or denied as it is: one person alone would change what the others approved.`;
    case 'unsupported_decision':
      return isRehearsal(row)
        ? `A ${REHEARSAL} is approved or denied as it is: no changed call would run.`
        : 'Its agent runs it, not Gate, so it is approved or denied as it is: deny it, and say what should be asked instead.';
  }
}

/** Marks a part of an open call that the script replaces when what it depends on changed, beside fields that somebody types into. */
export const fresh = (part: string, on: unknown): Record<string, string> => ({
  'data-fresh': part,
  'data-on': JSON.stringify(on ?? null),
});

function modifyAddress(visit: Pick<Visit, 'query'>, id: string, query: QueueQuery): string {
  const link = linkIn(visit);
  return listAddress(reviewAddress(id, 'modify'), query, link === '' ? {} : { link });
}

/**
 * Stands before the fields of a form that approves: its first button is the one that Enter in a field means, and this one does nothing. So
 * nobody approves who only ends a line.
 */
export const NotByEnter = () => <button type="submit" disabled hidden />;
export const NotByEnterTold = () => (
  <span id="not-by-enter" class="dim">
    Enter sends nothing: press a button.
  </span>
);

/** What a button whose decision needs a passkey's signature tells the script: where the challenge is, and of which decision. */
export const signed = (visit: SigningVisit, row: PendingRequest, decision: object): Record<string, string> =>
  visit.passkeyFor(row.approval_tier)
    ? { 'data-challenge': reviewAddress(row.id, 'approval-challenge'), 'data-signs': JSON.stringify(decision) }
    : {};
