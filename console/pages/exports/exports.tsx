import type { ExportRecord } from '../../../contracts/ledger-export.js';
import { GateError } from '../../../domain/errors.js';
import { settled, type Settled } from '../../services.js';
import { Csrf, Empty, Foreign, Id, OrAway, Table, Time } from '../../ui/parts.js';
import { exactWindow } from '../../ui/windows.js';
import type { Action, Form, Page, Shown, Visit } from '../../visit.js';

const SHOWN = 100;

/** What leaves the ledger as a file: copies for analytic readers, a signed archive for auditors, rows. */
export const EXPORTS: Page = {
  of: 'exports',
  path: '/exports',
  role: 'viewer',
  nav: { label: 'Exports', key: 'x' },
  show: (visit) => exportsShown(visit),
};

/** Copies the oldest rows that are old enough. */
export const EXPORT_NOW: Action = {
  of: 'exports',
  path: '/exports/run',
  role: 'admin',
  does: 'copy old rows to the cold tier',
  written: {},
  async act({ services }) {
    const pass = await services.ledger.exportNow();
    return pass === 'NothingToExport' ? '/exports?came=nothing' : `/exports?came=${pass.Wrote.snapshot_id}`;
  },
  refused: exportsShown,
};

/** Sends the signed archive of a window. */
export const REGULATORY: Action = {
  of: 'exports',
  path: '/exports/regulatory',
  role: 'admin',
  does: 'take a signed archive of the tenant’s rows',
  written: { from: 'From', to: 'To', documentation: 'Documentation' },
  async act({ services }, form) {
    const isTicked = (name: string) => form.get(name) === 'yes';
    return services.ledger.regulatory({
      ...windowIn(form),
      includeExports: isTicked('exports'),
      includeCompliance: isTicked('compliance'),
      annexIv: isTicked('annex'),
      postMarketPlan: isTicked('plan'),
      documentation: form.get('documentation').trim(),
    });
  },
  refused: exportsShown,
};

function windowIn(form: Form): { readonly from: string; readonly to: string } {
  const window = exactWindow(form.get('from'), form.get('to'));
  if (window === null)
    throw new GateError('invalid_window', 'name both ends: from and to, as 2026-01-02 03:04, in UTC');
  return window;
}

async function exportsShown({ services, mayPost, csrf, query, nowMs }: Visit, form?: Form): Promise<Shown> {
  const done = await settled('ledger', services.ledger.exports());
  const mayExport = mayPost('/exports/run');
  const came = cameTold(query['came'], done);
  return {
    title: 'Exports',
    ...(came && { notice: { kind: 'good', text: came } as const }),
    body: (
      <section class="exports">
        <h1>Exports</h1>
        <section aria-labelledby="rows">
          <h2 id="rows">Rows of your tenant</h2>
          <p>
            <a href="/audit/export" download>
              JSON lines
            </a>{' '}
            or{' '}
            <a href="/audit/export?as=csv" download>
              CSV
            </a>
            , newest first, 50,000 at most; the last line says whether they are all. For a part of them ask at{' '}
            <a href="/audit">the audit</a>, which has both for what it shows.
          </p>
        </section>
        <section aria-labelledby="archive">
          <h2 id="archive">Archive for an auditor</h2>
          <p>
            The rows of your tenant in a window, signed, to be checked without Gate. The window holds its beginning and
            ends before its end, both in UTC. Whoever gets it checks it with{' '}
            <code data-copy={CHECKING}>{CHECKING}</code> and the public half of <code>GATE_LEDGER_EXPORT_KEY_FILE</code>
            , which comes by another way than the archive (<code>docs/how-to/check-a-regulatory-bundle.md</code>).{' '}
            <a href="/compliance">What the log holds by control</a> is a page of its own.
          </p>
          {mayExport ? <Regulatory csrf={csrf} form={form} /> : <p class="dim">An administrator takes it.</p>}
        </section>
        <section aria-labelledby="copies">
          <h2 id="copies">Copies for analytic readers</h2>
          <p class="dim">
            Old rows of the whole chain, of every tenant, as a table of Parquet files; no row leaves the chain by it.
          </p>
          {mayExport && (
            <form method="post" action="/exports/run">
              <Csrf token={csrf} />
              <p>
                It copies every row, <strong>of every tenant</strong>, that was not copied before and is older than{' '}
                <code>GATE_LEDGER_EXPORT_RETENTION_SECS</code> of the ledger says: all rows there are, where that is not
                set.
              </p>
              <button type="submit">Copy rows of every tenant now</button>
            </form>
          )}
          <OrAway of={done}>
            {(records) =>
              'noPlace' in records ? (
                <Empty>
                  <Foreign text={records.noPlace} />
                </Empty>
              ) : records.length === 0 ? (
                <Empty>
                  Nothing was copied yet: rows are copied when they are old enough, to where the ledger's settings say.
                </Empty>
              ) : (
                <Copies records={records} showsPlace={mayExport} nowMs={nowMs} />
              )
            }
          </OrAway>
        </section>
      </section>
    ),
  };
}

/** What the last copy did. An address that somebody else made up tells of no copy that the ledger does not have. */
function cameTold(
  came: string | undefined,
  done: Settled<Awaited<ReturnType<Visit['services']['ledger']['exports']>>>,
) {
  if (came === 'nothing') return 'No row is old enough that was not copied before.';
  if (!done.ok || 'noPlace' in done.value) return null;
  const record = done.value.find(({ snapshot_id }) => snapshot_id === came);
  return record === undefined ? null : (
    <>
      Copied. Snapshot <Id id={record.snapshot_id} />.
    </>
  );
}

/** The name of the archive is what the browser saved it as. */
const CHECKING = 'npx gate verify --bundle ARCHIVE.tar.gz --key ledger-export.pub';

const OPTIONS = [
  ['compliance', 'the register of what the log holds by control'],
  ['exports', 'the records of the copies that hold rows of the window'],
  ['annex', 'documentation after Annex IV'],
  ['plan', 'a plan to monitor after placing on the market (article 72)'],
] as const;

const Regulatory = ({ csrf, form }: { readonly csrf: string; readonly form: Form | undefined }) => (
  <form method="post" action="/exports/regulatory" class="sheet" data-file>
    <Csrf token={csrf} />
    <p class="filter">
      <label>
        From <input name="from" required placeholder="2026-01-02 03:04" value={form?.get('from') ?? ''} size={18} />
      </label>
      <label>
        to <input name="to" required placeholder="UTC, not included" value={form?.get('to') ?? ''} size={18} />
      </label>
    </p>
    <fieldset>
      <legend>With</legend>
      {OPTIONS.map(([name, words]) => (
        <label key={name}>
          <input type="checkbox" name={name} value="yes" checked={form?.get(name) === 'yes'} /> {words}
        </label>
      ))}
    </fieldset>
    <label>
      Your own documentation, Markdown; it is included as it is
      <textarea name="documentation" rows={4} value={form?.get('documentation') ?? ''} />
    </label>
    <p>
      <button class="act" type="submit">
        Make the archive
      </button>
    </p>
  </form>
);

const Copies = ({
  records,
  showsPlace,
  nowMs,
}: {
  readonly records: readonly ExportRecord[];
  readonly showsPlace: boolean;
  readonly nowMs: number;
}) => (
  <>
    <Table
      label="Copies"
      heads={[
        'Written',
        { number: 'Rows' },
        'From row to row',
        { number: 'Bytes' },
        'SHA-256',
        ...(showsPlace ? ['File'] : []),
      ]}
    >
      {records.slice(0, SHOWN).map((record) => (
        <tr key={record.snapshot_id}>
          <td>
            <Time iso={record.written_at} nowMs={nowMs} />
          </td>
          <td class="number">{record.row_count}</td>
          <td>
            {record.seq_lo} to {record.seq_hi}
          </td>
          <td class="number">{record.byte_size}</td>
          <td>
            <Id id={record.data_sha256} short />
          </td>
          {showsPlace && (
            <td>
              <Foreign text={record.data_uri} />
            </td>
          )}
        </tr>
      ))}
    </Table>
    {records.length > SHOWN && (
      <p class="dim">
        The newest {SHOWN} of {records.length}.
      </p>
    )}
  </>
);
