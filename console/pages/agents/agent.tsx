import { type AgentActivity, type CallTier, callTier, type TiersOverTime } from '../../../contracts/ledger-reports.js';
import { oneLine } from '../../../domain/printable.js';
import { spanTold } from '../../../domain/time-told.js';
import { settled } from '../../services.js';
import { addressOf } from '../../ui/addresses.js';
import { Stacks } from '../../ui/charts.js';
import { Empty, Foreign, OrAway, Table, Time } from '../../ui/parts.js';
import { WindowLinks, windowOf } from '../../ui/windows.js';
import type { Page, Shown, Visit } from '../../visit.js';
import { agentAddress, agentIn, narrativeAddress } from './address.js';
import { hoursOf, TOLD_OVER, type ToldOver } from './agents.js';
import { grantsFound, GrantsOf } from './grants.js';
import type { Refused } from './form.js';
import { registryForms, RegistryOf } from './registry.js';
import { agentStands, isAgentName, standingForms, StandingOf } from './standing.js';

const TOLD: Readonly<Record<CallTier, string>> = {
  green: 'allowed',
  auto: 'for a rule',
  standard: 'for a person',
  strict: 'for several people',
  red: 'denied',
};
/** How verdicts and policies call the same. */
const CALLED: Readonly<Record<CallTier, string>> = {
  green: 'green',
  auto: 'yellow, auto',
  standard: 'yellow, standard',
  strict: 'yellow, strict',
  red: 'red',
};

/** What one agent may do, and what it did over time, by tool and tier. */
export const AGENT_PAGE: Page = {
  path: '/agents/:agent',
  role: 'viewer',
  show: (visit) => agentShown(visit),
};

/** The forms of this page. */
export const { STOP_AGENT, FORCE_HIL, END_FORCE_HIL, RELEASE_AGENT, REVOKE_GRANT } = standingForms(agentShown);
export const { GIVE_AGENT, DESCRIBE_AGENT, NARROW_AGENT, END_AGENT } = registryForms(agentShown);

async function agentShown(visit: Visit, refused?: Refused): Promise<Shown> {
  const {
    query,
    services: { ledger },
    nowMs,
  } = visit;
  const agent = agentIn(visit);
  const { window, misread } = windowOf(query['window'], TOLD_OVER, '24h');
  const [activity, stands, grants] = await Promise.all([
    settled('ledger', ledger.activityOf(agent, hoursOf(window))),
    agentStands(visit, agent),
    grantsFound(visit, visit.has('stops') && isAgentName(agent) ? agent : null),
  ]);
  return {
    title: 'An agent',
    notice: misread,
    body: (
      <section class="agents">
        <h1>
          <Foreign text={agent} />
        </h1>
        <StandingOf of={stands} agent={agent} visit={visit} refused={refused} />
        <RegistryOf of={stands} agent={agent} visit={visit} refused={refused} />
        {grants && <GrantsOf of={grants} agent={agent} visit={visit} refused={refused} />}
        <h2>What it did</h2>
        <nav aria-label="Window">
          <WindowLinks options={TOLD_OVER} at={(said) => agentAddress(agent, said)} window={window} />
          <a href={narrativeAddress(agent)}>what it did, told</a>{' '}
          <a href={addressOf('/audit', { agent, window })}>its rows</a>
        </nav>
        <OrAway of={activity}>
          {({ agents: [did], since, until }) =>
            did === undefined ? (
              <Empty>
                It called nothing in this window. Take a longer one, or see whether the name is right:{' '}
                <a href="/agents">all agents</a>
              </Empty>
            ) : (
              <OverTime did={did} partMs={(Date.parse(until) - Date.parse(since)) / 24} window={window} nowMs={nowMs} />
            )
          }
        </OrAway>
      </section>
    ),
  };
}

type Did = AgentActivity['agents'][number];

function OverTime({
  did: { agent_id, total, points, tiers = {}, tools, tools_total },
  partMs,
  window,
  nowMs,
}: {
  readonly did: Did;
  readonly partMs: number;
  readonly window: ToldOver;
  readonly nowMs: number;
}) {
  const seen = callTier.options.filter((tier) => tiers[tier] !== undefined);
  const part = spanTold(partMs);
  const shared = { seen, points, nowMs };
  return (
    <>
      <p class="dim">
        {seen.map((tier) => (
          <span key={tier}>
            <span class={`key ${tier}`} /> {TOLD[tier]} (<code>{CALLED[tier]}</code>){' '}
          </span>
        ))}
        as its verdicts say. Bars are calls of {part} each, on a scale of their own; the times below them are UTC.
      </p>
      <h3>
        {total === 1 ? 'One call' : `All ${total} calls`}, {tools_total} {tools_total === 1 ? 'tool' : 'tools'}
      </h3>
      <Stacks
        of={stacked(seen, tiers)}
        at={points.map(({ at }) => at)}
        label={`Calls by tier, ${part} each; the table below has the numbers`}
        isLarge
      />
      <Numbers of={tiers} label="By tier over time" {...shared} />
      <h2>By tool</h2>
      {tools.map(({ tool_name, tiers: of = {} }) => (
        <section key={tool_name} aria-label={oneLine(tool_name)}>
          <h3>
            <a href={addressOf('/audit', { agent: agent_id, tool: tool_name, window })}>
              <Foreign text={tool_name} />
            </a>{' '}
            <span class="dim">
              {seen.flatMap((tier) => (of[tier] ? [`${sum(of[tier])} ${TOLD[tier]}`] : [])).join(', ')}
            </span>
          </h3>
          <Stacks
            of={stacked(seen, of)}
            at={points.map(({ at }) => at)}
            label={`Calls by tier, ${part} each; the table below has the numbers`}
          />
          <details>
            <summary>As a table</summary>
            <Numbers of={of} label={`By tier over time: ${tool_name}`} {...shared} />
          </details>
        </section>
      ))}
      {tools_total > tools.length && <p class="dim">The {tools.length} that were called most.</p>}
    </>
  );
}

/** What is refused stands at the foot, and what passes on top. */
const stacked = (seen: readonly CallTier[], of: TiersOverTime) =>
  seen.toReversed().map((tier) => ({ tone: tier, counts: of[tier] ?? [] }));
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** The numbers behind a chart: a row for each part of the time in which something was called. */
const Numbers = ({
  of,
  seen,
  points,
  label,
  nowMs,
}: {
  readonly of: TiersOverTime;
  readonly seen: readonly CallTier[];
  readonly points: Did['points'];
  readonly label: string;
  readonly nowMs: number;
}) => (
  <Table label={label} heads={['From', ...seen.map((tier) => ({ number: TOLD[tier] }))]}>
    {points.flatMap(({ at }, index) =>
      seen.some((tier) => (of[tier]?.[index] ?? 0) > 0)
        ? [
            <tr key={at}>
              <td>
                <Time iso={at} nowMs={nowMs} />
              </td>
              {seen.map((tier) => (
                <td key={tier} class="number">
                  {of[tier]?.[index] ?? 0}
                </td>
              ))}
            </tr>,
          ]
        : [],
    )}
  </Table>
);
