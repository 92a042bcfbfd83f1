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

  it('says of an upstream that was not reached that nothing speaks against the same action later', () => {
    expect(adviceOf('upstream_unreachable')).toMatchObject({
      retry: 'no',
      allowed: expect.stringContaining('new request, once the upstream answers again'),
    });
  });

  it('says that nobody can approve what policy denied, and that somebody can decide what nobody decided', () => {
    expect(adviceOf('policy_denied')).toMatchObject({ person_can_help: false });
    expect(adviceOf('review_expired')).toMatchObject({ person_can_help: true });
  });

  const denied = (...reasons: string[]) => adviceOf('policy_denied', reasons)?.['allowed'] as string;

  it('says for each rule what would be allowed instead', () => {
    const shell = denied('Violation: shell execution is not allowed.');
    expect(shell).toMatch(/^The same work by a tool .* runs no commands\. Nobody can approve this one/);
    const rule =
      'Violation: trade_execution: no limit price (limit_price); a market order pays any price; send a limit order.';
    expect(denied(rule)).toMatch(/^Send a limit order\. Nobody/);
    const said = denied('something else', 'Violation: a rule of an operator', 'Violation: ends with; ');
    expect(said).toBe(adviceOf('policy_denied')?.['allowed']);
    expect(adviceOf('review_denied', ['Violation: shell execution is not allowed.'])).toEqual(
      adviceOf('review_denied'),
    );
  });

  const BUDGET = 'Violation: the budget of this agent is spent.';
  const DESTRUCTIVE = 'Violation: destructive tools are not allowed.';
  const EXPORT = 'Violation: Bulk export is allowed in business hours only.';
  const COMMAND = 'Violation: a shell command in the arguments: rm.';
  const SCORE = 'Violation: Intent score is not below the threshold.';
  const DRIFT = 'Violation: persona drift is over the hard threshold: it is unlike the example calls.';

  it.each([
    [
      'one of a time',
      [BUDGET],
      'The same call once the budget begins anew or an operator raised it, as a new request.',
    ],
    ['one of words', [COMMAND], 'The same call without a command in its arguments.'],
    [
      'each of a time',
      [EXPORT, BUDGET],
      'The same call in business hours, and once the budget begins anew or an operator raised it, as a new request.',
    ],
    [
      'of words and of a time',
      [EXPORT, COMMAND],
      'The same call without a command in its arguments, and in business hours, as a new request.',
    ],
    [
      'of a tool and of a time, which holds for every tool',
      [DESTRUCTIVE, BUDGET],
      'All of this at once: A tool that reads, adds or changes, and removes nothing. And only once the budget begins anew or an operator raised it.',
    ],
    [
      'of two tools',
      [DESTRUCTIVE, 'Violation: shell execution is not allowed.'],
      'All of this at once: A tool that reads, adds or changes, and removes nothing. The same work by a tool that is made for it and runs no commands.',
    ],
    [
      'of inspection, which says it in its own words too',
      ['prompt injection detected: persuasion', SCORE, 'Violation: prompt injection detected.'],
      'A call whose arguments are data alone.',
    ],
  ])('says of several reasons what all of them would allow: %s', (_, reasons, said) => {
    const { allowed, retry } = adviceOf('policy_denied', reasons) ?? {};
    expect(allowed).toBe(
      `${said} Nobody can approve this one; only an operator can change the rules or the class of the tool.`,
    );
    // The same id stays denied.
    expect(retry).toBe('no');
  });

  it.each([
    ['a rule that says nothing', ['Violation: a rule of an operator', BUDGET]],
    ['a limit that cannot be read', [BUDGET, 'Violation: Token velocity: the call count or its limit cannot be read.']],
    ['what is no reason of a rule', [BUDGET, 'BLOCK: malicious_code (rm)']],
    ['words before the reasons that are not those of inspection', ['a reason of an operator', BUDGET]],
    ['a member that is no text', [BUDGET, 5]],
    ['more than anybody can heed at once', [DESTRUCTIVE, DRIFT, SCORE, BUDGET]],
  ])('says of several reasons nothing that one of them would still deny: %s', (_, reasons) => {
    expect(adviceOf('policy_denied', reasons)).toEqual(adviceOf('policy_denied'));
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
