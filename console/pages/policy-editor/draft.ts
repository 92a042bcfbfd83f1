import { policyName, type ValidatePolicy } from '../../../contracts/policy-library.js';
import type { Form, Visit } from '../../visit.js';
import { bodyIn } from '../policies/told.js';

/** A text that somebody writes, before it is stored. */
export interface Draft extends ValidatePolicy {
  /** The version that it was begun on; `null`: of a policy that is not there yet. */
  readonly on: number | null;
  /** The text that it was begun on, by its digest; `null` where that is not said. */
  readonly digest: string | null;
  readonly reason: string;
  readonly active: boolean;
}

const BEGINNING = `# Domain:
# Severity: medium
# Tier: review
# Summary:
package gate.authz

import rego.v1

# METADATA
# title: What it watches
review contains "Review: say here what a person should look at." if {
	input.tool_type == "a_tool"
}
`;

const typeOf = (name: string): 'rego' | 'json' => (name.endsWith('.json') ? 'json' : 'rego');

export const newDraft = (): Draft => ({
  name: '',
  content_type: 'rego',
  body: BEGINNING,
  on: null,
  digest: null,
  reason: '',
  active: false,
});

/** Why a draft cannot have its name, in words; `null` where it can. */
export function nameLacks({ name }: Pick<Draft, 'name'>): string | null {
  if (name === '') return 'Give it a name first, which ends with .rego or .json: that says how its text is read.';
  return policyName.safeParse(name).success
    ? null
    : 'Give it another name, of 128 characters at most and without /, \\ and .. in it.';
}

/** What was typed. The name of a policy that is there stands in the address. */
export function draftIn({ params }: Pick<Visit, 'params'>, form: Form): Draft {
  const name = params['name'] ?? form.get('policy_name').trim();
  const on = Number(form.get('version'));
  return {
    name,
    content_type: typeOf(name),
    body: bodyIn(form),
    on: params['name'] === undefined || !Number.isSafeInteger(on) || on < 1 ? null : on,
    digest: form.get('digest') || null,
    reason: form.get('reason'),
    active: form.get('active') === 'yes',
  };
}
