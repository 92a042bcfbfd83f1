import type { TenantBudget } from '../../../contracts/identity.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import { oneLine } from '../../../domain/printable.js';
import { microsOf } from '../../../domain/spend/amounts.js';
import { Csrf } from '../../ui/parts.js';
import { type Action, type Form, REASON, type Visit } from '../../visit.js';
import { reasonOr, Why } from '../stops/release.js';

const NO_LIMIT = 'none';
const SUMS = `a sum is a number as 12.50, with six decimals at most, 0 for nothing, or ${NO_LIMIT} for no limit: nothing was done`;

/** Sets what the tenant, or an agent of it, may spend in a month. The page shows the form again where it is refused. */
export const budgetForm = (refused: Action['refused']): Action => ({
  of: 'tenants',
  path: '/tenants/budget',
  role: 'admin',
  does: 'set what the tenant, or an agent of it, may spend in a month',
  written: { agent_name: 'Agent', sum: 'Budget', ...REASON },
  refused,
  async act(visit, form) {
    const sum = form.get('sum').trim();
    const micros = sum === NO_LIMIT ? null : microsOf(sum);
    if (micros === undefined) throw new GateError('budget_invalid', SUMS);
    const agent = whoseIn(form);
    if (form.get('budgets') !== budgetsSeen(await visit.services.identity.budget()))
      throw new GateError(
        'invalid_request',
        'Somebody changed a budget since you looked at them: nothing was done. What stands now is here; send it again if you still mean it.',
      );
    // So that a slip never looks like a limit.
    if (agent !== null && form.get('unlisted') !== 'yes' && !(await isKnown(visit, agent)))
      throw new GateError(
        'invalid_request',
        'No agent of this name is known, by its calls or to the identity service: nothing was done. If the name is right, tick the box beside it.',
      );
    await visit.services.identity.setBudget(agent, micros, reasonOr(form));
    return '/tenants';
  },
});

/** The agent that is meant, `null`: the tenant whole. Throws where the form says both, or neither. */
function whoseIn(form: Form): string | null {
  const agent = form.get('agent_name');
  if (form.get('whose') === 'tenant' && agent === '') return null;
  if (form.get('whose') === 'agent' && agent !== '') return agent;
  throw new GateError(
    'invalid_request',
    'say whose budget it is: that of the tenant whole, without the name of an agent, or that of an agent, with it. Nothing was done.',
  );
}

/** Names what somebody looked at: every budget, and when it was set. */
export const budgetsSeen = ({ updated_at, agents }: Pick<TenantBudget, 'updated_at' | 'agents'>): string =>
  sha256Hex(JSON.stringify([updated_at ?? null, ...agents.map((one) => [one.agent_name, one.updated_at])]));

async function isKnown({ services: { identity, ledger } }: Visit, agent: string): Promise<boolean> {
  if ((await ledger.rows({ agent, limit: 1 })).length > 0) return true;
  return (await identity.agent(agent)) !== null;
}

/** The form; `names` are those of agents that have a budget or spent something. */
export const SetBudget = ({
  of,
  names,
  visit: { csrf, person },
  typed,
}: {
  readonly of: TenantBudget;
  readonly names: readonly string[];
  readonly visit: Pick<Visit, 'csrf' | 'person'>;
  readonly typed: Form | undefined;
}) => (
  <details open={typed !== undefined}>
    <summary>{of.budget_micros === undefined ? 'Set a budget' : 'Change a budget'}</summary>
    <form method="post" action="/tenants/budget" class="sheet">
      <Csrf token={csrf} />
      <p>
        It counts at every proxy within two seconds. A call that does not fit is refused; one that waits for a person
        does not run once approved where the budget was lowered below what is spent and reserved.
      </p>
      <input type="hidden" name="budgets" value={budgetsSeen(of)} />
      <fieldset>
        <legend>Whose budget</legend>
        <label>
          <input type="radio" name="whose" value="tenant" required checked={typed?.get('whose') === 'tenant'} /> of{' '}
          {person.tenant} whole: of all its agents together
        </label>
        <label>
          <input type="radio" name="whose" value="agent" required checked={typed?.get('whose') === 'agent'} /> of one
          agent
        </label>
      </fieldset>
      <label>
        Agent, where it is of one
        <input name="agent_name" list="spenders" autocomplete="off" value={typed?.get('agent_name') ?? ''} />
      </label>
      <datalist id="spenders">
        {names
          .filter((name) => oneLine(name) === name)
          .map((name) => (
            <option key={name} value={name} />
          ))}
      </datalist>
      <p>
        <label>
          <input type="checkbox" name="unlisted" value="yes" checked={typed?.get('unlisted') === 'yes'} /> The name is
          right, although nobody knows it yet
        </label>
      </p>
      <label>
        Budget of a month, as 12.50; 0 lets nothing through, <code>{NO_LIMIT}</code> takes the limit away
        <input name="sum" required inputmode="decimal" autocomplete="off" value={typed?.get('sum') ?? ''} />
      </label>
      <Why typed={typed?.get('reason') ?? ''} optional />
      <p>
        <button class="act" type="submit">
          Set it
        </button>
      </p>
    </form>
  </details>
);
