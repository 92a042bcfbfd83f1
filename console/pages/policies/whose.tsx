import type { PolicyFileShown } from '../../../contracts/policy.js';

/** `isLate`: the engine that answers does not judge by what is stored. */
export const State = ({
  of,
  isLate = false,
}: {
  readonly of: Pick<PolicyFileShown, 'protected' | 'active' | 'deleted_at'>;
  readonly isLate?: boolean;
}) => {
  if (of.deleted_at !== null) return <span class="tag deny">deleted</span>;
  if (isLate && of.active) return <span class="tag park">stored as in force</span>;
  if (of.protected) return <span class="tag allow">in force, ships with Gate</span>;
  return of.active ? <span class="tag allow">in force</span> : <span class="tag none">not in force</span>;
};

/** For whom it holds, and what a change of it means. */
export const Whose = ({ tenant, person }: { readonly tenant: string | null; readonly person: string | null }) => (
  <p class="dim">
    {tenant !== null
      ? `A copy of your tenant, ${tenant}: it holds for nobody else.`
      : person !== null
        ? `It holds for every tenant that has no copy of it. What you change becomes a copy of your tenant, ${person}, alone. For everybody it is changed on the command line alone, with gate policy.`
        : 'It holds for every tenant.'}
  </p>
);

/** Whether nothing that this person's tenant saves mends a text that was edited. */
export const isMendedForAll = ({ tenant }: Pick<PolicyFileShown, 'tenant'>, person: string | null): boolean =>
  tenant === null && person !== null;
export const MendedForAll = () => (
  <>
    It holds for everybody, and is mended for everybody: on the command line alone, with{' '}
    <code>gate policy rollback</code>. What you save or go back to here is a copy of your tenant, and does not come into
    force until then.
  </>
);
