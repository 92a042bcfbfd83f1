import type { ComponentChildren } from 'preact';
import type { LedgerEntry } from '../../contracts/ledger.js';
import { Count, Foreign, Id, Said, Table, Time } from './parts.js';
import { callAddress } from './addresses.js';

/** Rows of the ledger as a table, one row each. `agent` is what stands for who it is about. */
export const Entries = ({
  label,
  rows,
  nowMs,
  agent = ({ agent_id }) => <Foreign text={agent_id} />,
}: {
  readonly label: string;
  readonly rows: readonly LedgerEntry[];
  readonly nowMs: number;
  readonly agent?: (row: LedgerEntry) => ComponentChildren;
}) => (
  <Table label={label} cards heads={[{ number: 'Row' }, 'When', 'What', 'Agent', 'Tool', 'Outcome', 'Call']}>
    {rows.map((row) => (
      <tr key={row.id}>
        <Count head="row">{row.seq}</Count>
        <td>
          <Time iso={row.timestamp} nowMs={nowMs} />
        </td>
        <td>
          <code>
            <Foreign text={row.event_kind ?? row.method} />
          </code>
        </td>
        <td class="lead">{agent(row)}</td>
        <td class="lead">{row.tool_type && <Foreign text={row.tool_type} />}</td>
        <td class="lead first">
          <Outcome row={row} />
        </td>
        <td>
          {row.correlation_id && (
            <a href={callAddress(row.correlation_id)}>
              <Id id={row.correlation_id} short />
            </a>
          )}
        </td>
      </tr>
    ))}
  </Table>
);

/** What rows say in a word, in the words of the filter of the audit and of the pages of agents. */
const OUTCOMES: Readonly<Record<string, string>> = {
  allow: 'allowed',
  park: 'sent to a person',
  deny: 'denied',
  rate_limited: 'over a limit',
};

/** The outcome of a verdict, or how far an execution came. */
export function Outcome({ row: { policy_decision: decision } }: { readonly row: LedgerEntry }) {
  const said = decision?.['outcome'] ?? decision?.['stage'];
  if (typeof said !== 'string') return null;
  const tone = { completed: 'allow', failed: 'deny', uncertain: 'park', rate_limited: 'deny' }[said] ?? said;
  return (
    <span class={`tag said ${/^[a-z_]{1,32}$/.test(tone) ? tone : ''}`}>
      <Said text={Object.hasOwn(OUTCOMES, said) ? (OUTCOMES[said] ?? '') : said} />
    </span>
  );
}
