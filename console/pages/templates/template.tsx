import type { JsonObject } from '../../../contracts/json.js';
import { jsonObject } from '../../../contracts/json.js';
import type { PolicyFileShown } from '../../../contracts/policy.js';
import type { TemplateFile, ValidatePolicy } from '../../../contracts/policy-library.js';
import { GateError } from '../../../domain/errors.js';
import { tierTold } from '../../../domain/policy/policy-header.js';
import { type SeenVersion, settled, type Settled } from '../../services.js';
import { Csrf, Empty, Facts, Foreign, Id, OrAway } from '../../ui/parts.js';
import { Source } from '../../ui/source.js';
import { Typed } from '../../ui/typed.js';
import { type Action, type Form, type Page, REASON, type Shown, type Visit } from '../../visit.js';
import { policyAddress, templateAddress } from '../policies/address.js';
import { policyChange } from '../policies/change.js';
import { type Between, between, digestShownOf, Overtaken, versionShownOf } from '../policies/overtaken.js';
import { engineStands, Standing } from '../policies/standing.js';
import { PolicyReason, reasonIn, SeenFields, seenIn, versionIn } from '../policies/told.js';
import { labShown } from '../policy-lab/found.js';
import { CALLS, callsAsked, CallsFields } from '../policy-lab/window.js';
import { ParameterFields, parametersIn, parametersOf } from './parameters.js';

/** One template: its text, what it can be set to, and what it would have decided. */
export const TEMPLATE: Page = {
  of: 'policy-changes',
  path: '/policies/templates/:name',
  role: 'viewer',
  show: (visit) => templateShown(visit, null),
};

/** What is set of a template, also where only its document is in force, and the version of the document that says so; none where its defaults hold. */
interface SetTo {
  readonly parameters: JsonObject;
  readonly version: number | null;
  readonly digest: string | null;
  /** What was switched off and comes back as it is, so that the page cannot show what would be in force: the policy, or its document. */
  readonly off: SwitchedOff | null;
}
interface SwitchedOff {
  readonly name: string;
  readonly version: number;
  /** The document that its parameters stand in; otherwise the rule. */
  readonly isDocument: boolean;
}
const DEFAULTS: SetTo = { parameters: {}, version: null, digest: null, off: null };

const documentOf = (name: string): string => name.replace(/\.rego$/, '.json');
const bodyOf = (parameters: JsonObject): string => `${JSON.stringify(parameters, null, 2)}\n`;

/** No template has another name. */
const templateOf = async ({ services: { policy } }: Visit, name: string): Promise<TemplateFile | null> =>
  name.endsWith('.rego') ? policy.template(name) : null;

async function found(visit: Visit): Promise<{ template: TemplateFile; set: SetTo }> {
  const name = visit.params['name'] ?? '';
  const template = await templateOf(visit, name);
  if (template === null) throw new GateError('not_found', 'There is no template of this name.');
  return { template, set: await setOf(visit, template) };
}

/** A file that installing goes by. To one that is deleted, or for everybody and switched off, it does nothing: what is installed comes in its place. */
async function standing({ services, person }: Visit, name: string): Promise<PolicyFileShown | null> {
  const file = await services.policy.file(name);
  if (file === null || file.deleted_at !== null) return null;
  return file.active || file.tenant === person.tenant ? file : null;
}

async function setOf(visit: Visit, of: TemplateFile): Promise<SetTo> {
  const document = of.parameters === null ? null : await standing(visit, documentOf(of.name));
  if (document !== null && !document.active) return { ...DEFAULTS, off: offOf(document, true) };
  const rule = of.installed ? null : await standing(visit, of.name);
  const off = rule !== null && !rule.active && rule.current_body !== of.body ? offOf(rule, false) : null;
  if (document === null) return { ...DEFAULTS, off };
  const said = jsonObject.safeParse(JSON.parse(document.current_body));
  return {
    parameters: said.data ?? {},
    version: document.current_version,
    digest: document.current_body_sha256,
    off,
  };
}

const offOf = (
  { name, current_version: version }: { readonly name: string; readonly current_version: number },
  isDocument: boolean,
): SwitchedOff => ({ name, version, isDocument });

/** What the form of a template changes, and why. Refused where what it would change is switched off. */
async function asForm(visit: Visit, form: Form) {
  const { template, set } = await found(visit);
  const reason = reasonIn(form);
  if (set.off !== null)
    throw new GateError(
      'policy_exists',
      `${set.off.name} was switched off: switch it on, or delete it, on its own page first`,
    );
  return { template, set, reason, parameters: parametersIn(parametersOf(template.parameters, set.parameters), form) };
}

/** What all forms of a template have in common. */
const TYPED = {
  written: { ...REASON, ...CALLS, 'parameter.*': 'Value' },
  refused: (visit, form) => templateShown(visit, { form, parameters: null }),
} satisfies Pick<Action, 'written' | 'refused'>;

/** What it would have decided, with the parameters as they were typed; what can be done then stands below. */
export const TRY_TEMPLATE: Action = {
  of: 'policy-changes',
  path: '/policies/templates/:name/try',
  role: 'admin',
  does: 'try a template on recorded calls',
  ...TYPED,
  async act(visit, form) {
    const { template, set } = await found(visit);
    const parameters = parametersIn(parametersOf(template.parameters, set.parameters), form);
    const asked = {
      files: filesOf(template, parameters),
      without: [],
      ...callsAsked(form, visit.nowMs),
    };
    const shown = await templateShown(visit, { form, parameters });
    return {
      ...shown,
      keptForBack: true,
      later: (until) =>
        labShown(visit.services.policy.lab(asked, until), { nowMs: visit.nowMs, then: <Then of={template} /> }),
    };
  },
};

const Then = ({ of }: { readonly of: TemplateFile }) => (
  <p>
    <a class="button" href="#acts">
      {of.installed ? 'Set it so' : 'Install it'}, above
    </a>
  </p>
);

/** Of one that is in force its parameters alone: its text may be another one by now. */
function filesOf(
  { name, body, parameters: schema, installed }: TemplateFile,
  parameters: JsonObject,
): ValidatePolicy[] {
  const rule = { name, content_type: 'rego', body } as const;
  const document = { name: documentOf(name), content_type: 'json', body: bodyOf(parameters) } as const;
  return [...(installed ? [] : [rule]), ...(schema === null ? [] : [document])];
}

export const INSTALL_TEMPLATE = policyChange(
  { path: '/policies/templates/:name/install', does: 'install a template', ...TYPED },
  async (visit, form) => {
    const { template, set, reason, parameters } = await asForm(visit, form);
    // A document that is in force already says what is shown here, or less.
    const isSet = Object.keys(parameters).length > 0 || set.version !== null;
    return visit.services.policy.install(
      template.name,
      isSet ? parameters : null,
      template.parameters === null ? undefined : documentSeen(form),
      reason,
    );
  },
);

/** Other parameters of a template that is in force. Refused where somebody set them meanwhile. */
export const SET_TEMPLATE = policyChange(
  { path: '/policies/templates/:name/set', does: 'set what an installed template looks for', ...TYPED },
  async (visit, form) => {
    const { template, reason, parameters } = await asForm(visit, form);
    const document = documentOf(template.name);
    const { policy } = visit.services;
    const seen = documentSeen(form);
    return seen === null
      ? policy.create({ name: document, content_type: 'json', body: bodyOf(parameters), active: true }, reason)
      : policy.update(document, bodyOf(parameters), seen, reason);
  },
);

/** The version of its document that the form of a template was made on; `null` where there was none. */
const versionAsked = (form: Form): number | null =>
  form.get('version') === '' ? null : versionIn(form.get('version'));
const documentSeen = (form: Form): SeenVersion | null => (form.get('version') === '' ? null : seenIn(form));

/** What somebody typed; with the parameters that it says, once they could be read. */
interface Asked {
  readonly form: Form;
  readonly parameters: JsonObject | null;
}

async function templateShown(visit: Visit, asked: Asked | null): Promise<Shown> {
  const { params, mayPost } = visit;
  const name = params['name'] ?? '';
  const template = await settled('policy', templateOf(visit, name));
  const set =
    template.ok && template.value !== null
      ? await settled('policy', setOf(visit, template.value))
      : ({ ok: true, value: DEFAULTS } as const);
  const stands = await engineStands(visit);
  const overtaken =
    asked !== null && set.ok && set.value.version !== null
      ? await between(visit, documentOf(name), { on: versionAsked(asked.form), now: set.value.version })
      : null;
  const seen = asked === null ? null : versionAsked(asked.form);
  const gone = set.ok && set.value.version === null && set.value.off === null ? seen : null;
  return {
    title: name.replace(/\.rego$/, ''),
    ...(template.ok && template.value === null && { status: 404 }),
    body: (
      <section class="policy">
        <h1>
          <Foreign text={name.replace(/\.rego$/, '')} />
        </h1>
        <p>
          <a href="/policies/templates">All templates</a>
        </p>
        <Standing of={stands} />
        <OrAway of={template}>
          {(one) =>
            one === null ? (
              <Empty>
                There is no template of this name. <a href="/policies/templates">All templates</a>
              </Empty>
            ) : (
              <>
                <About of={one} />
                {overtaken && (
                  <Overtaken of={overtaken} nowMs={visit.nowMs}>
                    What you typed stands below. Take over what you want of that:{' '}
                    {one.installed ? 'setting' : 'installing'} it puts yours on top of version {overtaken.now}.
                  </Overtaken>
                )}
                {gone !== null && (
                  <p class="notice bad" role="alert">
                    {documentOf(name)}, of whose version {gone} this was made, was deleted meanwhile. What you typed
                    stands below: {one.installed ? 'setting' : 'installing'} it makes the document anew.
                  </p>
                )}
                {mayPost('/policies/templates/:name/install') ? (
                  <Acts of={one} set={set} overtaken={overtaken} visit={visit} asked={asked} />
                ) : (
                  <p class="dim">An administrator installs it.</p>
                )}
                {/* What it would have decided comes below, and is looked for first. */}
                <details open={asked === null}>
                  <summary>Text</summary>
                  <Source text={one.body} />
                </details>
              </>
            )
          }
        </OrAway>
        {asked && !template.ok && <Typed form={asked.form} />}
      </section>
    ),
  };
}

const About = ({ of }: { readonly of: TemplateFile }) => (
  <>
    <p>
      <Foreign text={of.summary} />
    </p>
    <Facts
      of={[
        [
          'State',
          of.installed ? (
            <>
              <span class="tag allow">in force</span> as <a href={policyAddress(of.name)}>a policy</a>
            </>
          ) : (
            <span class="tag none">not in force</span>
          ),
        ],
        [
          'Domain',
          <a href={`/policies/templates?${new URLSearchParams({ domain: of.domain }).toString()}`}>
            <Foreign text={of.domain} />
          </a>,
        ],
        ['Severity', of.severity],
        ['Does', tierTold(of.tier)],
        ['Frameworks', <Foreign text={of.frameworks.join(', ')} />],
        ['Tools', <Foreign text={of.tool_surface.join(', ')} />],
        ['SHA-256', <Id id={of.body_sha256} />],
      ]}
    />
  </>
);

/** It would come back as it is, which this page does not show. */
const Off = ({
  of: { name, version, isDocument },
  installed,
  form,
}: {
  readonly of: SwitchedOff;
  readonly installed: boolean;
  readonly form: Form | undefined;
}) => (
  <section aria-labelledby="acts">
    <h2 id="acts">Switched off here</h2>
    {isDocument ? (
      <>
        <p>
          The parameters of this template were set before, in{' '}
          <a href={policyAddress(name)}>
            <Foreign text={name} />
          </a>
          , version {version}. That document is there and was switched off: nothing of it holds
          {installed && ', and the template that is in force follows its own defaults'}.
        </p>
        <p>
          {installed ? 'Setting parameters' : 'Installing the template'} neither puts it in force nor writes over it, so
          it is refused as long as it is off. Switch it on there, and what it says holds for the template; or delete it,
          and come back to begin with the defaults.
        </p>
      </>
    ) : (
      <p>
        <a href={policyAddress(name)}>
          <Foreign text={name} />
        </a>{' '}
        was switched off, with a text of its own. Installing the template does not put it in force, and is refused as
        long as it is there. Switch it on there, or delete it and come back.
      </p>
    )}
    {form && <Typed form={form} />}
  </section>
);

const Acts = ({
  of,
  set,
  overtaken,
  visit: { csrf, person },
  asked,
}: {
  readonly of: TemplateFile;
  readonly set: Settled<SetTo>;
  readonly overtaken: Between | null;
  readonly visit: Visit;
  readonly asked: Asked | null;
}) => (
  <OrAway of={set}>
    {({ parameters, version, digest, off }) => {
      if (off !== null) return <Off of={off} installed={of.installed} form={asked?.form} />;
      const fields = parametersOf(of.parameters, parameters);
      // Of one that is in force and has no parameters there is nothing to set here.
      if (of.installed && fields.length === 0) return null;
      const form = asked?.form;
      return (
        <section aria-labelledby="acts">
          <h2 id="acts">{!of.installed ? 'Install it' : form ? 'What you typed' : 'What it is set to'}</h2>
          <form method="post" action={templateAddress(of.name, 'try')} class="parameters">
            <Csrf token={csrf} />
            {fields.length > 0 && (
              <SeenFields
                version={versionShownOf(overtaken, version)}
                digest={digestShownOf(overtaken, digest, form?.get('digest') || null)}
              />
            )}
            {fields.length > 0 && (
              <details open={(of.installed && form === undefined) || asked?.parameters === null}>
                <summary>
                  {fields.length} {fields.length === 1 ? 'parameter' : 'parameters'}; what is left as it is follows the
                  template
                </summary>
                <ParameterFields of={fields} form={form} />
              </details>
            )}
            <CallsFields form={form} />
            <p>
              <button class={asked?.parameters ? undefined : 'act'} type="submit" formnovalidate>
                What it would have decided
              </button>{' '}
              <span class="dim">
                Nothing is stored by it{asked?.parameters ? '' : '; then it can be put in force'}.
              </span>
            </p>
            {asked !== null && (
              <>
                <PolicyReason typed={asked.form.get('reason')} />
                <p>
                  <button
                    class="act"
                    type="submit"
                    formaction={templateAddress(of.name, of.installed ? 'set' : 'install')}
                  >
                    {of.installed ? 'Set it so' : 'Install it'}
                  </button>{' '}
                  <span class="dim">
                    It judges calls at once{person.tenant !== null && `, of your tenant, ${person.tenant}, alone`}.
                  </span>
                </p>
              </>
            )}
          </form>
        </section>
      );
    }}
  </OrAway>
);
