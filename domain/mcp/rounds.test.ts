import { describe, expect, it } from '@jest/globals';
import { askedBy, broughtBack, roundFault, withoutRound } from './rounds.js';

const call = (params: object) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x', ...params } });

describe('what a request brings of an earlier round', () => {
  it('is taken in its own text, and is no part of the call', () => {
    const answers = { one: { action: 'accept', content: { n: 1 } }, two: { roots: [] } };
    const body = call({ requestState: 's', inputResponses: answers });
    const brought = broughtBack(
      '{"params":{"requestState":"s","inputResponses":{"one":{"action":"accept","content":{"n":1.10}}}}}',
    );
    expect(brought).toEqual({
      state: 's',
      answers: new Map([['one', '{"action":"accept","content":{"n":1.10}}']]),
    });
    expect(roundFault(body)).toBeNull();
    expect(withoutRound(body)).toEqual(call({}));
    expect(askedBy(withoutRound(body))).toBe(askedBy(call({ _meta: { any: 1 } })));
    expect(askedBy(call({ arguments: { a: 1 } }))).not.toBe(askedBy(call({})));
    expect(broughtBack(JSON.stringify(call({})))).toBeNull();
    const other = { ...body, method: 'tools/list' };
    expect(withoutRound(other)).toBe(other);
  });

  it.each([
    [{ requestState: 1 }, 'params.requestState'],
    [{ requestState: null }, 'params.requestState'],
    [{ inputResponses: 'no' }, 'params.inputResponses'],
    [{ inputResponses: [] }, 'params.inputResponses'],
    [{ inputResponses: null }, 'params.inputResponses'],
    [{ inputResponses: { one: 'accept' } }, 'params.inputResponses'],
    [{ inputResponses: { one: [] } }, 'params.inputResponses'],
    [
      { inputResponses: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`k${at}`, {}])) },
      'params.inputResponses',
    ],
  ])('is refused as %j', (params, field) => {
    expect(roundFault(call(params))).toMatchObject({ field });
  });
});
