import type { LedgerEntry } from '../../../contracts/ledger.js';
import { settled } from '../../services.js';
import { Empty, Facts, Foreign, ForeignBlock, Id, OrAway, Time } from '../../ui/parts.js';
import type { Page } from '../../visit.js';

/** The story of one call, from the rows of the ledger, in the order of the chain. */
export const CALL: Page = {
  path: '/audit/correlation/:cid',
  role: 'viewer',
  async show({ params, services, nowMs }) {
    const id = params['cid'] ?? '';
    const rows = await settled('The ledger', services.ledger.call(id));
    return {
      title: `Call ${id.slice(0, 8)}`,
      ...(rows.ok && rows.value.length === 0 && { status: 404 }),
      body: (
        <section class="call">
          <h1>
            Call <Id id={id} />
          </h1>
          <OrAway of={rows}>
            {(found) =>
              found.length === 0 ? (
                <Empty>The ledger has no row of this call in your tenant.</Empty>
              ) : (
                <>
                  <ol class="story">
                    {found.map((row, at) => (
                      <Step key={row.id} row={row} before={found[at - 1]} nowMs={nowMs} />
                    ))}
                  </ol>
                  <p class="dim">
                    <code>npx gate verify</code> walks the whole chain; <code>npx gate prove {found[0]?.seq}</code> writes a proof of one row that is
                    checked without Gate.
                  </p>
                </>
              )
            }
          </OrAway>
        </section>
      ),
    };
  },
};

function Step({ row, before, nowMs }: { readonly row: LedgerEntry; readonly before: LedgerEntry | undefined; readonly nowMs: number }) {
  const decision = row.policy_decision;
  const outcome = typeof decision?.['outcome'] === 'string' ? decision['outcome'] : null;
  const later = before ? Date.parse(row.timestamp) - Date.parse(before.timestamp) : 0;
  return (
    <li>
      <h2>
        <code>{row.event_kind ?? row.method}</code> {outcome && <span class={`tag ${outcome}`}>{outcome}</span>}
      </h2>
      <p>
        <Time iso={row.timestamp} nowMs={nowMs} /> {before && <span class="dim">+{later} ms</span>}
      </p>
      <p>
        <Foreign text={row.reasoning} />
      </p>
      <Facts
        of={[
          ['Agent', <Foreign text={row.agent_id} />],
          ...(row.tool_type ? [['Tool', <Foreign text={row.tool_type} />] as const] : []),
          ...(row.decided_by ? [['Decided by', <Foreign text={row.decided_by} />] as const] : []),
          ['Row', <>{row.seq} <Id id={row.entry_hash} short /></>],
        ]}
      />
      {decision && (
        <details>
          <summary>What the row says</summary>
          <ForeignBlock text={JSON.stringify(decision, null, 2)} label={`Row ${row.seq}`} />
        </details>
      )}
    </li>
  );
}
