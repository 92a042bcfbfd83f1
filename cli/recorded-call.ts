import type { RecordedPolicyInput } from '../contracts/ledger-reports.js';
import { hasUuidForm } from '../domain/uuid.js';
import { CliError } from './errors.js';
import type { StackTarget } from './stack-target.js';

/** What the running stack recorded of a call's judgement, as the policy engine takes it. */
export async function recordedOfStack(stack: Pick<StackTarget, 'ask'>, id: string) {
  if (!hasUuidForm(id)) throw new CliError(`${id} is not a correlation id; \`gate audit\` shows them`, 2);
  const path = `/audit/correlation/${id}/policy-input`;
  const { seq, input, decision, ...rest } = await stack.ask<RecordedPolicyInput>('ledger', 'GET', path);
  if (seq === null || decision === null) throw new CliError(`policy judged no call ${id}`, 4);
  if (input === null) throw new CliError('the recorded input was purged at its date, so nobody can judge it again', 4);
  return { input, decision, ...rest };
}
