import { agentRegistration, type AgentRecord } from '../../../contracts/identity.js';
import { isReservedPrincipal } from '../../../domain/evidence/own-principals.js';
import { GateError } from '../../../domain/errors.js';
import { type Settled, settled } from '../../services.js';
import { Csrf, Foreign, OrAway, Time } from '../../ui/parts.js';
import type { Shown, Visit } from '../../visit.js';
import { ofIdentity, type OfIdentity, OrUnknown } from '../stops/known.js';
import {
  Asked,
  askedOf,
  assertSeen,
  KEPT_STOPPED,
  reasonIn,
  reasonOr,
  Release,
  Stop,
  type Stopped,
  StoppedTold,
  Why,
} from '../stops/release.js';
import { agentIn, agentFormAddress } from './address.js';
import { agentForm, type Refused } from './form.js';
import { takenBack } from './grants.js';

/** For how long a person may be set to decide. */
const TIMES = [
  ['30m', '30 minutes', 1_800],
  ['2h', '2 hours', 7_200],
  ['1d', 'a day', 86_400],
] as const;

interface Standing {
  /** `null` where identity knows none of that name. */
  readonly record: AgentRecord | null;
  /** Whether the ledger has a call of it, where identity does not know it and somebody may stop it. */
  readonly hasCalled: Settled<boolean> | null;
  /** Which rows of its certificates could not be taken back, as the report of its stop has them; `null` where there is none. */
  readonly left: Settled<readonly string[]> | null;
}
/** How an agent stands; `elsewhere`: this Gate stops none, `nameless`: no agent is known by such a name. */
export type AgentStands = OfIdentity<Standing> | 'elsewhere' | 'nameless';

/** A name that certificates have, and that is not Gate's own. */
export const isAgentName = (name: string): boolean =>
  agentRegistration.shape.agent_name.safeParse(name).success && !isReservedPrincipal(name);

export async function agentStands(visit: Visit, agent: string): Promise<AgentStands> {
  if (!visit.has('stops')) return 'elsewhere';
  if (!isAgentName(agent)) return 'nameless';
  const record = await ofIdentity(visit.services.identity.agent(agent));
  if (record === 'nobody' || !record.ok) return record;
  const isNew = record.value === null && visit.mayPost('/agents/:agent/stop');
  const hasCalled = isNew ? await settled('ledger', called(visit, agent)) : null;
  const reportId = record.value?.report_id ?? null;
  const left = reportId === null ? null : await settled('identity', leftBehind(visit, reportId));
  return { ok: true, value: { record: record.value, hasCalled, left } };
}

async function leftBehind({ services: { identity } }: Visit, reportId: string): Promise<readonly string[]> {
  try {
    const report = await identity.report(reportId);
    return report?.not_taken_back?.flatMap(({ rows }) => rows) ?? [];
  } catch (error) {
    // A stop by an earlier Gate has none.
    if (error instanceof GateError && error.status === 404) return [];
    throw error;
  }
}

const called = async ({ services: { ledger } }: Visit, agent: string): Promise<boolean> =>
  (await ledger.rows({ agent, limit: 1 })).length > 0;

/** The agent that a form is about, as identity knows it; `null` where it does not. */
async function knownAgentOf(visit: Visit): Promise<AgentRecord | null> {
  const agent = agentIn(visit);
  return isAgentName(agent) ? visit.services.identity.agent(agent) : null;
}

/** The agent of a form that takes something back. Throws where there is nothing to be taken back: nobody is registered by that. */
export async function changedAgentOf(visit: Visit): Promise<AgentRecord> {
  const known = await knownAgentOf(visit);
  if (known !== null) return known;
  throw new GateError('not_found', 'The identity service knows no agent of this name: nothing was done.');
}

/** The agent of a form that stops it, or has a person decide. One that identity does not know is registered, if it ever called: a slip never looks like a stop. */
async function agentOf(visit: Visit): Promise<AgentRecord> {
  const known = await knownAgentOf(visit);
  if (known !== null) return known;
  const agent = agentIn(visit);
  if (!isAgentName(agent) || !(await called(visit, agent)))
    throw new GateError('not_found', 'Nobody knows an agent of this name: nothing was done.');
  return visit.services.identity.register(agent);
}

/** The forms of the page of an agent; `shown` is that page. */
export const standingForms = (shown: (visit: Visit, refused: Refused) => Promise<Shown>) => ({
  STOP_AGENT: agentForm(
    { path: '/agents/:agent/stop', does: 'stop an agent', of: 'stop', shown },
    async (visit, filled) => {
      const reason = reasonIn(filled);
      await visit.services.identity.suspend((await agentOf(visit)).id, reason);
      return {};
    },
  ),
  FORCE_HIL: agentForm(
    {
      path: '/agents/:agent/force-hil',
      does: 'have a person decide about each call of an agent',
      of: 'force-hil',
      shown,
    },
    async (visit, filled) => {
      const reason = reasonIn(filled);
      const [, , seconds] = TIMES.find(([name]) => name === filled.get('for')) ?? [];
      if (seconds === undefined) throw new GateError('invalid_request', 'say for how long a person decides');
      await visit.services.identity.forceHil((await agentOf(visit)).id, reason, seconds);
      return {};
    },
  ),
  END_FORCE_HIL: agentForm(
    {
      path: '/agents/:agent/force-hil/end',
      does: 'let the calls of an agent be judged by the rules alone again',
      of: 'end',
      shown,
    },
    async (visit) => {
      await visit.services.identity.clearForceHil((await changedAgentOf(visit)).id);
      return {};
    },
  ),
  RELEASE_AGENT: agentForm(
    { path: '/agents/:agent/release', does: 'let a stopped agent go, with somebody else', of: 'release', shown },
    async (visit, filled) => {
      const record = await changedAgentOf(visit);
      assertSeen(filled, stoppedOf(record));
      return askedOf(await visit.services.identity.unsuspend(record.id, reasonOr(filled)));
    },
  ),
  REVOKE_GRANT: agentForm(
    {
      path: '/agents/:agent/revoke-grant',
      does: 'take back what people delegated to an agent',
      of: 'revoke-grant',
      shown,
    },
    async (visit, filled) => {
      await takenBack(visit, agentIn(visit), filled.get('grant'), reasonOr(filled));
      return {};
    },
  ),
});

/** How a record says that an agent is stopped; `null` where it is not. */
export const stoppedOf = ({
  state,
  state_changed_at,
  state_changed_by,
  created_at,
  reason,
  release,
}: AgentRecord): Stopped | null =>
  state === 'suspended'
    ? { since: state_changed_at ?? created_at, by: state_changed_by ?? 'somebody', reason, release }
    : null;

/** What an agent may do, and for an administrator the forms that change it. */
export const StandingOf = ({
  of,
  agent,
  visit,
  refused,
}: {
  readonly of: AgentStands;
  readonly agent: string;
  readonly visit: Visit;
  readonly refused?: Refused | undefined;
}) => (
  <section aria-labelledby="standing">
    <h2 id="standing">How it stands</h2>
    {of === 'elsewhere' ? (
      <p class="dim">This Gate has no identity service: no agent is stopped here. A rule denies its calls.</p>
    ) : of === 'nameless' ? (
      <p class="dim">No agent is known to the identity service by such a name, so none is stopped by it.</p>
    ) : (
      <OrUnknown of={of}>
        {({ record, hasCalled, left }) => (
          <>
            <Told of={record} nowMs={visit.nowMs} />
            {left && <OrAway of={left}>{(rows) => <LeftBehind rows={rows} />}</OrAway>}
            {visit.mayPost('/agents/:agent/stop') ? (
              hasCalled === null ? (
                <Forms of={record} agent={agent} visit={visit} refused={refused} />
              ) : (
                <OrAway of={hasCalled}>
                  {(has) =>
                    has ? (
                      <Forms of={record} agent={agent} visit={visit} refused={refused} />
                    ) : (
                      <p class="dim">
                        It never called either: see whether the name is right. If it is, <code>gate contain agent</code>{' '}
                        with <code>--register</code> stops it.
                      </p>
                    )
                  }
                </OrAway>
              )
            ) : (
              <p class="dim">
                {record?.release && (
                  <>
                    <Asked of={record.release} nowMs={visit.nowMs} />.{' '}
                  </>
                )}
                An administrator stops it, has a person decide about its calls, or lets it go.
              </p>
            )}
          </>
        )}
      </OrUnknown>
    )}
  </section>
);

function Told({ of, nowMs }: { readonly of: AgentRecord | null; readonly nowMs: number }) {
  if (of === null)
    return (
      <p>
        <span class="tag none">not stopped</span> The identity service does not know it: its certificates or tokens come
        from elsewhere.
      </p>
    );
  const stopped = stoppedOf(of);
  return (
    <>
      <p>
        {stopped ? (
          <StoppedTold of={stopped} nowMs={nowMs} />
        ) : (
          <>
            <span class={`tag ${of.state === 'active' ? 'allow' : 'deny'}`}>
              {of.state === 'active' ? 'active' : 'ended for good'}
            </span>
            {of.state_changed_at !== null && (
              <>
                {' '}
                since <Time iso={of.state_changed_at} nowMs={nowMs} />
                {of.state_changed_by !== null && (
                  <>
                    {' '}
                    by <Foreign text={of.state_changed_by} />
                  </>
                )}
                {of.reason !== null && (
                  <>
                    : <Foreign text={of.reason} />
                  </>
                )}
              </>
            )}
          </>
        )}
      </p>
      {of.svid_bootstrap_state === 'recovery' && (
        <p>
          Its certificates were taken back:{' '}
          {stopped ? 'once it is let go, it needs a first one again.' : 'it needs a first one again, by a new token.'}
        </p>
      )}
      {of.report_id !== null && (
        <p>
          <a href="/stops">What was running then</a> is on the page of stops.
        </p>
      )}
      {of.force_hil && (
        <p>
          <span class="tag park">a person decides</span> about each call that would have run by itself; that ends{' '}
          <Time iso={of.force_hil.expires_at} nowMs={nowMs} />; set <Time iso={of.force_hil.applied_at} nowMs={nowMs} />{' '}
          by <Foreign text={of.force_hil.actor} />: <Foreign text={of.force_hil.reason} />
        </p>
      )}
    </>
  );
}

const ROWS_SHOWN = 10;

/** That not all of its certificates are taken back, and what to do. */
const LeftBehind = ({ rows }: { readonly rows: readonly string[] }) =>
  rows.length === 0 ? null : (
    <div class="notice bad">
      <p>
        Not all of its certificates could be taken back at the stop, because somebody edited these rows in the store of
        identity. It is stopped all the same, and is not let go before they are as Gate wrote them: put them back from a
        copy of the store. Until then a certificate counts wherever nobody asks identity.
      </p>
      <ul>
        {rows.slice(0, ROWS_SHOWN).map((row) => (
          <li key={row}>
            <Foreign text={row} />
          </li>
        ))}
      </ul>
      {rows.length > ROWS_SHOWN && (
        <p>
          The first {ROWS_SHOWN} of {rows.length}; the report has all.
        </p>
      )}
    </div>
  );

const STOPPING =
  'Within two seconds no call of it is let in any more, its connections end, and what of it waits does not run, whoever approves it. Its certificates of the identity service are taken back. Two people together let it go again, and then it needs a first certificate again.';

function Forms({
  of,
  agent,
  visit,
  refused,
}: {
  readonly of: AgentRecord | null;
  readonly agent: string;
  readonly visit: Visit;
  readonly refused: Refused | undefined;
}) {
  if (of?.state === 'decommissioned') return null;
  const typedIn = (form: Refused['of']) => (refused?.of === form ? refused.form : undefined);
  const at = (form: string) => agentFormAddress(agent, form);
  const stopped = of && stoppedOf(of);
  const forced = typedIn('force-hil');
  return (
    <>
      {stopped && <Release of={stopped} at={at('release')} visit={visit} typed={typedIn('release')} />}
      {(!stopped || stopped.release) && (
        <details open={refused?.of === 'stop'}>
          <summary>{stopped ? 'Keep it stopped' : 'Stop it'}</summary>
          <Stop
            at={at('stop')}
            csrf={visit.csrf}
            typed={typedIn('stop')}
            button={stopped ? 'Keep it stopped' : 'Stop it'}
          >
            <p>{stopped ? KEPT_STOPPED : STOPPING}</p>
          </Stop>
        </details>
      )}
      {!stopped && (
        <details open={forced !== undefined}>
          <summary>Have a person decide about each call</summary>
          <form method="post" action={at('force-hil')} class="sheet">
            <Csrf token={visit.csrf} />
            <p>
              It goes on, and each call that would have run by itself waits for a person, until the time is over or
              somebody ends it. What is denied stays denied.
            </p>
            <label>
              For{' '}
              <select name="for">
                {TIMES.map(([name, words]) => (
                  <option key={name} value={name} selected={name === forced?.get('for')}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
            <Why typed={forced?.get('reason') ?? ''} />
            <p>
              <button class="act" type="submit">
                Have a person decide
              </button>
            </p>
          </form>
        </details>
      )}
      {of?.force_hil && (
        <form method="post" action={at('force-hil/end')}>
          <Csrf token={visit.csrf} />
          <p>
            <button type="submit">Let the rules alone decide again</button>
          </p>
        </form>
      )}
    </>
  );
}
