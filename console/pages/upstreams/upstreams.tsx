import { newUpstream, type UpstreamRecord } from '../../../contracts/upstreams.js';
import { GateError } from '../../../domain/errors.js';
import { Csrf, Empty, Foreign, Table, Time } from '../../ui/parts.js';
import { type Action, type Form, type Page, REASON, type Shown, type Visit } from '../../visit.js';
import { ofIdentity, OrUnknown } from '../stops/known.js';
import { reasonOr, Why } from '../stops/release.js';

/** The servers of tools for which somebody vouched. */
export const UPSTREAMS: Page = {
  of: 'stops',
  path: '/upstreams',
  role: 'viewer',
  show: (visit) => upstreamsShown(visit),
};

/** Vouches for one. */
export const ADD_UPSTREAM: Action = {
  of: 'stops',
  path: '/upstreams/add',
  role: 'admin',
  does: 'vouch for an upstream',
  written: {
    upstream: 'Name',
    upstream_url: 'Address',
    tls_pin: 'SHA-256 of its public key',
    spiffe_id: 'SPIFFE ID',
    owner_team: 'Team',
    ...REASON,
  },
  refused: (visit, filled) => upstreamsShown(visit, filled),
  async act({ services: { identity } }, filled) {
    const typed = (name: string): string | null => filled.get(name).trim() || null;
    const upstream = {
      name: typed('upstream') ?? '',
      url: typed('upstream_url') ?? '',
      tlsPin: typed('tls_pin'),
      spiffe: typed('spiffe_id'),
      ownerTeam: typed('owner_team'),
    };
    for (const [field, value, words] of [
      ['name', upstream.name, 'A name has letters, digits, dots, dashes and underscores'],
      ['url', upstream.url, 'Say the address'],
      ['tls_pin', upstream.tlsPin, 'The digest of a key is written sha256: and 64 hexadecimal digits'],
      ['spiffe_id', upstream.spiffe, 'A SPIFFE ID begins with spiffe://'],
      ['owner_team', upstream.ownerTeam, 'A team has 64 printable characters at most, and no comma'],
    ] as const)
      if (value !== null && !newUpstream.shape[field].safeParse(value).success)
        throw new GateError('invalid_request', `${words}: nothing was done.`);
    await identity.addUpstream({ ...upstream, reason: reasonOr(filled) });
    return '/upstreams';
  },
};

/** Vouches for one no more. */
export const RETIRE_UPSTREAM: Action = {
  of: 'stops',
  path: '/upstreams/:id/retire',
  role: 'admin',
  does: 'vouch for an upstream no more',
  written: {},
  refused: (visit) => upstreamsShown(visit),
  async act({ services: { identity }, params }) {
    await identity.retireUpstream(params['id'] ?? '');
    return '/upstreams';
  },
};

async function upstreamsShown(visit: Visit, typed?: Form): Promise<Shown> {
  const upstreams = await ofIdentity(visit.services.identity.upstreams());
  return {
    title: 'Upstreams',
    body: (
      <section class="upstreams">
        <h1>Upstreams</h1>
        <p class="dim">
          The servers of tools for which somebody vouched. Where the tools of this Gate are is configured; calls of
          tools at another address than these say so in the ledger.
        </p>
        <OrUnknown of={upstreams}>{(all) => <Listed of={all} visit={visit} />}</OrUnknown>
        {upstreams !== 'nobody' && visit.mayPost('/upstreams/add') && <AddUpstream visit={visit} typed={typed} />}
      </section>
    ),
  };
}

const Listed = ({ of: upstreams, visit }: { readonly of: readonly UpstreamRecord[]; readonly visit: Visit }) =>
  upstreams.length === 0 ? (
    <Empty>Nobody vouched for one.</Empty>
  ) : (
    <Table label="Upstreams" heads={['Upstream', 'Address', 'What it shows', 'Team', 'Since', 'By', '']}>
      {upstreams.map((one) => (
        <tr key={one.id}>
          <th scope="row">
            <Foreign text={one.name} />
          </th>
          <td>
            <Foreign text={one.url} />
          </td>
          <td>
            {one.tls_pin !== null && (
              <>
                the key <Foreign text={one.tls_pin} />{' '}
              </>
            )}
            {one.spiffe_id !== null && <Foreign text={one.spiffe_id} />}
          </td>
          <td>{one.owner_team !== null && <Foreign text={one.owner_team} />}</td>
          <td>
            {one.state === 'retired' && 'retired '}
            <Time iso={one.retired_at ?? one.created_at} nowMs={visit.nowMs} />
          </td>
          <td>
            <Foreign text={one.retired_by ?? one.created_by_sub} />
          </td>
          <td>
            {one.state === 'active' && visit.mayPost('/upstreams/:id/retire') && (
              <form method="post" action={`/upstreams/${one.id}/retire`}>
                <Csrf token={visit.csrf} />
                <button type="submit" aria-label={`Retire ${one.name}`}>
                  Retire
                </button>
              </form>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );

const AddUpstream = ({ visit: { csrf }, typed }: { readonly visit: Visit; readonly typed: Form | undefined }) => {
  const was = (name: string): string => typed?.get(name) ?? '';
  return (
    <section aria-labelledby="add-an-upstream">
      <h2 id="add-an-upstream">Vouch for an upstream</h2>
      <form method="post" action="/upstreams/add" class="sheet">
        <Csrf token={csrf} />
        <p>
          It counts at every proxy within two seconds. An address is registered once, also where it is retired later. A
          connection that does not show what stands here is sent nothing.
        </p>
        <label>
          Name <input name="upstream" required maxLength={63} autocomplete="off" value={was('upstream')} />
        </label>
        <label>
          Address, as it is configured{' '}
          <input name="upstream_url" required maxLength={2_048} autocomplete="off" value={was('upstream_url')} />
        </label>
        <label>
          SHA-256 of the public key that it has to show; empty for any{' '}
          <input name="tls_pin" maxLength={71} autocomplete="off" value={was('tls_pin')} />
        </label>
        <label>
          SPIFFE ID that it has to show instead of its host name; empty for none{' '}
          <input name="spiffe_id" maxLength={2_009} autocomplete="off" value={was('spiffe_id')} />
        </label>
        <label>
          Team whose it is; may be empty{' '}
          <input name="owner_team" maxLength={64} autocomplete="off" value={was('owner_team')} />
        </label>
        <Why typed={was('reason')} optional />
        <button type="submit">Vouch for it</button>
      </form>
    </section>
  );
};
