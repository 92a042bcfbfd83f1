import { describe, expect, it } from '@jest/globals';
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
