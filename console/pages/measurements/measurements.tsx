import { z } from 'zod';
import { type Measurement, MEASUREMENTS_LISTED } from '../../../contracts/attestation.js';
import { GateError } from '../../../domain/errors.js';
import { oneLine } from '../../../domain/printable.js';
import { addressOf } from '../../ui/addresses.js';
import { Csrf, Empty, Foreign, Table, Time } from '../../ui/parts.js';
import { type Action, type Form, type Page, REASON, type Shown, type Visit } from '../../visit.js';
import { ofIdentity, OrUnknown } from '../stops/known.js';
import { reasonIn, Why } from '../stops/release.js';

/** On one page. */
const SHOWN = 100;

/** What platforms of agents may measure. */
export const MEASUREMENTS: Page = {
  of: 'stops',
  path: '/measurements',
  role: 'viewer',
  show: (visit) => measurementsShown(visit),
};

/** Withdraws an approval. */
export const WITHDRAW_MEASUREMENT: Action = {
  of: 'stops',
  path: '/measurements/withdraw',
  role: 'admin',
  does: 'withdraw the approval of a measurement',
  written: REASON,
  refused: (visit, filled) => measurementsShown(visit, filled),
  async act({ services: { identity } }, filled) {
    const id = filled.get('measurement');
    if (!isId(id)) throw new GateError('not_found', 'There is no such approval: nothing was done.');
    await identity.withdrawMeasurement(id, reasonIn(filled));
    return '/measurements';
  },
};

const isId = (text: string): boolean => z.uuid().safeParse(text).success;

async function measurementsShown(visit: Visit, typed?: Form): Promise<Shown> {
  const { query, services, person } = visit;
  const { after = '' } = query;
  const isFirst = !isId(after);
  const measurements = await ofIdentity(services.identity.measurementsAfter(isFirst ? null : after));
  return {
    title: 'Measurements',
    body: (
      <section class="measurements">
        <h1>Measurements</h1>
        <p class="dim">
          What the platforms of agents of {person.tenant ?? 'all tenants'} may measure. An agent whose platform measures
          anything else is not attested. Those that were withdrawn are in the ledger.
        </p>
        <OrUnknown of={measurements}>
          {(found) => <Listed of={found} isFirst={isFirst} visit={visit} typed={typed} />}
        </OrUnknown>
      </section>
    ),
  };
}

const Listed = ({
  of: found,
  isFirst,
  visit,
  typed,
}: {
  readonly of: readonly Measurement[];
  readonly isFirst: boolean;
  readonly visit: Visit;
  readonly typed: Form | undefined;
}) => {
  const shown = found.slice(0, SHOWN);
  const last = shown.at(-1);
  if (last === undefined) return <Empty>{isFirst ? 'Nobody approved one.' : 'There is no other one.'}</Empty>;
  return (
    <>
      <Table label="Measurements" heads={['Workload', 'Measurement', 'Platform', 'Policies', 'Since', 'By', 'Why']}>
        {shown.map((one) => (
          <tr key={one.id}>
            <th scope="row">
              <Foreign text={one.workload} />
            </th>
            <td>
              <Foreign text={one.measurement_sha256} />
            </td>
            <td>
              <Foreign text={`${one.platform_issuer}, ${one.evidence_kind}, under ${one.trust_anchor_id}`} />
            </td>
            <td>
              <Foreign text={`${one.measurement_policy_version}, ${one.verifier_policy_version}`} />
            </td>
            <td>
              <Time iso={one.approved_at} nowMs={visit.nowMs} />
            </td>
            <td>
              <Foreign text={one.approved_by_sub} />
            </td>
            <td>
              <Foreign text={one.reason} />
            </td>
          </tr>
        ))}
      </Table>
      {found.length > shown.length && (
        <p>
          <a href={addressOf('/measurements', { after: last.id })}>Further ones</a>{' '}
          <span class="dim">
            (there are {found.length - shown.length}
            {found.length === MEASUREMENTS_LISTED && ' at least'})
          </span>
        </p>
      )}
      {visit.mayPost('/measurements/withdraw') && <Withdraw of={shown} visit={visit} typed={typed} />}
    </>
  );
};

const Withdraw = ({
  of: shown,
  visit: { csrf },
  typed,
}: {
  readonly of: readonly Measurement[];
  readonly visit: Visit;
  readonly typed: Form | undefined;
}) => (
  <details open={typed !== undefined}>
    <summary>Withdraw one</summary>
    <form method="post" action="/measurements/withdraw" class="sheet">
      <Csrf token={csrf} />
      <p>
        For good: what was attested by it counts no more, at each proxy within five minutes. The same measurement is
        approved again under another version alone.
      </p>
      <label>
        Measurement
        <select name="measurement">
          {shown.map((one) => (
            <option key={one.id} value={one.id} selected={typed?.get('measurement') === one.id}>
              {oneLine(`${one.workload}, ${one.measurement_policy_version}: ${one.measurement_sha256}`)}
            </option>
          ))}
        </select>
      </label>
      <Why typed={typed?.get('reason') ?? ''} />
      <p>
        <button class="destroy" type="submit">
          Withdraw it
        </button>
      </p>
    </form>
  </details>
);
