import type { LedgerEntry } from '../../../contracts/ledger.js';
import { type RowsQuery, type Settled, settled } from '../../services.js';
import { addressOf } from '../../ui/addresses.js';
import { Chain } from '../../ui/chain.js';
import { Entries } from '../../ui/entries.js';
import { Choice, Kinds, Signal, Window } from '../../ui/fields.js';
import { Empty, Folded, Foreign, OrAway } from '../../ui/parts.js';
import { asRefused, type Page } from '../../visit.js';
import { narrativeAddress } from '../agents/address.js';
import { asked, asksFor, assertAsked, NAMES, placeAsked, ROWS_ALSO, rowsAsked } from './asked.js';
import { type Found, searched } from './search.js';
import { Searches } from './searches.js';

const ROWS = 100;
const VERDICTS = [
  ['allow', 'allowed'],
  ['park', 'sent to a person'],
  ['deny', 'denied'],
  ['rate_limited', 'over a limit'],
] as const;

const NO_PLACE = {
  kind: 'bad',
  text: 'These rows have no such place as this address names. The newest are shown (invalid_cursor).',
} as const;

/** Rows of the ledger, newest first; what is looked for stands in the address. */
export const AUDIT: Page = {
  path: '/audit',
  role: 'viewer',
  nav: { label: 'Audit', key: 'a' },
  async show({ query: address, twice, services, nowMs, csrf }) {
    const kept = settled('store', services.searches.list());
    const said = asked(address);
    const chain = settled('ledger', services.ledger.chain());
    let refused: ReturnType<typeof asRefused> | null = null;
    let rows: Settled<Found> = { ok: true, value: { rows: [], lookedDownTo: null } };
    let query: Pick<RowsQuery, 'before' | 'from' | 'to'> = {};
    try {
      assertAsked(Object.keys(address), twice, [...NAMES, ...ROWS_ALSO]);
      const wanted = rowsAsked(address, nowMs);
      query = wanted;
      rows = await settled('ledger', searched(services.ledger, { ...wanted, limit: ROWS }));
    } catch (error) {
      refused = asRefused(error);
    }
    const isNewest = query.before === undefined && query.to === undefined;
    const one = said.agent !== undefined && !said.agent.includes('*') ? said.agent : null;
    return {
      title: 'Audit',
      ...(placeAsked(address) === null && { notice: NO_PLACE }),
      ...refused,
      body: (
        <section class="audit">
          <h1>Audit</h1>
          <Chain of={await chain} nowMs={nowMs} />
          <Folded id="filters" label="Find, filter" asks={asksFor(said)}>
            <form class="filter" method="get" action="/audit/correlation" role="search" aria-label="A call by its id">
              <label>
                Call <input name="id" required size={36} placeholder="the id that its agent was told" />
              </label>
              <button type="submit">Open</button>
            </form>
            <form class="filter" method="get" action="/audit" role="search" aria-label="Rows">
              <label>
                Agent <input name="agent" value={said.agent ?? ''} placeholder="* for any characters" data-search />
              </label>
              <Choice label="Verdict" name="verdict" value={said.verdict} any="any" of={VERDICTS} />
              <Kinds name="methods" value={said.methods} />
              <label>
                Tool <input name="tool" value={said.tool ?? ''} size={16} />
              </label>
              <Signal value={said.signal} />
              <Window asked={said} />
              <button type="submit">Show</button> <a href="/audit">Clear</a>
            </form>
          </Folded>
          <p>
            <a
              href={addressOf('/audit/hunt', {
                signal: said.signal,
                window: said.window,
                from: said.from,
                to: said.to,
              })}
            >
              Hunt: who is behind it
            </a>
            {one !== null && (
              <>
                ,{' '}
                <a href={narrativeAddress(one)}>
                  what <Foreign text={one} /> did, told
                </a>
              </>
            )}
            {refused === null && (
              <>
                ,{' '}
                <a href={addressOf('/audit/export', { ...said, before: query.before })} download>
                  these rows as JSON lines
                </a>
                ,{' '}
                <a href={addressOf('/audit/export', { ...said, before: query.before, as: 'csv' })} download>
                  as CSV
                </a>
              </>
            )}
            {said.window !== undefined && query.from !== undefined && (
              <>
                ,{' '}
                <a
                  href={addressOf('/audit', {
                    ...said,
                    window: undefined,
                    from: query.from,
                    to: new Date(nowMs).toISOString(),
                  })}
                >
                  this window for good
                </a>
              </>
            )}
          </p>
          <Searches kept={await kept} asked={said} mayKeep={refused === null} csrf={csrf} />
          <OrAway of={rows}>
            {({ rows: found, lookedDownTo }) => (
              <div {...(isNewest && !refused && { 'data-tail': '/stream/audit' })}>
                <p class="live dim" role="status" aria-live="polite" data-tail-status />
                <div class="timed" data-tail-rows data-newest={found[0]?.seq ?? 0}>
                  {found.length === 0 && lookedDownTo === null ? (
                    refused === null && <Empty>No rows. Take the filter away, or let an agent call something.</Empty>
                  ) : (
                    <Entries label="Rows" rows={found} nowMs={nowMs} agent={agentLink} />
                  )}
                </div>
                <p>
                  {query.before !== undefined && <a href={addressOf('/audit', said)}>Newest</a>}{' '}
                  {found.length === ROWS && (
                    <a href={addressOf('/audit', { ...said, before: found.at(-1)?.seq })} rel="next">
                      Older
                    </a>
                  )}
                  {lookedDownTo !== null && (
                    <>
                      {found.length === 0 ? 'None' : 'No more'} down to row {lookedDownTo}, where this search ends.{' '}
                      <a href={addressOf('/audit', { ...said, before: lookedDownTo })} rel="next">
                        Look further back
                      </a>
                    </>
                  )}
                </p>
              </div>
            )}
          </OrAway>
        </section>
      ),
    };
  },
};

/** Whose row it is leads to all of them. */
const agentLink = ({ agent_id: agent }: LedgerEntry) => (
  <a href={addressOf('/audit', { agent })}>
    <Foreign text={agent} />
  </a>
);
