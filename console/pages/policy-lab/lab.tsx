import type { PolicyFileShown } from '../../../contracts/policy.js';
import { GateError } from '../../../domain/errors.js';
import { settled } from '../../services.js';
import { Csrf, Empty, Foreign, OrAway } from '../../ui/parts.js';
import type { Action, Form, Page, Shown, Visit } from '../../visit.js';
import { policyAddress, policyPart } from '../policies/address.js';
import { Standing } from '../policies/standing.js';
import { NoSuchFile } from '../policies/told.js';
import { labShown } from './found.js';
import { CALLS, callsAsked, CallsFields } from './window.js';

/** What a policy would have decided of recorded calls: with it as it is stored, or without it. */
export const LAB: Page = {
  of: 'policy-changes',
  path: '/policies/:name/lab',
  role: 'admin',
  show: (visit) => labPage(visit),
};

export const RUN_LAB: Action = {
  of: 'policy-changes',
  path: '/policies/:name/lab',
  role: 'admin',
  does: 'try a policy on recorded calls',
  written: CALLS,
  async act(visit, form) {
    const { services, params, nowMs } = visit;
    const name = params['name'] ?? '';
    const file = await services.policy.file(name);
    if (file === null) throw new GateError('not_found', 'There is no file of this name.');
    const { content_type, current_body: body } = file;
    const candidate =
      form.get('which') === 'without'
        ? { files: [], without: [name] }
        : { files: [{ name, content_type, body }], without: [] };
    const asked = { ...candidate, ...callsAsked(form, nowMs) };
    return {
      ...(await labPage(visit, form)),
      keptForBack: true,
      later: (until) => labShown(services.policy.lab(asked, until), { nowMs, then: <Then of={file} /> }),
    };
  },
  refused: labPage,
};

async function labPage(visit: Visit, form?: Form): Promise<Shown> {
  const { services, params } = visit;
  const name = params['name'] ?? '';
  const file = await settled('policy', services.policy.file(name));
  return {
    title: `Try ${name}`,
    ...(file.ok && file.value === null && { status: 404 }),
    body: (
      <section class="policy">
        <h1>
          Try <Foreign text={name} /> on recorded calls
        </h1>
        <p>
          <a href={policyAddress(name)}>The policy</a>
        </p>
        {file.ok && <Standing of={file.value} />}
        <OrAway of={file}>
          {(found) =>
            found === null ? (
              <NoSuchFile />
            ) : found.protected ? (
              <Empty>
                It ships with Gate and is always in force. <a href={policyAddress(name)}>Its text</a>
              </Empty>
            ) : (
              <Asking of={found} visit={visit} form={form} />
            )
          }
        </OrAway>
      </section>
    ),
  };
}

const Then = ({ of }: { readonly of: PolicyFileShown }) => (
  <p>
    <a class="button" href={`${policyAddress(of.name)}#acts`}>
      {of.active ? 'Switch it off, or roll it back' : 'Put it in force'}
    </a>
  </p>
);

const nowOf = ({ not_in_force: late }: PolicyFileShown): string =>
  late === null ? ', as it is in force now' : ', as it is stored';

const Asking = ({
  of,
  visit: { csrf },
  form,
}: {
  readonly of: PolicyFileShown;
  readonly visit: Visit;
  readonly form: Form | undefined;
}) => {
  const which = form?.get('which') || (of.active ? 'without' : 'with');
  const options = [
    ['with', `with version ${of.current_version} of it${of.active ? nowOf(of) : ''}`],
    ['without', `without it${of.active ? '' : ', as now'}`],
  ] as const;
  return (
    <form method="post" action={policyPart(of.name, 'lab')} class="sheet">
      <Csrf token={csrf} />
      <fieldset>
        <legend>Judge them again</legend>
        {options.map(([value, words]) => (
          <label key={value}>
            <input type="radio" name="which" value={value} checked={value === which} /> {words}
          </label>
        ))}
      </fieldset>
      <CallsFields form={form} />
      <p>
        <button class="act" type="submit">
          Try it
        </button>{' '}
        <a href={policyPart(of.name, 'edit')}>Try another text</a>
      </p>
      <p class="dim">Nothing is stored, and nothing that was decided is decided anew.</p>
    </form>
  );
};
