import type { KeptStopReport, StopRecord } from '../../../contracts/identity.js';
import { toolName } from '../../../contracts/storable.js';
import { GateError } from '../../../domain/errors.js';
import { oneLine } from '../../../domain/printable.js';
import { type Settled, settled } from '../../services.js';
import { addressOf } from '../../ui/addresses.js';
import { Empty, Foreign, OrAway, Table, Time } from '../../ui/parts.js';
import { type Action, type Form, type Page, REASON, type Shown, type Visit } from '../../visit.js';
import { ofIdentity, OrUnknown } from './known.js';
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
} from './release.js';

/** Over how long a call makes a tool known to choose, and how many agents are looked at for that. */
const TOLD_HOURS = 720;
const AGENTS = 100;
const SHOWN = 100;
const LET_GO = 20;

/** The tools that are stopped, and whether the tenant is. */
export const STOPS: Page = {
  of: 'stops',
  path: '/stops',
  role: 'viewer',
  nav: { label: 'Stops', key: 'o' },
  show: (visit) => stopsShown(visit),
};

interface Refused {
  readonly of: 'tool' | 'tenant' | 'release';
  readonly form: Form;
}
/** A form of this page, which shows it again where it is refused. */
const change = (of: Refused['of'], action: Pick<Action, 'path' | 'does' | 'written' | 'act'>): Action => ({
  ...action,
  of: 'stops',
  role: 'admin',
  refused: (visit, filled) => stopsShown(visit, { of, form: filled }),
});

/** Stops a tool for everybody of the tenant. */
export const STOP_TOOL = change('tool', {
  path: '/stops/tool',
  does: 'stop a tool for every agent',
  written: { tool: 'Tool', ...REASON },
  async act({ services: { identity, ledger } }, filled) {
    const reason = reasonIn(filled);
    const tool = toolIn(filled);
    // So that a slip never looks like a stop.
    if (filled.get('unlisted') !== 'yes' && (await ledger.rows({ agent: '*', tool, limit: 1 })).length === 0)
      throw new GateError(
        'invalid_request',
        `Nobody ever called a tool of this name${EDGE.test(tool) ? ', which begins or ends with a space' : ''}: nothing was done. If the name is right, tick the box beside it.`,
      );
    await identity.stop(tool, reason);
    return '/stops';
  },
});

/** A space may be the only difference between two names. */
const EDGE = /^\s|\s$/;

/** The tool that a form names, letter by letter. Throws for what no tool is called. */
function toolIn(filled: Form): string {
  const tool = filled.get('tool');
  if (tool === '') throw new GateError('invalid_request', 'name the tool, as agents are shown it');
  const { success, data, error } = toolName.safeParse(tool);
  if (success) return data;
  throw new GateError('invalid_request', `No tool is called so (${error.issues[0]?.message}): nothing was done.`);
}

/** Stops the tenant whole. */
export const STOP_TENANT = change('tenant', {
  path: '/stops/tenant',
  does: 'stop a tenant whole',
  written: { tenant_name: 'Tenant', ...REASON },
  async act({ services: { identity }, person }, filled) {
    const reason = reasonIn(filled);
    if (filled.get('tenant_name').trim() !== person.tenant)
      throw new GateError('invalid_request', `type the name of your tenant out: ${person.tenant}. Nothing was done.`);
    await identity.stop(null, reason);
    return '/stops';
  },
});

/** Two people let a tool, or the tenant, go. */
export const RELEASE_STOP = change('release', {
  path: '/stops/:id/release',
  does: 'let a stopped tool or tenant go, with somebody else',
  written: REASON,
  async act({ services: { identity }, params: { id = '' } }, filled) {
    const stop = (await identity.stops()).find((one) => one.id === id);
    if (stop === undefined) throw new GateError('not_found', 'There is no such stop.');
    assertSeen(filled, stoppedOf(stop));
    return addressOf('/stops', askedOf(await identity.releaseStop(id, reasonOr(filled))));
  },
});

const stoppedOf = ({ state, changed_at, changed_by, reason, release }: StopRecord): Stopped | null =>
  state === 'suspended' ? { since: changed_at, by: changed_by, reason, release } : null;

async function stopsShown(visit: Visit, refused?: Refused): Promise<Shown> {
  const { services, mayPost, person } = visit;
  const mayStop = mayPost('/stops/tool');
  const [stops, reports, called] = await Promise.all([
    ofIdentity(services.identity.stops()),
    ofIdentity(services.identity.reports()),
    mayStop ? settled('ledger', toolsCalled(visit)) : null,
  ]);
  return {
    title: 'Stops',
    body: (
      <section class="stops">
        <h1>Stops</h1>
        <p class="dim">
          What of {person.tenant ?? 'all tenants'} nobody may use until two people let it go. An agent is stopped on{' '}
          <a href="/agents">its own page</a>; <a href="/decoys">decoys</a> stop whoever touches them.{' '}
          <a href="/upstreams">Upstreams</a> are the servers of tools for which somebody vouched.
        </p>
        <OrUnknown of={stops}>{(all) => <Listed of={all} visit={visit} refused={refused} />}</OrUnknown>
        {stops !== 'nobody' && <OrUnknown of={reports}>{(all) => <Reports of={all} nowMs={visit.nowMs} />}</OrUnknown>}
        {called && stops !== 'nobody' && <StopATool of={called} visit={visit} refused={refused} />}
        {mayStop && stops !== 'nobody' && (
          <StopTheTenant
            isStopped={stops.ok && stops.value.some(({ tool, state }) => tool === null && state === 'suspended')}
            visit={visit}
            refused={refused}
          />
        )}
        {!mayStop && <p class="dim">An administrator stops a tool, or the tenant, and lets it go.</p>}
      </section>
    ),
  };
}

/** Tools that agents called lately, by their names; one whose name shows what nobody sees is typed by whoever means it. */
async function toolsCalled({ services: { ledger } }: Visit): Promise<readonly string[]> {
  const { agents } = await ledger.activity(TOLD_HOURS, AGENTS);
  const names = agents.flatMap(({ tools }) => tools.map(({ tool_name: name }) => name));
  return [...new Set(names)].filter((name) => oneLine(name) === name).toSorted();
}

function Listed({
  of,
  visit,
  refused,
}: {
  readonly of: readonly StopRecord[];
  readonly visit: Visit;
  readonly refused: Refused | undefined;
}) {
  const { person, nowMs } = visit;
  const tenant = of.find(({ tool }) => tool === null);
  const tools = of.flatMap((stop) =>
    stop.tool !== null && stop.state === 'suspended' ? [{ ...stop, tool: stop.tool }] : [],
  );
  const letGo = of
    .flatMap((stop) => (stop.tool !== null && stop.state === 'active' ? [{ ...stop, tool: stop.tool }] : []))
    .toSorted((a, b) => b.changed_at.localeCompare(a.changed_at));
  return (
    <>
      <section aria-labelledby="tenant">
        <h2 id="tenant">Tenant {person.tenant}</h2>
        {tenant && stoppedOf(tenant) ? (
          <OneStop of={tenant} visit={visit} refused={refused} />
        ) : (
          <p>
            <span class="tag allow">not stopped</span>
            {tenant && (
              <>
                {' '}
                since <Time iso={tenant.changed_at} nowMs={nowMs} /> by <Foreign text={tenant.changed_by} />
              </>
            )}
          </p>
        )}
      </section>
      <section aria-labelledby="tools">
        <h2 id="tools">Tools</h2>
        {tools.length === 0 && (
          <Empty>
            No tool is stopped. What agents called is on the page of <a href="/agents">agents</a>.
          </Empty>
        )}
        {tools.slice(0, SHOWN).map((stop) => (
          <section key={stop.id} aria-label={oneLine(stop.tool)}>
            <h3>
              <Foreign text={stop.tool} />
            </h3>
            <OneStop of={stop} visit={visit} refused={refused} />
          </section>
        ))}
        {tools.length > SHOWN && (
          <p class="dim">
            The first {SHOWN} of {tools.length}; <code>gate stops</code> lists all.
          </p>
        )}
        {letGo.length > 0 && (
          <Table label="Let go again" heads={['Let go', 'When', 'By', 'Why']}>
            {letGo.slice(0, LET_GO).map((stop) => (
              <tr key={stop.id}>
                <WhatWhenBy of={[stop.tool, stop.changed_at, stop.changed_by]} nowMs={nowMs} />
                <td>{stop.reason !== null && <Foreign text={stop.reason} />}</td>
              </tr>
            ))}
          </Table>
        )}
      </section>
    </>
  );
}

/** The first cells of a row: what was stopped or let go, when, and by whom. */
const WhatWhenBy = ({
  of: [what, at, by],
  nowMs,
}: {
  readonly of: readonly [string, string, string];
  readonly nowMs: number;
}) => (
  <>
    <th scope="row">
      <Foreign text={what} />
    </th>
    <td>
      <Time iso={at} nowMs={nowMs} />
    </td>
    <td>
      <Foreign text={by} />
    </td>
  </>
);

/** What was running at each stop, of agents too, as files. */
const Reports = ({ of: reports, nowMs }: { readonly of: readonly KeptStopReport[]; readonly nowMs: number }) => (
  <section aria-labelledby="reports">
    <h2 id="reports">What was running</h2>
    {reports.length === 0 ? (
      <Empty>Nothing was stopped of which there is a report.</Empty>
    ) : (
      <>
        <p class="dim">
          A report says which calls a stop met: those that ran, waited, or began meanwhile, by digest. It is signed;
          whoever gets it checks it with <code data-copy={CHECKING}>{CHECKING}</code> and the certificate of the CA.
        </p>
        <Table label="Reports" heads={['Stopped', 'When', 'By', { number: 'Certificates revoked' }, 'Report']}>
          {reports.slice(0, REPORTS).map((report) => (
            <tr key={report.id}>
              <WhatWhenBy of={[stoppedName(report), report.stopped_at, report.stopped_by]} nowMs={nowMs} />
              <td class="number">{report.certificates_revoked}</td>
              <td>
                {report.state === 'made' ? (
                  <a href={`/stops/reports/${report.id}`} download>
                    take it
                  </a>
                ) : (
                  <span class="dim">being made</span>
                )}
              </td>
            </tr>
          ))}
        </Table>
      </>
    )}
  </section>
);

const stoppedName = ({ stopped: { kind, name }, tenant }: KeptStopReport): string =>
  kind === 'tenant' ? `tenant ${tenant}` : `${kind} ${name}`;
const REPORTS = 20;
/** The name of the report is what the browser saved it as. */
const CHECKING = 'npx gate verify --bundle REPORT.json --key ca.crt';

/** A tool, or the tenant, that is stopped. */
function OneStop({
  of: stop,
  visit,
  refused,
}: {
  readonly of: StopRecord;
  readonly visit: Visit;
  readonly refused: Refused | undefined;
}) {
  const stopped = stoppedOf(stop);
  if (stopped === null) return null;
  const typed = refused?.of === 'release' && visit.params['id'] === stop.id ? refused.form : undefined;
  return (
    <>
      <p>
        <StoppedTold of={stopped} nowMs={visit.nowMs} />
      </p>
      {visit.mayPost('/stops/:id/release') ? (
        <Release of={stopped} at={`/stops/${stop.id}/release`} visit={visit} typed={typed} />
      ) : (
        stopped.release && (
          <p>
            <Asked of={stopped.release} nowMs={visit.nowMs} />
          </p>
        )
      )}
    </>
  );
}

const StopATool = ({
  of: called,
  visit: { csrf },
  refused,
}: {
  readonly of: Settled<readonly string[]>;
  readonly visit: Visit;
  readonly refused: Refused | undefined;
}) => {
  const typed = refused?.of === 'tool' ? refused.form : undefined;
  return (
    <section aria-labelledby="stop-a-tool">
      <h2 id="stop-a-tool">Stop a tool</h2>
      <OrAway of={called}>{() => null}</OrAway>
      <Stop at="/stops/tool" csrf={csrf} typed={typed} button="Stop the tool">
        <p>
          Within two seconds no agent's call of it is let in any more, alone or in a batch, and none that waits runs,
          whoever approves it. A tool that is stopped already stays so, and what was asked for, its release, counts no
          more.
        </p>
        <label>
          Tool, by the name that agents are shown
          <input name="tool" required list="called" value={typed?.get('tool') ?? ''} />
        </label>
        <datalist id="called">{called.ok && called.value.map((name) => <option key={name} value={name} />)}</datalist>
        <p>
          <label>
            <input type="checkbox" name="unlisted" value="yes" checked={typed?.get('unlisted') === 'yes'} /> The name is
            right, although nobody ever called it
          </label>
        </p>
      </Stop>
    </section>
  );
};

const StopTheTenant = ({
  isStopped,
  visit: { csrf, person },
  refused,
}: {
  readonly isStopped: boolean;
  readonly visit: Visit;
  readonly refused: Refused | undefined;
}) => {
  const typed = refused?.of === 'tenant' ? refused.form : undefined;
  return (
    <section aria-labelledby="stop-the-tenant">
      <h2 id="stop-the-tenant">Stop everything</h2>
      <details open={typed !== undefined}>
        <summary>{isStopped ? `Keep ${person.tenant} stopped` : `Stop ${person.tenant} whole`}</summary>
        <Stop at="/stops/tenant" csrf={csrf} typed={typed} button={isStopped ? 'Keep it stopped' : 'Stop everything'}>
          <p>{isStopped ? KEPT_STOPPED : STOPPING}</p>
          <label>
            The name of the tenant, typed out: {person.tenant}
            <input name="tenant_name" required autocomplete="off" value={typed?.get('tenant_name') ?? ''} />
          </label>
        </Stop>
      </details>
    </section>
  );
};

const STOPPING =
  'Within two seconds all of its agents are refused whatever they ask for, their connections end, and nothing that waits runs, whoever approves it. Their certificates are taken back. Two people together let it go again, and then each agent needs a first certificate again.';
