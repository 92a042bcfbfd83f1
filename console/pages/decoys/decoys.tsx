import { decoyAction } from '../../../contracts/decoy-kinds.js';
import { type DecoyHit, type DecoyRecord, decoyName, EVERY_TENANT } from '../../../contracts/decoys.js';
import { GateError } from '../../../domain/errors.js';
import { callAddress } from '../../ui/addresses.js';
import { Csrf, Empty, Foreign, Table, Time } from '../../ui/parts.js';
import { type Action, type Form, type Page, REASON, type Shown, type Visit } from '../../visit.js';
import { agentAddress } from '../agents/address.js';
import { ofIdentity, OrUnknown } from '../stops/known.js';
import { reasonOr, Why } from '../stops/release.js';

/** What nobody should call or use, and who did. */
export const DECOYS: Page = { of: 'stops', path: '/decoys', role: 'viewer', show: (visit) => decoysShown(visit) };

/** Sets a decoy of the tenant. */
export const ADD_DECOY: Action = {
  of: 'stops',
  path: '/decoys/add',
  role: 'admin',
  does: 'set a decoy',
  written: { decoy: 'Name', decoy_value: 'Value', ...REASON },
  refused: (visit, filled) => decoysShown(visit, filled),
  async act({ services: { identity } }, filled) {
    const name = nameIn(filled);
    const value = filled.get('decoy_value').trim();
    const action = decoyAction.safeParse(filled.get('containment'));
    await identity.addDecoy({
      name,
      value: value === '' ? null : value,
      isAdvertised: filled.get('advertised') === 'yes',
      action: action.success ? action.data : null,
      reason: reasonOr(filled),
    });
    return '/decoys';
  },
};

/** Takes one away. */
export const REMOVE_DECOY: Action = {
  of: 'stops',
  path: '/decoys/remove',
  role: 'admin',
  does: 'take a decoy away',
  written: {},
  refused: (visit) => decoysShown(visit),
  async act({ services: { identity } }, filled) {
    await identity.removeDecoy(nameIn(filled));
    return '/decoys';
  },
};

function nameIn(filled: Form): string {
  const { success, data } = decoyName.safeParse(filled.get('decoy'));
  if (success) return data;
  throw new GateError(
    'invalid_request',
    'A decoy has a name of letters, digits, dots, dashes and underscores: nothing was done.',
  );
}

async function decoysShown(visit: Visit, typed?: Form): Promise<Shown> {
  const { services, mayPost, person, nowMs } = visit;
  const [decoys, hits] = await Promise.all([
    ofIdentity(services.identity.decoys()),
    ofIdentity(services.identity.decoyHits()),
  ]);
  return {
    title: 'Decoys',
    body: (
      <section class="decoys">
        <h1>Decoys</h1>
        <p class="dim">
          What nobody of {person.tenant ?? 'all tenants'} should call or use: whoever does is denied, and contained.
        </p>
        <OrUnknown of={decoys}>{(all) => <Listed of={all} visit={visit} />}</OrUnknown>
        {decoys !== 'nobody' && <OrUnknown of={hits}>{(all) => <Hits of={all} nowMs={nowMs} />}</OrUnknown>}
        {decoys !== 'nobody' && mayPost('/decoys/add') && <AddDecoy visit={visit} typed={typed} />}
      </section>
    ),
  };
}

const THEN: Readonly<Record<DecoyRecord['action'], string>> = {
  suspend: 'its agent is suspended',
  force_hil: 'a person decides about each of its agent’s calls',
  none: 'the call is denied, and nothing else',
};

const Listed = ({ of: decoys, visit }: { readonly of: readonly DecoyRecord[]; readonly visit: Visit }) => (
  <section aria-labelledby="listed">
    <h2 id="listed">What there is</h2>
    {decoys.length === 0 ? (
      <Empty>There is no decoy.</Empty>
    ) : (
      <Table label="Decoys" heads={['Decoy', 'What', 'Then', { number: 'Hits' }, 'Last', 'Set by', '']}>
        {decoys.map((decoy) => (
          <tr key={decoy.id}>
            <th scope="row">
              <Foreign text={decoy.name} />
            </th>
            <td>
              {decoy.kind === 'tool' ? (decoy.advertised ? 'tool in lists' : 'tool in no list') : 'value '}
              {decoy.value_hint !== null && <Foreign text={decoy.value_hint} />}
              {decoy.tenant === EVERY_TENANT && ', of every tenant'}
            </td>
            <td>{THEN[decoy.action]}</td>
            <td class="number">{decoy.hits}</td>
            <td>{decoy.last_hit_at !== null && <Time iso={decoy.last_hit_at} nowMs={visit.nowMs} />}</td>
            <td>
              <Foreign text={decoy.created_by} />
            </td>
            <td>
              {decoy.tenant !== EVERY_TENANT && visit.mayPost('/decoys/remove') && (
                <form method="post" action="/decoys/remove">
                  <Csrf token={visit.csrf} />
                  <input type="hidden" name="decoy" value={decoy.name} />
                  <button type="submit" aria-label={`Take ${decoy.name} away`}>
                    Take away
                  </button>
                </form>
              )}
            </td>
          </tr>
        ))}
      </Table>
    )}
  </section>
);

const CONTAINED: Readonly<Record<DecoyHit['contained'], string>> = {
  suspend: 'suspended',
  force_hil: 'a person decides about its calls',
  none: 'denied, and nothing else',
  observed: 'nothing: Gate only observed',
  unresolved: 'nothing: there can be no such agent any more',
};

const Hits = ({ of: hits, nowMs }: { readonly of: readonly DecoyHit[]; readonly nowMs: number }) => (
  <section aria-labelledby="hits">
    <h2 id="hits">Who touched one</h2>
    {hits.length === 0 ? (
      <Empty>Nobody did.</Empty>
    ) : (
      <Table label="Hits" heads={['Agent', 'Decoy', { number: 'Calls' }, 'Last', 'Last call', 'What was done']}>
        {hits.map((hit) => (
          <tr key={`${hit.decoy_id}/${hit.agent_name}`}>
            <th scope="row">
              <a href={agentAddress(hit.agent_name)}>
                <Foreign text={hit.agent_name} />
              </a>
            </th>
            <td>
              <Foreign text={hit.decoy} />
            </td>
            <td class="number">{hit.hits}</td>
            <td>
              <Time iso={hit.last_at} nowMs={nowMs} />
            </td>
            <td>
              <a href={callAddress(hit.correlation_id)}>
                <Foreign text={hit.correlation_id} />
              </a>
            </td>
            <td>{CONTAINED[hit.contained]}</td>
          </tr>
        ))}
      </Table>
    )}
  </section>
);

const AddDecoy = ({ visit: { csrf }, typed }: { readonly visit: Visit; readonly typed: Form | undefined }) => (
  <section aria-labelledby="add-a-decoy">
    <h2 id="add-a-decoy">Set a decoy</h2>
    <form method="post" action="/decoys/add" class="sheet">
      <Csrf token={csrf} />
      <p>
        It counts at every proxy within two seconds. An agent that touches it is answered as if an operator had denied
        the tool, in observe mode too.
      </p>
      <label>
        Name <input name="decoy" required maxLength={128} autocomplete="off" value={typed?.get('decoy') ?? ''} />
      </label>
      <label>
        Value that nobody should use; empty for a tool of this name{' '}
        <input name="decoy_value" maxLength={512} autocomplete="off" value={typed?.get('decoy_value') ?? ''} />
      </label>
      <label>
        <input type="checkbox" name="advertised" value="yes" checked={typed?.get('advertised') === 'yes'} /> agents see
        the tool in their lists
      </label>
      <label>
        Then{' '}
        <select name="containment">
          <option value="">as usual: a tool in lists suspends, anything else puts calls before a person</option>
          {decoyAction.options.map((action) => (
            <option key={action} value={action} selected={typed?.get('containment') === action}>
              {THEN[action]}
            </option>
          ))}
        </select>
      </label>
      <Why typed={typed?.get('reason') ?? ''} optional />
      <button type="submit">Set the decoy</button>
    </form>
  </section>
);
