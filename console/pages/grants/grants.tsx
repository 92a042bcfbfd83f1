import { GRANTS_LISTED, type ListedGrant } from '../../../contracts/grants.js';
import { GateError } from '../../../domain/errors.js';
import { addressOf } from '../../ui/addresses.js';
import { Empty, Foreign, Id, Table } from '../../ui/parts.js';
import { type Action, type Form, type Page, REASON, type Shown, type Visit } from '../../visit.js';
import { agentAddress } from '../agents/address.js';
import { Edited, TakeBack, Terms } from '../agents/grants.js';
import { ofIdentity, OrUnknown } from '../stops/known.js';
import { reasonOr } from '../stops/release.js';

/** As identity takes it. */
const LONGEST_GRANT_ID = 128;
/** On one page. */
const SHOWN = 100;

/** What people delegated to any agent, as far as it counts. */
export const GRANTS: Page = { of: 'stops', path: '/grants', role: 'viewer', show: (visit) => grantsShown(visit) };

/** Takes one back, whichever agent has it. */
export const TAKE_GRANT_BACK: Action = {
  of: 'stops',
  path: '/grants/revoke',
  role: 'admin',
  does: 'take back what people delegated',
  written: REASON,
  refused: (visit, filled) => grantsShown(visit, filled),
  async act({ services: { identity } }, filled) {
    const jti = filled.get('grant');
    if (!isId(jti))
      throw new GateError('not_found', 'There is no such grant that is not over or taken back: nothing was done.');
    await identity.revokeGrant(jti, reasonOr(filled));
    return '/grants';
  },
};

/** Also of a row that somebody edited, so it need not be a UUID. */
const isId = (text: string): boolean => text !== '' && text.length <= LONGEST_GRANT_ID;

async function grantsShown(visit: Visit, typed?: Form): Promise<Shown> {
  const { query, services, person } = visit;
  const { after = '' } = query;
  const isFirst = !isId(after);
  const grants = await ofIdentity(services.identity.grantsAfter(isFirst ? null : after));
  return {
    title: 'Grants',
    body: (
      <section class="grants">
        <h1>Grants</h1>
        <p class="dim">
          What people delegated to agents of {person.tenant ?? 'all tenants'} and is neither over nor taken back, oldest
          first. An agent asks on behalf of a person with one; its own page has what that agent holds.
        </p>
        <OrUnknown of={grants}>
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
  readonly of: readonly ListedGrant[];
  readonly isFirst: boolean;
  readonly visit: Visit;
  readonly typed: Form | undefined;
}) => {
  const shown = found.slice(0, SHOWN);
  const last = shown.at(-1);
  if (last === undefined)
    return <Empty>{isFirst ? 'Nothing: every agent asks for nobody but itself.' : 'There is no other one.'}</Empty>;
  return (
    <>
      <Table label="Grants" cards heads={['Grant', 'Agent', 'On behalf of', 'For', { number: 'Uses' }, 'Ends']}>
        {shown.map((grant) => (
          <tr key={grant.jti}>
            <th scope="row" class="lead">
              <Id id={grant.jti} />
            </th>
            {'tampered' in grant ? (
              <Edited of={grant} columns={5} />
            ) : (
              <>
                <td data-head="agent" class="lead">
                  <Agent of={grant.agent_spiffe} />
                </td>
                <Terms of={grant} nowMs={visit.nowMs} />
              </>
            )}
          </tr>
        ))}
      </Table>
      {found.length > shown.length && (
        <p>
          <a href={addressOf('/grants', { after: last.jti })}>Later ones</a>{' '}
          <span class="dim">
            (there are {found.length - shown.length}
            {found.length === GRANTS_LISTED && ' at least'})
          </span>
        </p>
      )}
      {visit.mayPost('/grants/revoke') && <TakeBack grants={shown} at="/grants/revoke" visit={visit} typed={typed} />}
    </>
  );
};

/** The name of an agent ends its SPIFFE id without an instance. */
const Agent = ({ of: spiffe }: { readonly of: string }) => {
  const name = spiffe.slice(spiffe.lastIndexOf('/') + 1);
  return (
    <a href={agentAddress(name)}>
      <Foreign text={name} />
    </a>
  );
};
