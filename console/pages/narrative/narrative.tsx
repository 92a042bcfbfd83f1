import { narrativeWindow } from '../../../contracts/ledger-reports.js';
import { sentToPeople } from '../../../domain/evidence/reports/narrative.js';
import { settled } from '../../services.js';
import { addressOf, callAddress } from '../../ui/addresses.js';
import { Bars } from '../../ui/charts.js';
import { Count, Empty, Facts, Foreign, OrAway, Said, Table, Time } from '../../ui/parts.js';
import { WindowLinks, windowOf } from '../../ui/windows.js';
import type { Page } from '../../visit.js';
import { agentIn, narrativeAddress } from '../agents/address.js';

const ifAny = (count: number, what: string): string => (count > 0 ? `, ${count} ${what}` : '');

/** What an agent did, told, with the rows that the story rests on. */
export const NARRATIVE: Page = {
  path: '/audit/agents/:agent/narrative',
  role: 'viewer',
  async show({ params, query, services, nowMs }) {
    const agent = agentIn({ params, query });
    const { window, misread } = windowOf(query['window'], narrativeWindow.options, '7d');
    const told = await settled('ledger', services.ledger.narrative(agent, window));
    const rowsOf = (from: number) => addressOf('/audit', { agent, before: from + 1 });
    return {
      title: 'An agent, told',
      notice: misread,
      body: (
        <section class="narrative">
          <h1>
            What <Foreign text={agent} /> did
          </h1>
          <nav aria-label="Window">
            <WindowLinks
              options={narrativeWindow.options}
              at={(said) => narrativeAddress(agent, said)}
              window={window}
            />
            <a href={addressOf('/audit', { agent })}>its rows</a>
          </nav>
          <OrAway of={told}>
            {({ total, headline, story, sparkline, outcomes, tools, deny_reasons, hil, notable }) =>
              total === 0 && notable.length === 0 ? (
                <Empty>
                  Nothing in this window. Take a longer one, or see whether the name is right:{' '}
                  <a href="/agents">all agents</a>
                </Empty>
              ) : (
                <>
                  <p class="headline">
                    <Said text={headline} />
                  </p>
                  <p class="dim">An annotation, made from rows; the rows are the evidence.</p>
                  <Bars
                    of={sparkline.points}
                    most={Math.max(0, ...sparkline.points.map((point) => point.total))}
                    label={`Calls by ${sparkline.bucket}, those that were denied or went to review marked`}
                  />
                  <details>
                    <summary>Calls by {sparkline.bucket}, as a table</summary>
                    <Table
                      label={`Calls by ${sparkline.bucket}`}
                      heads={['From', { number: 'Calls' }, { number: 'Denied' }, { number: 'Sent to review' }]}
                    >
                      {sparkline.points
                        .filter((point) => point.total > 0)
                        .map((point) => (
                          <tr key={point.at}>
                            <td>
                              <Time iso={point.at} nowMs={nowMs} />
                            </td>
                            <td class="number">{point.total}</td>
                            <td class="number">{point.denied}</td>
                            <td class="number">{point.reviewed}</td>
                          </tr>
                        ))}
                    </Table>
                  </details>
                  <ul class="told">
                    {story.map(({ text, seqs }) => (
                      <li key={text}>
                        <Said text={text} />{' '}
                        {seqs.map((seq) => (
                          <span key={seq}>
                            <a href={rowsOf(seq)}>#{seq}</a>{' '}
                          </span>
                        ))}
                      </li>
                    ))}
                  </ul>
                  <Facts
                    of={[
                      [
                        'Calls',
                        `${total}: ${outcomes.allowed} allowed, ${sentToPeople(outcomes.reviewed, hil.approved_by_rule)} sent to people, ${outcomes.denied} denied${ifAny(hil.approved_by_rule, 'approved by a rule')}`,
                      ],
                      [
                        'People',
                        `${hil.approved} approved, ${hil.denied} denied, ${hil.expired} not decided in time, ${hil.pending} waiting${ifAny(hil.changed_then_denied, 'changed and then denied by policy')}${ifAny(hil.withdrawn, 'withdrawn by the agent')}${ifAny(hil.denied_by_gate, 'denied by Gate')}`,
                      ],
                      [
                        'Tools',
                        <Foreign
                          text={tools.map(({ tool_name, count }) => `${tool_name} ${count}`).join(', ') || 'none'}
                        />,
                      ],
                    ]}
                  />
                  {deny_reasons.length > 0 && (
                    <section aria-labelledby="denied">
                      <h2 id="denied">Why it was denied</h2>
                      <ul>
                        {deny_reasons.map(({ reason, count, sample_seq }) => (
                          <li key={reason}>
                            {count} × <Foreign text={reason} /> <a href={rowsOf(sample_seq)}>#{sample_seq}</a>
                          </li>
                        ))}
                      </ul>
                    </section>
                  )}
                  {notable.length > 0 && (
                    <section aria-labelledby="notable">
                      <h2 id="notable">Notable</h2>
                      <Table label="Notable rows" cards heads={[{ number: 'Row' }, 'When', 'What']}>
                        {notable.map(({ seq, at, summary, correlation_id }) => (
                          <tr key={seq}>
                            <Count head="row">{seq}</Count>
                            <td>
                              <Time iso={at} nowMs={nowMs} />
                            </td>
                            <td class="lead">
                              <Said text={summary} />{' '}
                              {correlation_id && <a href={callAddress(correlation_id)}>its call</a>}
                            </td>
                          </tr>
                        ))}
                      </Table>
                    </section>
                  )}
                </>
              )
            }
          </OrAway>
        </section>
      ),
    };
  },
};
