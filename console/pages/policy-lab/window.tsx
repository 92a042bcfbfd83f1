import type { PolicyLab } from '../../../contracts/policy-studies.js';
import { Window } from '../../ui/fields.js';
import { windowAsked, type WindowName } from '../../ui/windows.js';
import type { Form, WrittenFields } from '../../visit.js';
import { type Asked, asked } from '../audit/asked.js';

/** Over everything that the ledger has. */
const BEGINNING = '1970-01-01T00:00:00Z';
const NAMES = ['window', 'from', 'to', 'agent', 'tool'] as const;

/** What is written into them. */
export const CALLS: WrittenFields = { from: 'From', to: 'To', agent: 'Agent', tool: 'Tool' };

/** What a form says of them, or the usual window. */
export const windowTyped = (form: Form | undefined, usual: WindowName = '24h'): Asked =>
  form === undefined || form.names().every((name) => name !== 'window')
    ? { window: usual }
    : asked(Object.fromEntries(NAMES.map((name) => [name, form.get(name)])));

/** Which recorded calls rules are tried on: those of the last day, where a form does not say otherwise. */
export function callsAsked(
  form: Form | undefined,
  nowMs: number,
  usual?: WindowName,
): Pick<PolicyLab, 'since' | 'until' | 'agent_id' | 'tool_type'> {
  const { agent, tool, ...said } = windowTyped(form, usual);
  const { from, to } = windowAsked(said, nowMs);
  return {
    since: from ?? BEGINNING,
    ...(to !== undefined && { until: to }),
    ...(agent !== undefined && { agent_id: agent }),
    ...(tool !== undefined && { tool_type: tool }),
  };
}

export const CallsFields = ({ form }: { readonly form: Form | undefined }) => {
  const said = windowTyped(form);
  return (
    <p class="filter">
      <Window asked={said} />
      <label>
        Agent <input name="agent" value={said.agent ?? ''} size={16} />
      </label>
      <label>
        Tool <input name="tool" value={said.tool ?? ''} size={16} />
      </label>
    </p>
  );
};
