import type { VNode } from 'preact';
import { RULE_INPUT } from '../../../contracts/policy.js';
import { MAX_POLICY_BYTES } from '../../../contracts/policy-library.js';
import { GateError } from '../../../domain/errors.js';
import { type KeptFile, settled, type Settled } from '../../services.js';
import { Csrf, Edited, Empty, Foreign, OrAway } from '../../ui/parts.js';
import { Typed } from '../../ui/typed.js';
import { type Action, type Form, type Page, REASON, type Shown, type Visit } from '../../visit.js';
import { type Between, between, digestShownOf, Overtaken, versionShownOf } from '../policies/overtaken.js';
import { policyAddress, policyPart } from '../policies/address.js';
import { policyChange } from '../policies/change.js';
import { isMendedForAll, MendedForAll, Whose } from '../policies/whose.js';
import { Standing, whenSaved } from '../policies/standing.js';
import { NoSuchFile, PolicyReason, reasonIn, SeenFields } from '../policies/told.js';
import { labShown } from '../policy-lab/found.js';
import { CALLS, callsAsked, CallsFields } from '../policy-lab/window.js';
import { type Check, Checked } from './checked.js';
import { type Draft, draftIn, nameLacks, newDraft } from './draft.js';

const at = (name: string | undefined): string => (name === undefined ? '/policies/new' : policyPart(name, 'edit'));

/** A new policy. */
export const NEW_POLICY: Page = {
  of: 'policy-changes',
  path: '/policies/new',
  role: 'admin',
  show: (visit) => editor(visit),
};

/** The text of a policy, to be changed. */
export const EDIT_POLICY: Page = {
  of: 'policy-changes',
  path: '/policies/:name/edit',
  role: 'admin',
  show: (visit) => editor(visit),
};

/** Whoever waited for an engine that does not answer, or has no compiler, does not wait for its check as well. */
const refused = (visit: Visit, form: Form, { status }: GateError): Promise<Shown> =>
  editor(visit, form, status >= 500 ? null : undefined);

/** What all forms of the editor have in common. */
const TYPED = {
  written: { policy_name: 'Name', body: 'Text', ...REASON, ...CALLS },
  holdsPolicy: true as const,
  refused,
} satisfies Pick<Action, 'written' | 'holdsPolicy' | 'refused'>;

/** What each of both does with what was typed, which stays in its place. */
const forms = (path: '/policies/new' | '/policies/:name/edit', what: string) =>
  [
    {
      of: 'policy-changes',
      path: `${path}/check`,
      role: 'admin',
      does: `have the text of ${what} checked`,
      ...TYPED,
      async act(visit: Visit, form: Form): Promise<Shown> {
        const draft = draftIn(visit, form);
        return editor(visit, form, await checkOf(visit, draft));
      },
    },
    {
      of: 'policy-changes',
      path: `${path}/try`,
      role: 'admin',
      does: `try the text of ${what} on recorded calls`,
      ...TYPED,
      async act(visit: Visit, form: Form): Promise<Shown> {
        const draft = draftIn(visit, form);
        // What the check says of the name stands on the page then.
        if (nameLacks(draft) !== null) return editor(visit, form);
        const asked = {
          files: [fileOf(draft)],
          without: [],
          ...callsAsked(form, visit.nowMs),
        };
        return {
          ...(await editor(visit, form)),
          later: (until) => labShown(visit.services.policy.lab(asked, until), { nowMs: visit.nowMs }),
        };
      },
    },
    policyChange({ path, does: `save ${what}`, ...TYPED }, async (visit, form) => {
      const draft = draftIn(visit, form);
      const { name, content_type, body, on, digest, active } = draft;
      const { policy } = visit.services;
      const reason = reasonIn(form);
      if (visit.params['name'] !== undefined && on === null)
        throw new GateError('invalid_request', 'the form does not say which version it was made on');
      const lacks = nameLacks(draft);
      if (lacks !== null) throw new GateError('invalid_request', lacks);
      return on === null
        ? policy.create({ name, content_type, body, active }, reason)
        : policy.update(name, body, { version: on, digest }, reason);
    }),
  ] as const satisfies readonly Action[];

export const [CHECK_NEW, TRY_NEW, CREATE_POLICY] = forms('/policies/new', 'a new policy');
export const [CHECK_POLICY, TRY_POLICY, SAVE_POLICY] = forms('/policies/:name/edit', 'a policy');

/** What the check says of a draft, also that its text or its name cannot be checked. Throws where the engine does not answer. */
async function checkOf({ services }: Visit, draft: Draft): Promise<Check> {
  const lacks = nameLacks(draft);
  if (lacks !== null) return { notYet: lacks };
  try {
    return { ok: true, value: await services.policy.validate(fileOf(draft)) };
  } catch (error) {
    if (!(error instanceof GateError) || error.code !== 'invalid_request') throw error;
    return { notYet: `It cannot be checked as it was typed: ${error.message}` };
  }
}

async function checkSettled(visit: Visit, draft: Draft): Promise<Check> {
  const asked = await settled('policy', checkOf(visit, draft));
  return asked.ok ? asked.value : asked;
}

/** The editor with what is stored, or with what was typed and what the check says of it: `said`, or it is asked; `null`: it is not. */
async function editor(visit: Visit, form?: Form, said?: Check | null): Promise<Shown> {
  const { services, params } = visit;
  const name = params['name'];
  const file: Settled<KeptFile | null> =
    name === undefined ? { ok: true, value: null } : await settled('policy', services.policy.kept(name));
  const stored = file.ok ? file.value : null;
  const typed = form && draftIn(visit, form);
  const draft = typed ?? (stored ? draftOf(stored) : newDraft());
  const checked = said === undefined && typed ? await checkSettled(visit, typed) : said;
  const title = name === undefined ? 'A new policy' : `Edit ${name}`;
  const cannot = whyNot(name, file);
  const overtaken =
    stored && draft.on !== null
      ? await between(visit, stored.name, { on: draft.on, now: stored.current_version })
      : null;
  return {
    title,
    keptForBack: form !== undefined,
    ...(name !== undefined && file.ok && file.value === null && { status: 404 }),
    body: (
      <section class="editor">
        <h1>
          {name === undefined ? (
            title
          ) : (
            <>
              Edit <Foreign text={name} />
            </>
          )}
        </h1>
        <p>
          {name === undefined ? (
            <a href="/policies">All rules</a>
          ) : (
            <a href={policyAddress(name)}>The policy as it is</a>
          )}
        </p>
        {cannot ? (
          <>
            {cannot}
            {form && <Typed form={form} />}
          </>
        ) : (
          <>
            <Standing of={stored} />
            {stored && <Whose tenant={stored.tenant} person={visit.person.tenant} />}
            {stored?.current_body === null && (
              <Edited why={stored.tampered ?? ''}>
                {isMendedForAll(stored, visit.person.tenant) ? <MendedForAll /> : 'What you save takes its place.'}
              </Edited>
            )}
            {overtaken && (
              <Overtaken of={overtaken} nowMs={visit.nowMs}>
                What you typed stands below. Take over what you want of that: saving puts your text on top of version{' '}
                {overtaken.now}.
              </Overtaken>
            )}
            <Editing
              draft={draft}
              stored={stored}
              checked={checked ?? null}
              overtaken={overtaken}
              visit={visit}
              form={form}
            />
          </>
        )}
      </section>
    ),
  };
}

const fileOf = ({ name, content_type, body }: Draft) => ({ name, content_type, body });
const draftOf = ({
  name,
  content_type,
  current_body: body,
  current_version: on,
  current_body_sha256: digest,
  active,
}: KeptFile): Draft => ({
  name,
  content_type,
  body: body ?? '',
  on,
  digest,
  reason: '',
  active,
});

function whyNot(name: string | undefined, file: Settled<KeptFile | null>): VNode | null {
  if (name === undefined) return null;
  if (!file.ok) return <OrAway of={file}>{() => null}</OrAway>;
  if (file.value === null) return <NoSuchFile />;
  if (file.value.protected)
    return (
      <Empty>
        It ships with Gate: a release changes it. <a href="/policies">All rules</a>
      </Empty>
    );
  return file.value.deleted_at === null ? null : (
    <Empty>It was deleted. A new policy of its name goes on behind its versions.</Empty>
  );
}

const Editing = ({
  draft,
  stored,
  checked,
  overtaken,
  visit: { csrf },
  form,
}: {
  readonly draft: Draft;
  readonly stored: KeptFile | null;
  readonly checked: Check | null;
  readonly overtaken: Between | null;
  readonly visit: Visit;
  readonly form: Form | undefined;
}) => {
  const path = at(stored?.name);
  return (
    <form method="post" action={path} class="editing" data-check={`${path}/check`}>
      <Csrf token={csrf} />
      {stored ? (
        <SeenFields
          version={versionShownOf(overtaken, stored.current_version)}
          digest={digestShownOf(overtaken, stored.current_body_sha256, draft.digest)}
        />
      ) : (
        <label>
          Name, which ends with <code>.rego</code> or <code>.json</code>
          <input name="policy_name" required maxLength={128} value={draft.name} placeholder="pay_limits.rego" />
        </label>
      )}
      <div class="beside">
        <div>
          <label for="body">Text</label>
          <textarea
            id="body"
            name="body"
            class="code"
            rows={24}
            maxLength={MAX_POLICY_BYTES}
            spellcheck={false}
            autocomplete="off"
            // The parser of pages takes the first line break away.
            value={`\n${draft.body}`}
          />
        </div>
        <Checked of={checked} draft={draft} stored={stored?.current_body ?? null} />
      </div>
      {/* The first button is the one that Enter in a field means. */}
      <p>
        <button type="submit" formaction={`${path}/check`} formnovalidate>
          Check
        </button>
      </p>
      {draft.content_type === 'rego' && (
        <details>
          <summary>What a rule reads of a call</summary>
          <p>
            {RULE_INPUT.map((name) => (
              <code key={name}>input.{name} </code>
            ))}
          </p>
        </details>
      )}
      <details open={form !== undefined && form.get('window') !== ''}>
        <summary>Try it on recorded calls</summary>
        <CallsFields form={form} />
        <p>
          <button type="submit" formaction={`${path}/try`} formnovalidate>
            What it would have decided
          </button>{' '}
          <span class="dim">Nothing is stored.</span>
        </p>
      </details>
      <PolicyReason typed={draft.reason} label="Reason, which is recorded with the version" />
      {stored === null && (
        <label class="tick">
          <input type="checkbox" name="active" value="yes" checked={draft.active} /> in force at once; otherwise it
          waits switched off
        </label>
      )}
      <p>
        <button class="act" type="submit">
          {stored ? 'Save as a new version' : 'Save'}
        </button>{' '}
        {stored && <span class="dim">{whenSaved(stored)}</span>}
      </p>
    </form>
  );
};
