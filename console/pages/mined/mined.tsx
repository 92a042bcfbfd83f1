import {
  type LeftTool,
  type LeftWhy,
  type MinedResult,
  type MinedSuggestion,
  type MinePolicies,
  MOST_SUGGESTIONS,
} from '../../../contracts/policy-mining.js';
import { GateError } from '../../../domain/errors.js';
import { settled } from '../../services.js';
import { addressOf } from '../../ui/addresses.js';
import { Window } from '../../ui/fields.js';
import { Csrf, Empty, Foreign, OrAway, Table, Time } from '../../ui/parts.js';
import { type Action, type Form, type Page, REASON, type Shown, type Visit } from '../../visit.js';
import { policyChange } from '../policies/change.js';
import { engineStands, Standing } from '../policies/standing.js';
import { reasonIn } from '../policies/told.js';
import { bitByBit } from '../policy-lab/bit-by-bit.js';
import { labShown } from '../policy-lab/found.js';
import { CALLS, callsAsked, windowTyped } from '../policy-lab/window.js';
import { Suggestion } from './suggestion.js';

/** How far back is looked for decisions of people, where a form does not say otherwise. */
const USUAL = '30d';

/** Rules that people's own approvals suggest, with what speaks for each and against it. */
export const SUGGESTIONS: Page = {
  of: 'policy-changes',
  path: '/policies/suggestions',
  role: 'admin',
  show: (visit) => suggestionsShown(visit, {}),
};

export const MINE: Action = {
  of: 'policy-changes',
  path: '/policies/suggestions/mine',
  role: 'admin',
  does: 'look for rules that approvals support',
  written: CALLS,
  async act(visit, form) {
    const { policy } = visit.services;
    const wanted = asked(form, visit.nowMs);
    const shown = await suggestionsShown(visit, { form, isMining: true });
    const told = {
      first: 'What people decided is read.',
      progress: ({ decisions, at }: { readonly decisions: number; readonly at: string }) => (
        <>
          {decisions} decisions so far, to <Time iso={at} nowMs={visit.nowMs} />.
        </>
      ),
      result: (found: MinedResult) => <Mined of={found} visit={visit} />,
    };
    return { ...shown, keptForBack: true, later: (until) => bitByBit(policy.mine(wanted, until), told) };
  },
  refused: (visit, form) => suggestionsShown(visit, { form }),
};

/** What the rule of a suggestion would have decided of the same days that it was mined from, and since. */
export const TRY_SUGGESTION: Action = {
  of: 'policy-changes',
  path: '/policies/suggestions/:id/try',
  role: 'admin',
  does: 'try a suggested rule on recorded calls',
  written: REASON,
  async act(visit, form) {
    const { services, params, nowMs } = visit;
    const one = (await services.policy.suggestions()).find(({ id }) => id === params['id']);
    if (one === undefined) throw new GateError('not_found', 'There is no such suggestion.');
    const { rule_name: name, rego_body: body, since } = one;
    const file = { name, content_type: 'rego' as const, body };
    const shown = await suggestionsShown(visit, { form });
    return {
      ...shown,
      keptForBack: true,
      later: (until) => labShown(services.policy.lab({ files: [file], without: [], since }, until), { nowMs }),
    };
  },
  refused: (visit, form) => suggestionsShown(visit, { form }),
};

/** Puts the rule of a suggestion in force. Alone it only has more calls wait. */
export const ACCEPT_SUGGESTION = policyChange(
  {
    path: '/policies/suggestions/:id/install',
    does: 'put a rule in force that approvals suggest',
    refused: (visit, form) => suggestionsShown(visit, { form }),
  },
  ({ services, params: { id = '' } }, form) => services.policy.accept(id, reasonIn(form)),
);

function asked(form: Form, nowMs: number): MinePolicies {
  const { since, until, tool_type } = callsAsked(form, nowMs, USUAL);
  return {
    since,
    ...(until !== undefined && { until }),
    ...(tool_type !== undefined && { tool_type }),
    max_candidates: MOST_SUGGESTIONS,
  };
}

async function suggestionsShown(
  visit: Visit,
  { form, isMining = false }: { readonly form?: Form; readonly isMining?: boolean },
): Promise<Shown> {
  // What was found before is not of interest beside what is looked for now, which it is compared with anyway.
  const found = isMining ? null : await settled('policy', visit.services.policy.suggestions());
  const stands = found === null ? null : await engineStands(visit);
  const typed = windowTyped(form, USUAL);
  const id = visit.params['id'];
  return {
    title: 'Suggestions',
    body: (
      <section class="policy">
        <h1>Suggestions</h1>
        <p>
          The tightest rules that past approvals of people support. Each only has more calls wait; what it names runs
          once its tool is classed so, which is a step of its own. <a href="/policies">All rules</a>
        </p>
        <Standing of={stands} />
        <form method="post" action="/policies/suggestions/mine" class="filter">
          <Csrf token={visit.csrf} />
          <Window asked={typed} />
          <label>
            Tool <input name="tool" value={typed.tool ?? ''} size={16} />
          </label>
          <button class="act" type="submit">
            Look for some
          </button>
        </form>
        {found && (
          <OrAway of={found}>
            {(all) =>
              all.length === 0 ? (
                <Empty>Nothing was suggested yet.</Empty>
              ) : (
                <All of={id === undefined ? all : all.filter((one) => one.id === id)} visit={visit} form={form} />
              )
            }
          </OrAway>
        )}
      </section>
    ),
  };
}

const All = ({
  of,
  visit,
  form,
}: {
  readonly of: readonly MinedSuggestion[];
  readonly visit: Visit;
  readonly form: Form | undefined;
}) => (
  <>
    {of.map((one) => (
      <Suggestion
        key={one.id}
        of={one}
        visit={visit}
        reason={one.id === visit.params['id'] ? form?.get('reason') : ''}
      />
    ))}
  </>
);

const Mined = ({ of, visit }: { readonly of: MinedResult; readonly visit: Visit }) => (
  <section class="lab policy" aria-labelledby="mined">
    <h2 id="mined">What was found</h2>
    <p class="headline">
      {of.candidates.length} {of.candidates.length === 1 ? 'suggestion' : 'suggestions'} of {of.approvals} approvals and{' '}
      {of.denials} denials
      {of.changed > 0 && `; ${of.changed} were approved with other arguments, which counts against what was asked`}.
    </p>
    {of.candidates_dropped > 0 && <p class="dim">{of.candidates_dropped} more were found and are not shown.</p>}
    <All of={of.candidates} visit={visit} form={undefined} />
    {of.left.length > 0 && <Left of={of.left} />}
  </section>
);

const WHY: Readonly<Record<LeftWhy, string>> = {
  too_few: 'too few decisions, days, people or agents',
  rules_ask: 'the rules that ship ask about it whatever it is classed as',
  classed_for_people: 'an operator classed it for people',
  differs_each_time: 'no two calls are alike',
  denied_alike: 'such a call was denied',
  too_large: 'the rule would be too large',
};

const Left = ({ of }: { readonly of: readonly LeftTool[] }) => (
  <>
    <h3>Tools of which nothing is suggested</h3>
    <Table label="Nothing suggested" heads={['Tool', { number: 'Approved' }, { number: 'Denied' }, 'Why']}>
      {of.map(({ tool, approvals, denials, why, detail }) => (
        <tr key={tool}>
          <th scope="row">
            <a href={addressOf('/audit', { tool })}>
              <Foreign text={tool} />
            </a>
          </th>
          <td class="number">{approvals}</td>
          <td class="number">{denials}</td>
          <td>
            {WHY[why]}
            {detail !== '' && (
              <span class="dim">
                : <Foreign text={detail} />
              </span>
            )}
          </td>
        </tr>
      ))}
    </Table>
  </>
);
