import type { LedgerEntry } from '../../../contracts/ledger.js';
import { settled } from '../../services.js';
import { Empty, Foreign, Id, OrAway, Time } from '../../ui/parts.js';
import type { Page } from '../../visit.js';

const ROWS = 100;
const FIELDS = ['agent', 'verdict', 'methods', 'from', 'to'] as const;

/** Rows of the ledger, newest first; what is looked for stands in the address. */
export const AUDIT: Page = {
  path: '/audit',
  role: 'viewer',
  nav: { label: 'Audit', key: 'a' },
  async show({ query, services, nowMs }) {
    const asked = Object.fromEntries(FIELDS.flatMap((field) => (query[field] ? [[field, query[field]]] : [])));
    const before = /^\d{1,15}$/.test(query['before'] ?? '') ? Number(query['before']) : undefined;
    const rows = await settled(
      'The ledger',
      services.ledger.rows({ agent: '*', ...asked, limit: ROWS, ...(before !== undefined && { before }) }),
    );
    return {
      title: 'Audit',
      body: (
        <section class="audit">
          <h1>Audit</h1>
          <form class="filter" method="get" action="/audit" role="search">
            <label>
              Agent <input name="agent" value={query['agent'] ?? ''} placeholder="* for any characters" data-search />
            </label>
            <label>
              Verdict <input name="verdict" value={query['verdict'] ?? ''} placeholder="allow, deny, park" />
            </label>
            <label>
              From <input name="from" value={query['from'] ?? ''} placeholder="2026-01-02T03:04:05Z" />
            </label>
            <label>
              To <input name="to" value={query['to'] ?? ''} placeholder="2026-01-03T00:00:00Z" />
            </label>
            <button type="submit">Show</button>
          </form>
          <OrAway of={rows}>
            {(found) =>
              found.length === 0 ? (
                <Empty>No rows. Take the filter away, or let an agent call something.</Empty>
              ) : (
                <>
                  <Rows rows={found} nowMs={nowMs} />
                  {found.length === ROWS && (
                    <p>
                      <a href={`/audit?${new URLSearchParams({ ...asked, before: String(found.at(-1)?.seq) }).toString()}`} rel="next">
                        Older
                      </a>
                    </p>
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

const Rows = ({ rows, nowMs }: { readonly rows: readonly LedgerEntry[]; readonly nowMs: number }) => (
  <div class="scrolls" tabIndex={0} role="region" aria-label="Rows">
    <table class="rows">
      <thead>
        <tr>
          <th scope="col" class="number">
            Row
          </th>
          <th scope="col">When</th>
          <th scope="col">What</th>
          <th scope="col">Agent</th>
          <th scope="col">Tool</th>
          <th scope="col">Outcome</th>
          <th scope="col">Call</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td class="number">{row.seq}</td>
            <td>
              <Time iso={row.timestamp} nowMs={nowMs} />
            </td>
            <td>
              <code>{row.event_kind ?? row.method}</code>
            </td>
            <td>
              <Foreign text={row.agent_id} />
            </td>
            <td>{row.tool_type && <Foreign text={row.tool_type} />}</td>
            <td>{typeof row.policy_decision?.['outcome'] === 'string' && <span class={`tag ${row.policy_decision['outcome']}`}>{row.policy_decision['outcome']}</span>}</td>
            <td>{row.correlation_id && <a href={`/audit/correlation/${row.correlation_id}`}><Id id={row.correlation_id} short /></a>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
