import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import { adviceOf } from './advice.js';
import { rpcAnswer } from './rpc-answers.js';

describe('the advice of a refusal', () => {
  it('is there for every code: whether the same request may be sent again, and whether a person can help', () => {
    for (const [code, { retry }] of Object.entries(ERROR_CODES))
      expect(adviceOf(code)).toMatchObject({ retry, person_can_help: expect.any(Boolean) });
    expect([adviceOf(null), adviceOf('no_such_code'), adviceOf('toString')]).toEqual([null, null, null]);
  });

  it('says that nobody can approve what policy denied, and that somebody can decide what nobody decided', () => {
    expect(adviceOf('policy_denied')).toMatchObject({ person_can_help: false });
    expect(adviceOf('review_expired')).toMatchObject({ person_can_help: true });
  });

  const denied = (...reasons: string[]) => adviceOf('policy_denied', reasons)?.['allowed'] as string;

  it('says for each rule what would be allowed instead, and of several what each says', () => {
    const shell = denied('Violation: shell execution is not allowed.');
    expect(shell).toMatch(/^The same work by a tool .* runs no commands\. Nobody can approve this one/);
    const both = denied(
      'Violation: shell execution is not allowed.',
      'Violation: Bulk export is allowed in business hours only.',
    );
    expect(both).toMatch(/runs no commands\. The same call in business hours\. Nobody/);
    const rule =
      'Violation: trade_execution: no limit price (limit_price); a market order pays any price; send a limit order.';
    expect(denied(rule)).toMatch(/^Send a limit order\. Nobody/);
    const said = denied('something else', 'Violation: a rule of an operator', 'Violation: ends with; ');
    expect(said).toBe(adviceOf('policy_denied')?.['allowed']);
    expect(adviceOf('review_denied', ['Violation: shell execution is not allowed.'])).toEqual(
      adviceOf('review_denied'),
    );
  });

  it('knows every rule of the policies, but those about Gate’s own settings', () => {
    const folder = join(PROJECT_ROOT, 'policies/gate/authz');
    const texts = readdirSync(folder)
      .filter((file) => file.endsWith('.rego') && !file.endsWith('_test.rego'))
      .flatMap((file) => [...readFileSync(join(folder, file), 'utf8').matchAll(/"(Violation: [^"]+)"/g)])
      .map(([, reason]) => reason as string);
    const unknown = texts.filter((reason) => denied(reason) === adviceOf('policy_denied')?.['allowed']);
    expect(unknown.toSorted()).toEqual([
      'Violation: Token velocity: the call count or its limit cannot be read.',
      'Violation: the policy data is incomplete; check data.json.',
      'Violation: the policy input is incomplete: tool_type, agent_history and intent_score are required.',
    ]);
    expect(texts.length).toBeGreaterThan(12);
  });

  it('says the same whatever a detector saw, where a model or a history judged', () => {
    for (const rule of ['prompt injection detected.', 'Intent score is not below the threshold.'])
      expect(denied(`Violation: ${rule}`)).toMatch(/^A call whose arguments are data alone\. Nobody/);
    expect(denied('Violation: persona drift is over the hard threshold (0.91); see x.')).toMatch(/^A call of the kind/);
  });

  it.each([true, false])('stands in the message, and says the same whatever was found (a tool: %p)', (tool) => {
    const said = (reasoning: string) => {
      const body = { error: 'policy_denied', reasoning, correlation_id: 'c' };
      const { body: text } = rpcAnswer({ id: 1, tool, admitted: true }, { status: 403, headers: {}, body });
      const { result, error } = JSON.parse(String(text)) as Record<string, Record<string, Record<string, unknown>>>;
      return (tool ? (result?.['_meta']?.['gate/verdict'] as Record<string, unknown>) : error?.['data'])?.['advice'];
    };
    expect(said('one')).toEqual(adviceOf('policy_denied'));
    expect(said('another')).toEqual(said('one'));
  });
});
