import type { ModelSnapshot } from '../../../contracts/inspection.js';
import type { Spend } from '../../../contracts/ledger-reports.js';
import { settled } from '../../services.js';
import { Empty, Facts, Foreign, Id, OrAway, Table, Time } from '../../ui/parts.js';
import type { Page } from '../../visit.js';
import { agentAddress } from '../agents/address.js';

const MOST_AGENTS = 20;

/** What judges: models with their lanes, how their providers stand and what they cost, by which report they may judge; or rules alone. */
export const BRAIN: Page = {
  of: 'models',
  path: '/brain',
  role: 'viewer',
  nav: { label: 'Brain', key: 'b' },
  async show({ services, nowMs, person }) {
    const month = new Date(nowMs).toISOString().slice(0, 7);
    const [snapshot, spend] = await Promise.all([
      settled('brain', services.brain.snapshot()),
      settled('ledger', services.ledger.spend(month, MOST_AGENTS + 1)),
    ]);
    return {
      title: 'Brain',
      body: (
        <section class="settings">
          <h1>Brain</h1>
          <OrAway of={snapshot}>
            {(brain) => <Judging brain={brain} nowMs={nowMs} isOfTenant={person.tenant !== null} />}
          </OrAway>
          <h2>Spend</h2>
          <OrAway of={spend}>{(of) => <Spent of={of} month={month} nowMs={nowMs} />}</OrAway>
        </section>
      ),
    };
  },
};

interface Brain {
  readonly brain: ModelSnapshot;
  readonly nowMs: number;
}

const Judging = ({ brain, nowMs, isOfTenant }: Brain & { readonly isOfTenant: boolean }) => (
  <>
    <p class="headline">
      {brain.mock_mode
        ? 'Rules alone judge: no models are configured, and nothing leaves this machine to be judged.'
        : 'Models judge beside the rules: they add findings, and take none away.'}
    </p>
    <Facts
      of={[
        ['Version', <Foreign text={brain.brain_version} />],
        ['Level of the rules', <Foreign text={brain.injection_heuristic_level} />],
        ['Drift is measured by', <Foreign text={brain.embedding_model} />],
      ]}
    />
    {!brain.mock_mode && <Providers brain={brain} nowMs={nowMs} isOfTenant={isOfTenant} />}
    <Lanes brain={brain} />
    {!brain.mock_mode && <Qualification brain={brain} nowMs={nowMs} />}
  </>
);

const CIRCUIT = {
  closed: ['asked', 'allow'],
  trying: ['tried one question at a time', 'park'],
  open: ['held back', 'deny'],
} as const;

function Circuit({ of }: { readonly of: keyof typeof CIRCUIT }) {
  const [words, tone] = CIRCUIT[of];
  return <span class={`tag said ${tone}`}>{words}</span>;
}

const Providers = ({ brain, nowMs, isOfTenant }: Brain & { readonly isOfTenant: boolean }) => (
  <>
    <h2>Providers</h2>
    <p class="dim">
      As this Brain knows them from what it asked since its start, of all tenants together; nobody was asked for this
      page. Calls and failures are those of the last {brain.minutes} minutes, budgets those of this hour.
    </p>
    <Table
      label="Providers"
      heads={[
        'Provider',
        'Protocol',
        'State',
        { number: 'Calls' },
        { number: 'Failed' },
        { number: 'Not sent' },
        'Last failure',
        'Last answer',
        { number: 'Budget used' },
        ...(isOfTenant ? [{ number: 'Of your tenant' }] : []),
      ]}
    >
      {brain.providers.map((provider) => (
        <tr key={provider.name}>
          <th scope="row">
            <Foreign text={provider.name} />
          </th>
          <td>
            <Foreign text={provider.kind} />
          </td>
          <td>
            <Circuit of={provider.circuit} />
            {isOfTenant && provider.circuit_of_tenant !== 'closed' && (
              <>
                {' '}
                for your tenant <Circuit of={provider.circuit_of_tenant} />
              </>
            )}
            {provider.again_at && (
              <>
                {' '}
                tried again <Time iso={provider.again_at} nowMs={nowMs} />
              </>
            )}
          </td>
          <td class="number">{provider.asked}</td>
          <td class="number">{provider.failed}</td>
          <td class="number">{provider.not_asked}</td>
          <td>
            {provider.last_failure ? (
              <>
                <code>
                  <Foreign text={provider.last_failure.failure} />
                </code>{' '}
                <Time iso={provider.last_failure.at} nowMs={nowMs} />
              </>
            ) : (
              'none'
            )}
          </td>
          <td>{provider.last_answer_at ? <Time iso={provider.last_answer_at} nowMs={nowMs} /> : 'none'}</td>
          <td class="number">{provider.budget ? `${provider.budget.used_percent} %` : 'no budget'}</td>
          {isOfTenant && (
            <td class="number">{provider.budget ? `${provider.budget.used_by_tenant_percent} %` : 'no budget'}</td>
          )}
        </tr>
      ))}
    </Table>
  </>
);

const LANES: Readonly<Record<ModelSnapshot['lanes'][number]['lane'], string>> = {
  intent: 'intent',
  injection: 'injection',
  malicious_code: 'malicious code',
  compromised_package: 'compromised packages',
  answers: 'answers of tools',
  explain_pattern: 'words about a mined rule',
  narrate_decision: 'words about a decision',
};

/** Without models the rules are named that judge each lane. */
const Lanes = ({ brain }: { readonly brain: ModelSnapshot }) => (
  <>
    <h2>Lanes</h2>
    {brain.lanes.length > 0 ? (
      <Table
        label="Lanes"
        heads={['Lane', 'Tier of models', 'Model', 'Provider', 'Stand in for it', { number: 'Asked beside it' }]}
      >
        {brain.lanes.map(({ lane, tier, models: [primary, ...others], hedge_after_ms: hedgeMs }) => (
          <tr key={`${lane} ${tier}`}>
            <th scope="row">{LANES[lane]}</th>
            <td>{tier ?? 'one'}</td>
            <td>
              <Foreign text={primary?.model ?? ''} />
            </td>
            <td>
              <Foreign text={primary?.provider ?? ''} />
            </td>
            <td>
              {others.length === 0
                ? 'nobody'
                : others.map(({ alias, provider, model }, at) => (
                    <span key={alias}>
                      {at > 0 && ', '}
                      <Foreign text={model} /> of <Foreign text={provider} />
                    </span>
                  ))}
            </td>
            <td class="number">{hedgeMs === null ? 'never' : `after ${hedgeMs} ms`}</td>
          </tr>
        ))}
      </Table>
    ) : (
      <Table label="Lanes" heads={['Lane', 'Judged by']}>
        {Object.entries(brain.provider_models).map(([lane, by]) => (
          <tr key={lane}>
            <th scope="row">
              <Foreign text={lane.replaceAll('_', ' ')} />
            </th>
            <td>
              <Foreign text={by} />
            </td>
          </tr>
        ))}
      </Table>
    )}
  </>
);

function Qualification({ brain: { qualification: report }, nowMs }: Brain) {
  if (report === null)
    return (
      <>
        <h2>Qualification</h2>
        <p class="notice">
          Not qualified: Brain was not told to require a report of <code>gate brain qualify</code> (
          <code>GATE_BRAIN_REQUIRE_QUALIFIED</code>), so none is known here.
        </p>
      </>
    );
  const isOver = Date.parse(report.counts_until) < nowMs;
  const failed = report.checks.filter(({ holds }) => !holds).length;
  return (
    <>
      <h2>Qualification</h2>
      {isOver && (
        <p class="notice bad">The report counts no more: this Brain goes on, and will not start again with it.</p>
      )}
      <Facts
        of={[
          [
            'Result',
            <span class={`tag ${report.result === 'pass' ? 'allow' : 'deny'}`}>
              {report.result === 'pass' ? 'passed' : 'failed'}
            </span>,
          ],
          ['Made', <Time iso={report.made_at} nowMs={nowMs} />],
          ['Counts until', <Time iso={report.counts_until} nowMs={nowMs} />],
          ['By Gate', <Foreign text={report.gate_version} />],
          ['Cases', `${report.cases}, ${report.runs} runs, ${report.rounds} rounds`],
          ['Checks', `${report.checks.length}, of which ${failed === 0 ? 'all hold' : `${failed} do not hold`}`],
          ['Report', <Id id={report.report_sha256} short />],
        ]}
      />
      <details>
        <summary>Each value beside its floor</summary>
        <Table label="Checks of the report" heads={['Of', { number: 'Value' }, { number: 'Floor' }, 'Holds']}>
          {report.checks.map(({ of, value, at_least: least, at_most: most, holds }) => (
            <tr key={of}>
              <th scope="row">
                <Foreign text={of} />
              </th>
              <td class="number">{rounded(value)}</td>
              <td class="number">
                {[
                  ...(least === undefined ? [] : [`at least ${rounded(least)}`]),
                  ...(most === undefined ? [] : [`at most ${rounded(most)}`]),
                ].join(', ')}
              </td>
              <td>{holds ? 'yes' : 'no'}</td>
            </tr>
          ))}
        </Table>
      </details>
    </>
  );
}

const rounded = (value: number): string => String(Math.round(value * 10_000) / 10_000);

const dollars = (micros: number): string => `$${(micros / 1_000_000).toFixed(micros < 10_000 ? 6 : 2)}`;

const Spent = ({ of, month, nowMs }: { readonly of: Spend; readonly month: string; readonly nowMs: number }) => (
  <>
    <p class="dim">
      What inspections of {month} are estimated to have cost, by the prices in the file of models:{' '}
      {dollars(of.total_spend_micros)} for {of.total_requests} requests.
    </p>
    {of.agents.length === 0 ? (
      <Empty>Nothing was asked this month.</Empty>
    ) : (
      <Table label="Spend by agent" heads={['Agent', { number: 'Cost' }, { number: 'Requests' }, 'Last']}>
        {of.agents.slice(0, MOST_AGENTS).map((agent) => (
          <tr key={agent.agent_id}>
            <th scope="row">
              <a href={agentAddress(agent.agent_id)}>
                <Foreign text={agent.agent_id} />
              </a>
            </th>
            <td class="number">{dollars(agent.spend_micros)}</td>
            <td class="number">{agent.request_count}</td>
            <td>
              <Time iso={agent.latest_ts} nowMs={nowMs} />
            </td>
          </tr>
        ))}
      </Table>
    )}
    {of.returned > MOST_AGENTS && <p class="dim">Only the {MOST_AGENTS} that cost most.</p>}
  </>
);
