import type { AgentRecord } from '../../../contracts/identity.js';
import type { AgentActivity, SilentAgents } from '../../../contracts/ledger-reports.js';
import { type Drift as DriftOfAgents, type Settled, settled } from '../../services.js';
import { spanTold } from '../../../domain/time-told.js';
import { addressOf } from '../../ui/addresses.js';
import { Bars, Shares } from '../../ui/charts.js';
import { Count, Empty, Foreign, OrAway, Table, Time } from '../../ui/parts.js';
import { EachWhole } from '../../ui/whole.js';
import { WindowLinks, type WindowName, windowOf, WINDOWS } from '../../ui/windows.js';
import type { Page } from '../../visit.js';
import { type OfIdentity, ofIdentity, OrUnknown } from '../stops/known.js';
import { agentAddress } from './address.js';
import { stoppedOf } from './standing.js';

const AGENTS = 100;
/** Told at first: with a hundred the page has most of a megabyte. */
const FIRST_AGENTS = 25;
const SILENT_HOURS = 24;
/** Over which windows agents are told, the usual one among them. */
export const TOLD_OVER = ['1h', '24h', '7d', '30d'] as const satisfies readonly WindowName[];
export type ToldOver = (typeof TOLD_OVER)[number];
export const hoursOf = (window: ToldOver): number => WINDOWS[window][1] / 3_600_000;

/** What each agent did lately, by tool and verdict; who is silent, and whose behaviour changed. */
export const AGENTS_PAGE: Page = {
  path: '/agents',
  role: 'viewer',
  nav: { label: 'Agents', key: 'n' },
  async show({ query, services: { ledger, identity }, nowMs, has }) {
    const { window, misread } = windowOf(query['window'], TOLD_OVER, '24h');
    const all = query['show'] === 'all';
    const [activity, silent, drift, stopped] = await Promise.all([
      settled('ledger', ledger.activity(hoursOf(window), all ? AGENTS : FIRST_AGENTS)),
      settled('ledger', ledger.silent(SILENT_HOURS)),
      settled('ledger', ledger.drift(AGENTS)),
      has('stops') ? ofIdentity(identity.stoppedAgents()) : null,
    ]);
    return {
      title: 'Agents',
      notice: misread,
      body: (
        <section class="agents">
          <h1>Agents</h1>
          {stopped && (
            <p class="dim">
              What people delegated to them: <a href="/grants">grants</a>. What their platforms may measure:{' '}
              <a href="/measurements">measurements</a>.
            </p>
          )}
          {stopped && <StoppedAgents of={stopped} nowMs={nowMs} />}
          <h2>What they did</h2>
          <nav aria-label="Window">
            <WindowLinks options={TOLD_OVER} at={(said) => addressOf('/agents', said)} window={window} />
          </nav>
          <OrAway of={activity}>
            {(did) =>
              did.agents.length === 0 ? (
                <Empty>No agent called anything in this window. Take a longer one.</Empty>
              ) : (
                <Activity of={did} stopped={namesOf(stopped)} window={window} nowMs={nowMs} />
              )
            }
          </OrAway>
          {/* One notice is enough where the ledger is away. */}
          {activity.ok && <Silence of={silent} nowMs={nowMs} />}
          {activity.ok && <Drift of={drift} />}
        </section>
      ),
    };
  },
};

const namesOf = (stopped: OfIdentity<readonly AgentRecord[]> | null): ReadonlySet<string> =>
  new Set(stopped && stopped !== 'nobody' && stopped.ok ? stopped.value.map(({ agent_name: name }) => name) : []);

/** Those that are stopped, also where they called nothing in the window. */
const StoppedAgents = ({ of, nowMs }: { readonly of: OfIdentity<readonly AgentRecord[]>; readonly nowMs: number }) => (
  <OrUnknown of={of}>
    {(stopped) =>
      stopped.length > 0 && (
        <section aria-labelledby="stopped">
          <h2 id="stopped">Stopped</h2>
          <Table label="Stopped agents" cards heads={['Agent', 'Since', 'By', 'Why', 'Release']}>
            {stopped.slice(0, AGENTS).map((agent) => (
              <StoppedAgent key={agent.id} of={agent} nowMs={nowMs} />
            ))}
          </Table>
          {stopped.length > AGENTS && (
            <p class="dim">
              The first {AGENTS} of {stopped.length}; <code>gate agents --state suspended</code> lists all.
            </p>
          )}
        </section>
      )
    }
  </OrUnknown>
);

const StoppedAgent = ({ of: agent, nowMs }: { readonly of: AgentRecord; readonly nowMs: number }) => {
  const told = stoppedOf(agent);
  return (
    <tr>
      <th scope="row" class="lead">
        <a href={agentAddress(agent.agent_name)}>
          <Foreign text={agent.agent_name} />
        </a>
      </th>
      <td class="lead">{told && <Time iso={told.since} nowMs={nowMs} />}</td>
      <td data-head="by">{told && <Foreign text={told.by} />}</td>
      <td data-head="why">{agent.reason !== null && <Foreign text={agent.reason} />}</td>
      <td data-head="release">
        {agent.release ? (
          <>
            asked for by <Foreign text={agent.release.requested_by} />
          </>
        ) : (
          'not asked for'
        )}
      </td>
    </tr>
  );
};

function Activity({
  of: { agents, agents_total, since, until },
  stopped,
  window,
  nowMs,
}: {
  readonly of: AgentActivity;
  /** The names of those that are stopped. */
  readonly stopped: ReadonlySet<string>;
  readonly window: string;
  readonly nowMs: number;
}) {
  const most = Math.max(0, ...agents.flatMap(({ points }) => points.map((point) => point.total)));
  const part = spanTold((Date.parse(until) - Date.parse(since)) / 24);
  return (
    <>
      <p class="dim">
        <span class="key allow" /> allowed, <span class="key park" /> sent to a person, <span class="key deny" />{' '}
        denied. Bars are calls of {part} each, the denied ones at their foot; all have the same scale. The times below
        them are UTC.
      </p>
      <Table
        label="What agents did"
        cards
        heads={[
          'Agent',
          { number: 'Calls' },
          { number: 'Allowed' },
          { number: 'To people' },
          { number: 'Denied' },
          'Shares',
          'Over time',
          'Last call',
        ]}
      >
        {agents.map((agent) => (
          <tr key={agent.agent_id}>
            <th scope="row" class="lead">
              <a href={agentAddress(agent.agent_id, { window })}>
                <Foreign text={agent.agent_id} />
              </a>
              {stopped.has(agent.agent_id) && (
                <>
                  {' '}
                  <span class="tag deny">stopped</span>
                </>
              )}
            </th>
            <Count head="calls">{agent.total}</Count>
            <Count head="allowed">{agent.allowed}</Count>
            <Count head="to people">
              {agent.reviewed}
              {agent.denied_by_people > 0 && ` (${agent.denied_by_people} refused)`}
            </Count>
            <Count head="denied">
              {agent.denied > 0 ? (
                <a href={addressOf('/audit', { agent: agent.agent_id, verdict: 'deny', window })}>{agent.denied}</a>
              ) : (
                0
              )}
            </Count>
            <td>
              <Shares
                of={[
                  { tone: 'allow', count: agent.allowed },
                  { tone: 'park', count: agent.reviewed },
                  { tone: 'deny', count: agent.denied },
                ]}
                label={`${agent.allowed} allowed, ${agent.reviewed} sent to a person, ${agent.denied} denied`}
              />
            </td>
            <td>
              <Bars of={agent.points} most={most} label={`Calls, ${part} each; the table below has the numbers`} />
            </td>
            <td class="lead">
              <Time iso={agent.last_at} nowMs={nowMs} />
            </td>
          </tr>
        ))}
      </Table>
      {agents_total > agents.length && (
        <p class="dim">
          The {agents.length} with most calls of {agents_total}; a shorter window may show others.{' '}
          {agents.length < AGENTS && <a href={addressOf('/agents', { window, show: 'all' })}>Show {AGENTS}</a>}
        </p>
      )}
      <h2>By tool</h2>
      <EachWhole>
        {agents.map((agent) => (
          <InFull key={agent.agent_id} of={agent} window={window} nowMs={nowMs} isOpen={agents.length <= 5} />
        ))}
      </EachWhole>
    </>
  );
}

/** What an agent did by tool, and over time. */
const InFull = ({
  of: agent,
  window,
  nowMs,
  isOpen,
}: {
  readonly of: AgentActivity['agents'][number];
  readonly window: string;
  readonly nowMs: number;
  readonly isOpen: boolean;
}) => (
  <details open={isOpen}>
    <summary>
      <Foreign text={agent.agent_id} />: {agent.tools_total} {agent.tools_total === 1 ? 'tool' : 'tools'}
    </summary>
    <Table
      label={`Tools: ${agent.agent_id}`}
      cards
      heads={['Tool', { number: 'Allowed' }, { number: 'To people' }, { number: 'Denied' }]}
    >
      {agent.tools.map((tool) => (
        <tr key={tool.tool_name}>
          <th scope="row" class="lead">
            <a href={addressOf('/audit', { agent: agent.agent_id, tool: tool.tool_name, window })}>
              <Foreign text={tool.tool_name} />
            </a>
          </th>
          <Count head="allowed">{tool.allowed}</Count>
          <Count head="to people">{tool.reviewed}</Count>
          <Count head="denied">{tool.denied}</Count>
        </tr>
      ))}
    </Table>
    {agent.tools_total > agent.tools.length && <p class="dim">The {agent.tools.length} that were called most.</p>}
    <Table
      label={`Over time: ${agent.agent_id}`}
      cards
      heads={['Over time, from', { number: 'Calls' }, { number: 'To people' }, { number: 'Denied' }]}
    >
      {agent.points
        .filter(({ total }) => total > 0)
        .map(({ at, total, denied, reviewed }) => (
          <tr key={at}>
            <td class="lead">
              <Time iso={at} nowMs={nowMs} />
            </td>
            <Count head="calls">{total}</Count>
            <Count head="to people">{reviewed}</Count>
            <Count head="denied">{denied}</Count>
          </tr>
        ))}
    </Table>
  </details>
);

const Silence = ({ of, nowMs }: { readonly of: Settled<SilentAgents>; readonly nowMs: number }) => (
  <section aria-labelledby="silent">
    <h2 id="silent">Silent for {SILENT_HOURS} hours</h2>
    <OrAway of={of}>
      {({ silent_agents: silent, active_total }) =>
        silent.length === 0 ? (
          <p class="dim">None of {active_total}.</p>
        ) : (
          <>
            <Table label="Silent agents" heads={['Agent', 'Last call']}>
              {silent.slice(0, AGENTS).map((agent) => (
                <tr key={agent.agent_name}>
                  <th scope="row">
                    <a href={addressOf('/audit', { agent: agent.agent_name })}>
                      <Foreign text={agent.agent_name} />
                    </a>
                  </th>
                  <td>{agent.last_activity === null ? 'never' : <Time iso={agent.last_activity} nowMs={nowMs} />}</td>
                </tr>
              ))}
            </Table>
            {silent.length > AGENTS && (
              <p class="dim">
                The {AGENTS} silent the longest of {silent.length}.
              </p>
            )}
          </>
        )
      }
    </OrAway>
  </section>
);

const Drift = ({ of }: { readonly of: Settled<DriftOfAgents> }) => (
  <section>
    <h2>Changed behaviour</h2>
    <OrAway of={of}>
      {({ agents, agents_total, insufficient_total, recent_days, baseline_days }) => {
        const judged = agents.filter(({ insufficient }) => !insufficient);
        const isCounted = agents_total !== null && insufficient_total !== null;
        const judgedTotal = isCounted ? agents_total - insufficient_total : null;
        return (
          <>
            <p class="dim">
              The last {recent_days} days beside the {baseline_days} before them: tools, hours, intent, denials. From 35
              % on it counts as drift.{' '}
              {isCounted ? `${insufficient_total} of ${agents_total}` : 'Agents that are not here'} had fewer than 50
              calls in one of the two, which says nothing{isCounted ? '' : ', or changed less'}.
            </p>
            {judged.length > 0 && (
              <Table
                label="Changed behaviour"
                heads={['Agent', { number: 'Change' }, 'Judged', { number: 'Calls' }, 'New tools', 'No longer used']}
              >
                {judged.map((agent) => (
                  <tr key={agent.agent_id}>
                    <th scope="row">
                      <Foreign text={agent.agent_id} />
                    </th>
                    <td class="number">
                      <meter min={0} max={1} value={agent.drift_overall} aria-label="Change" />{' '}
                      {Math.round(agent.drift_overall * 100)} %
                    </td>
                    <td>
                      <span class={`tag ${agent.drifted ? 'park' : 'allow'}`}>
                        {agent.drifted ? 'drifted' : 'as before'}
                      </span>
                    </td>
                    <td class="number">{agent.recent_total}</td>
                    <td>
                      <Names of={agent.new_tools} />
                    </td>
                    <td>
                      <Names of={agent.vanished_tools} />
                    </td>
                  </tr>
                ))}
              </Table>
            )}
            {judgedTotal !== null && judgedTotal > judged.length && (
              <p class="dim">
                The {judged.length} that changed most of {judgedTotal}.
              </p>
            )}
          </>
        );
      }}
    </OrAway>
  </section>
);

const Names = ({ of }: { readonly of: readonly string[] }) => (
  <>
    <Foreign text={of.slice(0, 8).join(', ')} />
    {of.length > 8 && ` and ${of.length - 8} more`}
  </>
);
