import type { ComponentChildren } from 'preact';
import { LONGEST_TITLE } from '../../../contracts/cases.js';
import type { Hunt } from '../../../contracts/ledger-reports.js';
import { escapedInPath } from '../../../domain/name-in-path.js';
import { settled, type Settled } from '../../services.js';
import { addressOf, callAddress } from '../../ui/addresses.js';
import { Choice, Kinds, Signal, Window } from '../../ui/fields.js';
import { Count, Csrf, Empty, Folded, Foreign, Id, OrAway, RequestId, Table, Time } from '../../ui/parts.js';
import { windowAsked } from '../../ui/windows.js';
import { asRefused, type Page, type Visit } from '../../visit.js';
import { asked, asksFor } from '../audit/asked.js';

const AGENTS = 100;

/** The agents behind the rows that fit: gravest signal first. */
export const HUNT: Page = {
  path: '/audit/hunt',
  role: 'viewer',
  async show({ query: address, services, nowMs, csrf, mayPost }) {
    const maySelect = mayPost('/cases');
    const said = asked(address);
    const { methods, signal } = said;
    const authorized = said.authorized === 'true' || said.authorized === 'false' ? said.authorized : undefined;
    let refused: ReturnType<typeof asRefused> | null = null;
    let found: Settled<Hunt> | null = null;
    try {
      const window = windowAsked(said.window || said.from || said.to ? said : { window: '24h' }, nowMs);
      found = await settled(
        'ledger',
        services.ledger.hunt({ method: methods, signal, authorized, ...window, limit: AGENTS }),
      );
    } catch (error) {
      refused = asRefused(error);
    }
    return {
      title: 'Hunt',
      ...refused,
      body: (
        <section class="audit">
          <h1>Hunt</h1>
          <p class="dim">
            The agents behind the rows that fit, gravest signal first, and what of Gate itself wrote such rows, marked.
            Without a window: the last 24 hours.
          </p>
          <Folded id="filters" label="Filters" asks={asksFor(said)}>
            <form class="filter" method="get" action="/audit/hunt" role="search">
              <Kinds name="methods" value={methods} />
              <Signal value={signal} />
              <Choice
                label="Authorized"
                name="authorized"
                value={authorized}
                any="either"
                of={[
                  ['false', 'no'],
                  ['true', 'yes'],
                ]}
              />
              <Window
                asked={{ ...said, window: said.window ?? (said.from || said.to ? undefined : '24h') } as typeof said}
              />
              <button type="submit">Hunt</button>
            </form>
          </Folded>
          {found && (
            <OrAway of={found}>
              {({ agents }) =>
                agents.length === 0 ? (
                  <Empty>Nobody. Take a condition away, or a longer window.</Empty>
                ) : (
                  <Selection csrf={maySelect ? csrf : null}>
                    <Table
                      label="Agents"
                      cards
                      heads={[
                        ...(maySelect ? ['Into a case'] : []),
                        'Agent',
                        { number: 'Rows' },
                        { number: 'Denied' },
                        'Gravest signal',
                        'Latest',
                        'Call',
                        'Events',
                      ]}
                    >
                      {agents.map((agent) => (
                        <tr key={agent.agent_id}>
                          {maySelect && (
                            <td class="lead first">
                              {agent.principal === 'agent' && (
                                <label class="pick">
                                  <input type="checkbox" name="ticked" value={escapedInPath(agent.agent_id)} />
                                  <span class="vh">
                                    <Foreign text={agent.agent_id} /> into a case
                                  </span>
                                </label>
                              )}
                            </td>
                          )}
                          <th scope="row" class="lead">
                            <a
                              href={addressOf('/audit', {
                                agent: agent.agent_id,
                                methods,
                                signal: said.signal,
                                window: said.window ?? (said.from || said.to ? undefined : '24h'),
                                from: said.from,
                                to: said.to,
                              })}
                            >
                              <Foreign text={agent.agent_id} />
                            </a>{' '}
                            <Own of={agent} />
                          </th>
                          <Count head="rows">{agent.hit_count}</Count>
                          <Count head="denied">{agent.deny_count}</Count>
                          <td class="lead">{agent.worst_signal && <Foreign text={agent.worst_signal} />}</td>
                          <td>
                            <Time iso={agent.latest_hit_ts} nowMs={nowMs} />
                          </td>
                          <td>
                            {agent.latest_correlation_id && (
                              <a href={callAddress(agent.latest_correlation_id)}>
                                <Id id={agent.latest_correlation_id} short />
                              </a>
                            )}
                          </td>
                          <td>
                            <Foreign text={agent.methods.slice(0, 8).join(', ')} />
                            {agent.methods.length > 8 && ` and ${agent.methods.length - 8} more`}
                          </td>
                        </tr>
                      ))}
                    </Table>
                    {agents.length === AGENTS && (
                      <p class="dim">The first {AGENTS}; a narrower question shows the others.</p>
                    )}
                  </Selection>
                )
              }
            </OrAway>
          )}
          <p>
            <a href="/audit">All rows</a>
          </p>
        </section>
      ),
    };
  },
};

type Found = Hunt['agents'][number];

/** What is no agent says so, and goes into no case. */
const Own = ({ of: { principal } }: { readonly of: Found }) =>
  principal === 'agent' ? null : <span class="tag none">{principal === 'service' ? 'service of Gate' : 'tenant'}</span>;

/** What was found, to be ticked for a case by who may open one. */
const Selection = ({
  csrf,
  children,
}: {
  readonly csrf: Visit['csrf'] | null;
  readonly children: ComponentChildren;
}) =>
  csrf === null ? (
    <>{children}</>
  ) : (
    <form method="post" action="/cases">
      <Csrf token={csrf} />
      <RequestId />
      {children}
      <p class="filter">
        <label>
          Title of the case <input name="title" required maxLength={LONGEST_TITLE} />
        </label>
        <button type="submit">Open a case of those ticked</button>
      </p>
    </form>
  );
