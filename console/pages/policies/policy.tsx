import type { PolicyFileShown } from '../../../contracts/policy.js';
import { isIntact, type KeptVersion } from '../../../contracts/policy-library.js';
import { withoutFence } from '../../../domain/policy/mining/fence.js';
import { tierContradicted, tierTold } from '../../../domain/policy/policy-header.js';
import { unifiedDiff } from '../../../domain/policy/unified-diff.js';
import { oneLine } from '../../../domain/printable.js';
import { type KeptFile, settled, type Settled } from '../../services.js';
import { Csrf, Edited, Facts, Foreign, Id, OrAway, Table, Time } from '../../ui/parts.js';
import { Diff, Source } from '../../ui/source.js';
import { Typed } from '../../ui/typed.js';
import type { Form, Page, Shown, Visit } from '../../visit.js';
import { policyAddress, policyPart } from './address.js';
import { Standing } from './standing.js';
import { By, EVENTS, NoSuchFile, PolicyReason, RowOf, SeenFields } from './told.js';
import { isMendedForAll, MendedForAll, State, Whose } from './whose.js';

/** One file of rules: its text, what it says of itself, and how it became so. */
export const POLICY: Page = { path: '/policies/:name', role: 'viewer', show: (visit) => policyShown(visit) };

/** What `came` says of a policy that was deleted. */
export const DELETED = 'deleted';

/** What became of it, where that is a change by the person's tenant: another's is not the one that was just made. */
function doneOf(
  came: string | undefined,
  file: KeptFile,
  versions: readonly KeptVersion[],
  { tenant, isLate, hadCopy }: { readonly tenant: string | null; readonly isLate: boolean; readonly hadCopy: boolean },
): string | null {
  const isOwn = file.tenant === tenant;
  if (came === DELETED && isOwn && file.deleted_at !== null) return 'Done: it is deleted.';
  if (came === DELETED && hadCopy) {
    const gone = 'Done: your tenant has no copy of it any more.';
    if (isLate) return gone;
    return `${gone} Version ${file.current_version} for everybody is ${file.active ? 'in force' : 'there, and not in force'}.`;
  }
  const made = isOwn ? versions.filter(isIntact).find(({ version }) => String(version) === came) : undefined;
  if (!made) return null;
  const what = `Done: version ${made.version}, ${EVENTS[made.event_kind ?? ''] ?? 'stored'}`;
  return isLate && made.active ? `${what}.` : `${what}, ${made.active ? 'in force' : 'not in force'}.`;
}

/** Whether its copy of what holds for everybody was deleted: an address alone says that of any policy. */
async function hasHadCopy({ services, query, person }: Visit, { name, tenant }: KeptFile): Promise<boolean> {
  if (query['came'] !== DELETED || tenant === person.tenant) return false;
  const had = await settled('policy', services.policy.hadCopy(name));
  return had.ok && had.value;
}

/** `form`: one that was refused. `isLate`: what was just made is not in force in the engine that answers, so that nothing here says that it is. */
export async function policyShown(visit: Visit, form?: Form, isLate = false): Promise<Shown> {
  const { params, services, query, has, person } = visit;
  const name = params['name'] ?? '';
  const file = await settled('policy', services.policy.kept(name));
  const isKept = has('policy-changes') && file.ok && file.value !== null && !file.value.protected;
  const versions = isKept ? await settled('policy', services.policy.versions(name)) : null;
  const isCopy = isKept && file.value?.tenant !== null && file.value?.deleted_at === null;
  const behind =
    isCopy && visit.mayPost('/policies/:name/edit')
      ? await settled('policy', services.policy.behind(name))
      : ({ ok: true, value: null } as const);
  const done =
    isKept && file.value && versions?.ok
      ? doneOf(query['came'], file.value, versions.value ?? [], {
          tenant: person.tenant,
          isLate: isLate || file.value.not_in_force !== null,
          hadCopy: await hasHadCopy(visit, file.value),
        })
      : null;
  return {
    title: name,
    ...(file.ok && file.value === null && { status: 404 }),
    ...(done !== null && { notice: { kind: 'good', text: done } as const }),
    body: (
      <section class="policy">
        <h1>
          <Foreign text={name} />
        </h1>
        <p>
          <a href="/policies">All rules</a>
        </p>
        <OrAway of={file}>
          {(found) =>
            found === null ? (
              <>
                <NoSuchFile />
                {form && <Typed form={form} />}
              </>
            ) : (
              <File
                of={found}
                versions={versions}
                behind={behind}
                visit={visit}
                form={form}
                isLate={isLate || found.not_in_force !== null}
              />
            )
          }
        </OrAway>
        {form && !file.ok && <Typed form={form} />}
      </section>
    ),
  };
}

const File = ({
  of,
  versions,
  behind,
  visit,
  form,
  isLate,
}: {
  readonly of: KeptFile;
  readonly versions: Settled<readonly KeptVersion[] | null> | null;
  readonly behind: Settled<PolicyFileShown | null>;
  readonly visit: Visit;
  readonly form: Form | undefined;
  readonly isLate: boolean;
}) => (
  <>
    {of.summary && (
      <p>
        <Foreign text={of.summary} />
      </p>
    )}
    <Facts
      of={[
        ['State', <State of={of} isLate={isLate} />],
        ['Version', String(of.current_version)],
        ...(of.protected ? ([['As shipped', of.as_shipped ? 'yes' : 'no: changed here']] as const) : []),
        ...(of.updated_at ? ([['Changed', <Time iso={of.updated_at} nowMs={visit.nowMs} />]] as const) : []),
        ['SHA-256', <Id id={of.current_body_sha256} />],
      ]}
    />
    <HeaderSays of={of} />
    <Contradicted of={of} />
    <Standing of={of} />
    {versions && <Whose tenant={of.tenant} person={visit.person.tenant} />}
    {of.current_body === null && (
      <Edited why={of.tampered ?? ''}>
        {isMendedForAll(of, visit.person.tenant) ? (
          <MendedForAll />
        ) : (
          'Another text takes its place: save one, or go back to a version below. Until then it can be neither switched on nor off, and not deleted; where it is in force, no other policy can be changed beside it.'
        )}
      </Edited>
    )}
    {of.rules.length > 0 && <Rules of={of} />}
    {versions && of.deleted_at === null && visit.mayPost('/policies/:name/edit') && (
      <Acts of={of} behind={behind} visit={visit} form={form} isLate={isLate} />
    )}
    {versions && <Versions of={versions} name={of.name} isOwn={of.tenant !== null} nowMs={visit.nowMs} />}
    {of.current_body !== null && (
      <>
        <h2>Text</h2>
        <Source text={of.current_body} />
      </>
    )}
  </>
);

/** A header that says another thing than its rules do. */
const Contradicted = ({ of: { content_type: type, current_body: body } }: { readonly of: KeptFile }) => {
  const words = type === 'rego' && body !== null ? tierContradicted(body) : null;
  return words === null ? null : (
    <p class="standing">
      <Foreign text={words} />
    </p>
  );
};

const told = (name: string, text: string | null): readonly (readonly [string, preact.JSX.Element])[] =>
  text === null || text === '' ? [] : [[name, <Foreign text={text} />]];

/** What a policy says of itself. It judges by its rules, whatever stands there. */
function HeaderSays({ of }: { readonly of: KeptFile }) {
  const says = [
    ...told('Domain', of.domain),
    ...told('Severity', of.severity),
    ...told('Does', of.tier && tierTold(of.tier)),
    ...told('Frameworks', of.frameworks.join(', ')),
    ...told('Tags', of.tags.join(', ')),
    ...told('Tools', of.tool_surface.join(', ')),
  ];
  if (says.length === 0) return null;
  return (
    <section aria-labelledby="header">
      <h2 id="header">What its header says</h2>
      <Facts of={says} />
    </section>
  );
}

const Rules = ({ of: { name, rules } }: { readonly of: Pick<PolicyFileShown, 'name' | 'rules'> }) => (
  <section>
    <h2>Rules</h2>
    <Table label="Rules" heads={['Rule', 'Kind', 'What it says of a call']}>
      {rules.map(({ rule, line, title, description, reason }, at) => (
        <tr key={at}>
          <td>
            <a href={policyAddress(name, line)}>{title ? <Foreign text={title} /> : <code>{oneLine(rule)}</code>}</a>
            {description && (
              <p class="dim">
                <Foreign text={description} />
              </p>
            )}
          </td>
          <td>
            <code>{oneLine(rule)}</code>
          </td>
          <td>{reason && <Foreign text={reason.replaceAll('%s', '…')} />}</td>
        </tr>
      ))}
    </Table>
  </section>
);

/** What an administrator does with it. */
const Acts = ({
  of,
  of: { name, active, current_version: version, current_body_sha256: digest, current_body: body, tenant },
  behind,
  visit: { csrf },
  form,
  isLate,
}: {
  readonly of: KeptFile;
  readonly behind: Settled<PolicyFileShown | null>;
  readonly visit: Visit;
  readonly form: Form | undefined;
  readonly isLate: boolean;
}) => {
  const act = active ? 'deactivate' : 'activate';
  const opens = withoutFence(of);
  const meant = form?.get('act') || act;
  return (
    <section aria-labelledby="acts">
      <h2 id="acts">What to do</h2>
      <p class="answers">
        <a class="button" href={policyPart(name, 'edit')}>
          Edit
        </a>
        {body !== null && (
          <a class="button" href={policyPart(name, 'lab')}>
            What it would have decided
          </a>
        )}
      </p>
      {body === null ? (
        form && <Typed form={form} />
      ) : meant === act ? (
        <form method="post" action={policyPart(name, act)} class="sheet">
          <Csrf token={csrf} />
          <SeenFields version={version} digest={digest} />
          <input type="hidden" name="act" value={act} />
          {opens && (
            <p class="notice">
              <Foreign text={opens} />
            </p>
          )}
          <PolicyReason typed={form?.get('reason') ?? ''} />
          <p>
            <button class={active ? 'destroy' : 'act'} type="submit">
              {active ? 'Switch it off' : 'Put it in force'}
            </button>{' '}
            {tenant !== null && behind.ok && (
              <button class="destroy" type="submit" formaction={policyPart(name, 'delete')}>
                Delete
              </button>
            )}
          </p>
          {tenant !== null && (
            <OrAway of={behind}>
              {(back) => (
                <>
                  <input type="hidden" name="back" value={back?.current_body_sha256 ?? ''} />
                  <ComesBack of={back} instead={body} isLate={isLate} />
                </>
              )}
            </OrAway>
          )}
        </form>
      ) : (
        // The same button would do the opposite of what was meant.
        <p>
          It was {active ? 'put in force' : 'switched off'} meanwhile, with version {version}.{' '}
          <a href={policyAddress(name)}>Open it again</a> to do anything else.
        </p>
      )}
    </section>
  );
};

/** What a tenant has once its copy is deleted. */
const ComesBack = ({
  of,
  instead,
  isLate,
}: {
  readonly of: PolicyFileShown | null;
  readonly instead: string;
  readonly isLate: boolean;
}) =>
  of === null ? (
    <p class="dim">The versions of a deleted policy stay to be read; a new one of its name goes on behind them.</p>
  ) : (
    <>
      <p>
        Deleted, this copy gives way: version {of.current_version} for everybody{' '}
        {isLate
          ? 'is stored as in force again, and judges calls once the engine does by what is stored.'
          : 'is in force again, and judges calls at once.'}
      </p>
      <details>
        <summary>How that differs from this copy</summary>
        <Diff
          of={unifiedDiff(instead, of.current_body, {
            from: 'this copy',
            to: `version ${of.current_version}, for everybody`,
          })}
          label="How what comes back differs from this copy"
        />
      </details>
    </>
  );

const Versions = ({
  of,
  name,
  isOwn,
  nowMs,
}: {
  readonly of: Settled<readonly KeptVersion[] | null>;
  readonly name: string;
  readonly isOwn: boolean;
  readonly nowMs: number;
}) => (
  <section>
    <h2>Versions</h2>
    <OrAway of={of}>
      {(versions) => (
        <Table
          label="Versions"
          heads={[{ number: 'Version' }, 'What', 'When', 'Who', 'Why', 'Switched on', 'Ledger', 'Look']}
        >
          {(versions ?? []).map((kept) => (
            <Version key={kept.version} of={kept} name={name} isOwn={isOwn} nowMs={nowMs} />
          ))}
        </Table>
      )}
    </OrAway>
  </section>
);

const Version = ({
  of,
  name,
  isOwn,
  nowMs,
}: {
  readonly of: KeptVersion;
  readonly name: string;
  readonly isOwn: boolean;
  readonly nowMs: number;
}) => {
  if (!isIntact(of))
    return (
      <tr>
        <td class="number">{of.version}</td>
        <td colSpan={7}>
          <span class="tag risky">edited in the store</span> <Foreign text={of.tampered} />
        </td>
      </tr>
    );
  const { version, event_kind, created_at, reason, active, chain_seq } = of;
  return (
    <tr>
      <td class="number">
        <a href={policyPart(name, `versions/${version}`)}>{version}</a>
      </td>
      <td>{EVENTS[event_kind ?? ''] ?? 'stored'}</td>
      <td>
        <Time iso={created_at} nowMs={nowMs} />
      </td>
      <td>
        <By of={of} />
      </td>
      <td>
        <Foreign text={reason} />
      </td>
      <td>{active ? 'yes' : 'no'}</td>
      <td>
        <RowOf seq={chain_seq} isOwn={isOwn} />
      </td>
      <td>{version > 1 && <a href={policyPart(name, 'diff', { from: version - 1, to: version })}>difference</a>}</td>
    </tr>
  );
};
