import type { GrantRecord, ListedGrant, TamperedGrant } from '../../../contracts/grants.js';
import { GateError } from '../../../domain/errors.js';
import { oneLine } from '../../../domain/printable.js';
import { Csrf, Foreign, Id, Table, Time } from '../../ui/parts.js';
import type { Form, Visit } from '../../visit.js';
import { ofIdentity, type OfIdentity, OrUnknown } from '../stops/known.js';
import { Why } from '../stops/release.js';
import { agentFormAddress } from './address.js';
import type { Refused } from './form.js';

/** Of one agent at once on the page. */
const SHOWN = 50;

const newest = (grants: readonly ListedGrant[]): readonly ListedGrant[] => grants.slice(-SHOWN).toReversed();

/** The grants of an agent that are neither over nor taken back; `null` where this Gate has none, or no agent has such a name. */
export const grantsFound = async (visit: Visit, agent: string | null) =>
  agent === null ? null : await ofIdentity(visit.services.identity.grants(agent));

/** What people delegated to an agent, and for an administrator the form that takes one back. */
export const GrantsOf = ({
  of,
  agent,
  visit,
  refused,
}: {
  readonly of: OfIdentity<readonly ListedGrant[]>;
  readonly agent: string;
  readonly visit: Visit;
  readonly refused: Refused | undefined;
}) => (
  <section aria-labelledby="grants">
    <h2 id="grants">What people delegated to it</h2>
    <OrUnknown of={of}>
      {(found) =>
        found.length === 0 ? (
          <p class="dim">Nothing that is not over or taken back: it asks for nobody but itself.</p>
        ) : (
          <>
            <Table label="Grants" cards heads={['Grant', 'On behalf of', 'For', { number: 'Uses' }, 'Ends']}>
              {newest(found).map((grant) => (
                <tr key={grant.jti}>
                  <th scope="row" class="lead">
                    <Id id={grant.jti} />
                  </th>
                  {'tampered' in grant ? <Edited of={grant} /> : <Terms of={grant} nowMs={visit.nowMs} />}
                </tr>
              ))}
            </Table>
            {found.length > SHOWN && (
              <p class="dim">
                The newest {SHOWN} of {found.length}; <code>gate grants --agent</code> lists all.
              </p>
            )}
            {visit.mayPost('/agents/:agent/revoke-grant') && (
              <TakeBack
                grants={newest(found)}
                at={agentFormAddress(agent, 'revoke-grant')}
                visit={visit}
                typed={refused?.of === 'revoke-grant' ? refused.form : undefined}
              />
            )}
          </>
        )
      }
    </OrUnknown>
  </section>
);

/** Of one whose row somebody edited in the store, beside its id. */
export const Edited = ({ of, columns = 4 }: { readonly of: TamperedGrant; readonly columns?: number }) => (
  <td colSpan={columns} class="lead">
    <span class="tag deny">edited</span> <Foreign text={of.tampered} />. What it says counts for nothing; take it back,
    so that no proxy takes what it was signed for either.
  </td>
);

/** On whose behalf, for what, how often and until when. */
export const Terms = ({ of, nowMs }: { readonly of: GrantRecord; readonly nowMs: number }) => (
  <>
    <td data-head="on behalf of" class="lead">
      <Foreign text={of.human_sub} /> (<Foreign text={of.idp} />)
    </td>
    <td data-head="for">
      {[...of.scope, ...of.yellow_scope].map((scope) => (
        <span key={scope}>
          <code>
            <Foreign text={scope} />
          </code>{' '}
        </span>
      ))}
    </td>
    <td class="number" data-head="uses">
      {of.max_uses === null ? of.uses : `${of.uses} of ${of.max_uses}`}
    </td>
    <td data-head="ends">
      <Time iso={of.exp} nowMs={nowMs} />
      {of.recurrence_summary !== null && (
        <>
          ; <Foreign text={of.recurrence_summary} />
        </>
      )}
    </td>
  </>
);

/** The grant that a form names, of those that its page lists. */
export async function takenBack(visit: Visit, agent: string, jti: string, reason: string | null): Promise<void> {
  const found = await visit.services.identity.grants(agent);
  if (!found.some((grant) => grant.jti === jti))
    throw new GateError('not_found', 'The agent has no such grant that is not over or taken back: nothing was done.');
  await visit.services.identity.revokeGrant(jti, reason);
}

/** Grants of one minute have the same beginning: whose it is says which is meant. */
const told = (grant: ListedGrant): string =>
  oneLine(
    'tampered' in grant
      ? `edited: ${grant.jti}`
      : `${grant.human_sub} (${grant.idp}), ${[...grant.scope, ...grant.yellow_scope].join(' ')}: ${grant.jti}`,
  );

/** The form that takes one of these back. */
export const TakeBack = ({
  grants,
  at,
  visit: { csrf },
  typed,
}: {
  readonly grants: readonly ListedGrant[];
  /** Where the form leads. */
  readonly at: string;
  readonly visit: Pick<Visit, 'csrf'>;
  readonly typed: Form | undefined;
}) => (
  <details open={typed !== undefined}>
    <summary>Take one back</summary>
    <form method="post" action={at} class="sheet">
      <Csrf token={csrf} />
      <p>Within two seconds no proxy takes it, and what waits with it does not run, whoever approves it.</p>
      <label>
        Grant
        <select name="grant">
          {grants.map((grant) => (
            <option key={grant.jti} value={grant.jti} selected={typed?.get('grant') === grant.jti}>
              {told(grant)}
            </option>
          ))}
        </select>
      </label>
      <Why typed={typed?.get('reason') ?? ''} optional />
      <p>
        <button class="destroy" type="submit">
          Take it back
        </button>
      </p>
    </form>
  </details>
);
