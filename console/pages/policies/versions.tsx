import type { KeptVersion, PolicyVersion } from '../../../contracts/policy-library.js';
import { unifiedDiff } from '../../../domain/policy/unified-diff.js';
import { settled } from '../../services.js';
import { Csrf, Edited, Facts, Foreign, Id, OrAway, Time } from '../../ui/parts.js';
import { Diff, Source } from '../../ui/source.js';
import { Typed } from '../../ui/typed.js';
import type { Form, Page, Shown, Visit } from '../../visit.js';
import { policyAddress, policyPart } from './address.js';
import { policyChange } from './change.js';
import { between, digestShownOf, Overtaken, versionShownOf } from './overtaken.js';
import { Standing, whenSaved } from './standing.js';
import { By, EVENTS, NoSuchVersion, PolicyReason, reasonIn, RowOf, SeenFields, seenIn, versionIn } from './told.js';

/** One version: its text, who stored it and why, and how the text of now differs from it. */
export const VERSION: Page = {
  of: 'policy-changes',
  path: '/policies/:name/versions/:version',
  role: 'viewer',
  show: (visit) => versionShown(visit),
};

/** Gives a policy the text of an earlier version, as a new one. */
export const ROLLBACK = policyChange(
  {
    path: '/policies/:name/versions/:version/rollback',
    does: 'give a policy the text of an earlier version again',
    refused: versionShown,
  },
  ({ services, params: { name = '', version } }, form) =>
    services.policy.rollback(name, versionIn(version), seenIn(form), reasonIn(form)),
);

async function versionShown(visit: Visit, form?: Form): Promise<Shown> {
  const { services, params, mayPost, csrf, nowMs } = visit;
  const name = params['name'] ?? '';
  const number = versionIn(params['version']);
  const [found, now] = await Promise.all([
    settled('policy', services.policy.version(name, number)),
    settled('policy', services.policy.kept(name)),
  ]);
  const current = now.ok ? now.value : null;
  const on = Number(form?.get('version'));
  const overtaken =
    current && Number.isSafeInteger(on) && on > 0
      ? await between(visit, name, { on, now: current.current_version })
      : null;
  return {
    title: `${name} version ${number}`,
    ...(found.ok && found.value === null && { status: 404 }),
    body: (
      <section class="policy">
        <h1>
          <Foreign text={name} />, version {number}
        </h1>
        <p>
          <a href={policyAddress(name)}>The policy as it is now</a>
        </p>
        <Standing of={current} />
        <OrAway of={found}>
          {(version) =>
            version === null ? (
              <>
                <NoSuchVersion name={name} />
                {form && <Typed form={form} />}
              </>
            ) : (
              <>
                {overtaken && (
                  <Overtaken of={overtaken} nowMs={nowMs}>
                    Nothing was rolled back. The form below does it to version {overtaken.now}.
                  </Overtaken>
                )}
                <About of={version} isOwn={(current?.tenant ?? null) !== null} nowMs={nowMs} />
                {current?.current_body === null && <Edited why={current.tampered ?? ''} />}
                {current && current.current_body !== null && current.current_version !== number && (
                  <section>
                    <h2>What changed since</h2>
                    <Diff
                      of={unifiedDiff(version.body, current.current_body, {
                        from: `version ${number}`,
                        to: `version ${current.current_version}, now`,
                      })}
                      label="What changed since"
                    />
                  </section>
                )}
                {current &&
                  current.deleted_at === null &&
                  !current.protected &&
                  (current.current_body === null || current.current_body_sha256 !== version.body_sha256) &&
                  mayPost('/policies/:name/versions/:version/rollback') && (
                    <section aria-labelledby="back">
                      <h2 id="back">Go back to it</h2>
                      <form method="post" action={policyPart(name, `versions/${number}/rollback`)} class="sheet">
                        <Csrf token={csrf} />
                        <SeenFields
                          version={versionShownOf(overtaken, current.current_version)}
                          digest={digestShownOf(overtaken, current.current_body_sha256, form?.get('digest') || null)}
                        />
                        <PolicyReason typed={form?.get('reason') ?? ''} />
                        <p>
                          <button class="act" type="submit">
                            Roll back to version {number}
                          </button>
                        </p>
                        <p class="dim">A new version with this text. {whenSaved(current)}</p>
                      </form>
                    </section>
                  )}
                <h2>Text</h2>
                <Source text={version.body} />
              </>
            )
          }
        </OrAway>
        {form && !found.ok && <Typed form={form} />}
      </section>
    ),
  };
}

const About = ({
  of: { event_kind, created_at, reason, active, body_sha256, chain_seq, ...by },
  isOwn,
  nowMs,
}: {
  readonly of: PolicyVersion;
  readonly isOwn: boolean;
  readonly nowMs: number;
}) => (
  <Facts
    of={[
      ['What', EVENTS[event_kind ?? ''] ?? 'stored'],
      ['When', <Time iso={created_at} nowMs={nowMs} />],
      ['Who', <By of={by} />],
      ['Why', <Foreign text={reason} />],
      ['In force from then on', active ? 'yes' : 'no'],
      ['Ledger', <RowOf seq={chain_seq} isOwn={isOwn} />],
      ['SHA-256', <Id id={body_sha256} />],
    ]}
  />
);

/** What changed from one version to another. */
export const DIFF: Page = {
  of: 'policy-changes',
  path: '/policies/:name/diff',
  role: 'viewer',
  async show({ services, params, query }) {
    const name = params['name'] ?? '';
    const [from, to] = [versionIn(query['from'] ?? '1'), versionIn(query['to'] ?? '1')];
    const [found, versions] = await Promise.all([
      settled('policy', services.policy.diff(name, from, to)),
      settled('policy', services.policy.versions(name)),
    ]);
    const known = versions.ok ? (versions.value ?? []) : [];
    return {
      title: `${name}: version ${from} to ${to}`,
      ...(found.ok && found.value === null && { status: 404 }),
      body: (
        <section class="policy">
          <h1>
            <Foreign text={name} />, version {from} to {to}
          </h1>
          <p>
            <a href={policyAddress(name)}>The policy as it is now</a>
          </p>
          <form class="filter" action={policyPart(name, 'diff')}>
            <Chosen label="From version" name="from" value={from} of={known} />
            <Chosen label="to version" name="to" value={to} of={known} />
            <button type="submit">Compare</button>
          </form>
          <OrAway of={found}>
            {(diff) =>
              diff === null ? (
                <NoSuchVersion name={name} />
              ) : (
                <Diff of={diff} label={`What changed from version ${from} to version ${to}`} />
              )
            }
          </OrAway>
        </section>
      ),
    };
  },
};

const Chosen = ({
  label,
  name,
  value,
  of,
}: {
  readonly label: string;
  readonly name: string;
  readonly value: number;
  readonly of: readonly KeptVersion[];
}) => (
  <label>
    {label}{' '}
    <select name={name}>
      {of.every(({ version }) => version !== value) && (
        <option value={value} selected>
          {value}
        </option>
      )}
      {of.map(({ version }) => (
        <option key={version} value={version} selected={version === value}>
          {version}
        </option>
      ))}
    </select>
  </label>
);
