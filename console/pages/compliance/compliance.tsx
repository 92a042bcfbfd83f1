import type { ComplianceControl, ComplianceRegister } from '../../../contracts/compliance.js';
import { GateError } from '../../../domain/errors.js';
import { settled, type Settled } from '../../services.js';
import { addressOf } from '../../ui/addresses.js';
import { Facts, Foreign, OrAway, Table, Time } from '../../ui/parts.js';
import { exactWindow } from '../../ui/windows.js';
import { asRefused, type Page } from '../../visit.js';

const DAY_MS = 86_400_000;

/** Counts and samples of logged facts by control. It judges nothing: no log can know whether they suffice. */
export const COMPLIANCE: Page = {
  of: 'exports',
  path: '/compliance',
  role: 'viewer',
  async show({ query, services, nowMs }) {
    const asked = { from: query['from']?.trim() ?? '', to: query['to']?.trim() ?? '' };
    let register: Settled<ComplianceRegister> | null = null;
    let refused: ReturnType<typeof asRefused> | null = null;
    try {
      if (asked.from !== '' || asked.to !== '') {
        const window = exactWindow(asked.from, asked.to);
        if (window === null) throw new GateError('invalid_window', 'name both ends: from and to');
        register = await settled('ledger', services.ledger.compliance(window));
      }
    } catch (error) {
      refused = asRefused(error);
    }
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    return {
      title: 'Compliance register',
      ...refused,
      body: (
        <section class="compliance">
          <h1>What the log holds by control</h1>
          <p class="dim">
            Counts and samples of logged facts of your tenant, for somebody who judges. The register says whether there
            are any, never whether they suffice. The whole chain is walked first, which takes as long as it has rows.
          </p>
          <form class="filter" method="get" action="/compliance">
            <label>
              From{' '}
              <input
                name="from"
                required
                value={asked.from || day(nowMs - 30 * DAY_MS)}
                placeholder="2026-01-02 03:04"
              />
            </label>
            <label>
              to <input name="to" required value={asked.to || day(nowMs + DAY_MS)} placeholder="UTC, not included" />
            </label>
            <button type="submit">Count</button>
          </form>
          {register && <OrAway of={register}>{(found) => <Register of={found} nowMs={nowMs} />}</OrAway>}
        </section>
      ),
    };
  },
};

function Register({ of, nowMs }: { readonly of: ComplianceRegister; readonly nowMs: number }) {
  const { chain_verify: chain, window } = of;
  return (
    <div class="timed">
      <Facts
        of={[
          ['Counted', <Time iso={of.generated_at} nowMs={nowMs} />],
          ['From', <Time iso={window.from} nowMs={nowMs} />],
          ['To, not included', <Time iso={window.to} nowMs={nowMs} />],
          ['Rows', String(of.row_count)],
          [
            'Chain',
            chain.valid
              ? `${chain.entries_checked} rows walked, each as it was appended`
              : `a fault at row ${chain.first_invalid_seq}`,
          ],
          [
            'Signatures',
            chain.nothing_signed
              ? 'no row is signed'
              : `${chain.verified_signed_rows} of ${chain.signed_rows} verified`,
          ],
          ['Time stamps', `${chain.tsa_verified} verified, ${chain.tsa_failed} failed`],
        ]}
      />
      <p class="notice">{of.disclaimer}</p>
      <Table label="Controls" heads={['Control', 'Framework', 'Log', 'Counts', 'Samples']}>
        {of.controls.map((control) => (
          <Control key={control.control_id} of={control} />
        ))}
      </Table>
    </div>
  );
}

const Control = ({ of }: { readonly of: ComplianceControl }) => (
  <tr>
    <th scope="row">
      {of.title}
      <p class="dim">
        <code>{of.control_id}</code> {of.narrative}
      </p>
    </th>
    <td>{of.framework}</td>
    <td>
      <span class={`tag ${of.status === 'observed' ? 'allow' : 'none'}`}>
        {of.status === 'observed' ? 'observed' : 'no data'}
      </span>
    </td>
    <td>
      <ul class="plain">
        {Object.entries(of.metric).map(([name, value]) => (
          <li key={name}>
            {name.replaceAll('_', ' ')}: <Foreign text={metricTold(value)} />
          </li>
        ))}
      </ul>
    </td>
    <td>
      {of.sample_seqs.map((seq) => (
        <span key={seq}>
          <a href={addressOf('/audit', { before: seq + 1 })}>{seq}</a>{' '}
        </span>
      ))}
    </td>
  </tr>
);

const metricTold = (value: ComplianceControl['metric'][string]): string =>
  typeof value === 'object'
    ? Object.entries(value)
        .map(([name, count]) => `${name} ${count}`)
        .join(', ') || 'none'
    : String(value);
