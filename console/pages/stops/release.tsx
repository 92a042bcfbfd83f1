import type { ComponentChildren } from 'preact';
import { type AgentRecord, LONGEST_STANDING_REASON } from '../../../contracts/identity.js';
import { GateError } from '../../../domain/errors.js';
import { Csrf, Foreign, Time } from '../../ui/parts.js';
import type { Form, Visit } from '../../visit.js';

/** What two people let go together: an agent, a tool, or a tenant. */
export interface Stopped {
  /** When it was stopped. */
  readonly since: string;
  readonly by: string;
  readonly reason: string | null;
  readonly release: AgentRecord['release'];
}

/** Why somebody stops something. Throws where it is not said. */
export function reasonIn(form: Form): string {
  const reason = form.get('reason').trim();
  if (reason === '') throw new GateError('invalid_request', 'say why: the reason is recorded in the ledger');
  return reason;
}
export const reasonOr = (form: Form): string | null => form.get('reason').trim() || null;

/** Why, to be typed: `reasonIn` and `reasonOr` read it. */
export const Why = ({ typed, optional = false }: { readonly typed: string; readonly optional?: boolean }) => (
  <label>
    Reason, which is recorded{optional && ' (may be left out)'}
    <input name="reason" required={!optional} maxLength={LONGEST_STANDING_REASON} value={typed} />
  </label>
);

/** The form with which somebody stops something, and says why; `children` is what it says of that, and asks besides. */
export const Stop = ({
  at,
  csrf,
  typed,
  button,
  children,
}: {
  /** Where the form leads. */
  readonly at: string;
  readonly csrf: string;
  readonly typed: Form | undefined;
  readonly button: string;
  readonly children: ComponentChildren;
}) => (
  <form method="post" action={at} class="sheet">
    <Csrf token={csrf} />
    {children}
    <Why typed={typed?.get('reason') ?? ''} />
    <p>
      <button class="destroy" type="submit">
        {button}
      </button>
    </p>
  </form>
);

/** What happens where something that is stopped already is stopped again. */
export const KEPT_STOPPED = 'What was asked for, its release, counts no more then.';

/** Names what somebody looked at: a stop, and whether its end was asked for. */
const seenOf = ({ since, release }: Pick<Stopped, 'since' | 'release'>): string =>
  [since, release?.requested_at ?? 'nobody'].join(' ');

/** Throws where it is another one by now: nobody lets go what he did not see. */
export function assertSeen(form: Form, stopped: Pick<Stopped, 'since' | 'release'> | null): void {
  if (stopped === null || form.get('seen') !== seenOf(stopped)) throw new GateError('stop_changed');
}

/** Since when it is stopped, by whom, and why. */
export const StoppedTold = ({ of: { since, by, reason }, nowMs }: { readonly of: Stopped; readonly nowMs: number }) => (
  <>
    <span class="tag deny">stopped</span> since <Time iso={since} nowMs={nowMs} /> by <Foreign text={by} />
    {reason !== null && (
      <>
        : <Foreign text={reason} />
      </>
    )}
  </>
);

/** Who asked for its end, and until when that counts. */
export const Asked = ({ of, nowMs }: { readonly of: NonNullable<Stopped['release']>; readonly nowMs: number }) => (
  <>
    <Foreign text={of.requested_by} /> asked for its release <Time iso={of.requested_at} nowMs={nowMs} />
    {of.reason !== null && (
      <>
        {' '}
        (<Foreign text={of.reason} />)
      </>
    )}
    ; that ends <Time iso={of.until} nowMs={nowMs} />
  </>
);

/** The form with which two people let something go, one after the other. */
export function Release({
  of,
  at,
  visit: { csrf, person, nowMs, query },
  typed,
}: {
  readonly of: Stopped;
  /** Where the form leads. */
  readonly at: string;
  readonly visit: Visit;
  readonly typed?: Form | undefined;
}) {
  const { release } = of;
  if (release?.requested_by === person.subject)
    return (
      <p>
        <Asked of={release} nowMs={nowMs} />, unless somebody else confirms it.{' '}
        {query['asked'] === 'alone' && (
          <strong>
            Nobody else is known who could: whoever runs Gate names another operator in <code>GATE_HIL_OPERATORS</code>{' '}
            and starts identity anew.
          </strong>
        )}
      </p>
    );
  return (
    <form method="post" action={at} class="sheet">
      <Csrf token={csrf} />
      <input type="hidden" name="seen" value={seenOf(of)} />
      <p>
        {release ? (
          <>
            <Asked of={release} nowMs={nowMs} />, unless somebody else confirms it, as you can.
          </>
        ) : (
          'Two people let it go: you ask for it, and somebody else confirms it within a day.'
        )}
      </p>
      <Why typed={typed?.get('reason') ?? ''} optional />
      <p>
        <button class="act" type="submit">
          {release ? 'Let it go' : 'Ask for its release'}
        </button>
      </p>
    </form>
  );
}

/** What is said of who asked for a release, in the address of the page that shows it. */
export const askedOf = ({ somebody_else: other }: { readonly somebody_else?: boolean | undefined }) =>
  other === false ? { asked: 'alone' } : {};
