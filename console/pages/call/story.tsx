import type { LedgerEntry } from '../../../contracts/ledger.js';
import { reportRowOf } from '../../../domain/evidence/reports/report-rows.js';
import { changesIn, summaryOf } from '../../../domain/evidence/reports/summaries.js';
import { shownJson } from '../../../domain/shown-json.js';
import { spanTold } from '../../../domain/time-told.js';
import { addressOf, callAddress } from '../../ui/addresses.js';
import { Outcome } from '../../ui/entries.js';
import { Foreign, ForeignBlock, Id, Said, Time } from '../../ui/parts.js';
import { MOST_CHARACTERS } from './rows.js';

/** Rows that the page tells; a call has a few, and one that was tried again and again has them all in the JSON. */
const MOST_ROWS = 200;

const checking = (seq: string | number | undefined): string =>
  `npx gate verify --bundle gate-proof-${seq}.json --key log.vkey`;

/** What happened, row by row in the order of the chain. */
export const Story = ({
  id,
  rows,
  nowMs,
}: {
  readonly id: string;
  readonly rows: readonly LedgerEntry[];
  readonly nowMs: number;
}) => (
  <section class="wide" aria-labelledby="story">
    <h2 id="story">What happened</h2>
    <ol class="story timed">
      {rows.slice(0, MOST_ROWS).map((row, at) => (
        <Step key={row.id} id={id} row={row} before={rows[at - 1]} nowMs={nowMs} />
      ))}
    </ol>
    {rows.length > MOST_ROWS && <p class="notice">{rows.length - MOST_ROWS} more rows are in the JSON.</p>}
    <p class="dim">
      <a href={`/api/audit/correlation/${id}`}>All rows as JSON</a>. A proof is checked on any machine, with neither
      this console nor the network; that of row {rows.at(-1)?.seq} with{' '}
      <code data-copy={checking(rows.at(-1)?.seq)}>{checking(rows.at(-1)?.seq)}</code>, where <code>log.vkey</code> has
      the log's key, its verifier key or its public key in PEM, which you have from elsewhere than the proof (
      <code>docs/how-to/prove-a-row.md</code>). <code data-copy="npx gate verify">npx gate verify</code> walks the whole
      chain.
    </p>
  </section>
);

function Step({
  id,
  row,
  before,
  nowMs,
}: {
  readonly id: string;
  readonly row: LedgerEntry;
  readonly before: LedgerEntry | undefined;
  readonly nowMs: number;
}) {
  const later = before ? Date.parse(row.timestamp) - Date.parse(before.timestamp) : 0;
  const changes = row.event_kind === 'hil.modified' ? null : changesIn(row.policy_decision);
  return (
    <li>
      <p>
        <Said text={summaryOf(reportRowOf(row))} /> <Outcome row={row} />
      </p>
      {changes && (
        <p>
          Changed: <Foreign text={changes} />
        </p>
      )}
      <p class="dim">
        <Time iso={row.timestamp} nowMs={nowMs} /> {before && <>+{later < 10_000 ? `${later} ms` : spanTold(later)} </>}
        <code>
          <Foreign text={row.event_kind ?? row.method} />
        </code>{' '}
        {row.decided_by && (
          <>
            by <Foreign text={row.decided_by} />{' '}
          </>
        )}
        row {row.seq} <Id id={row.entry_hash} short />{' '}
        <a href={addressOf(callAddress(id, 'proof'), { seq: row.seq })} download>
          proof
        </a>
      </p>
      {row.policy_decision && (
        <details>
          <summary>What the row says</summary>
          <ForeignBlock text={shownJson(row.policy_decision, MOST_CHARACTERS).text} label={`Row ${row.seq}`} />
        </details>
      )}
    </li>
  );
}
