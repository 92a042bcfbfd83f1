import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { GateDenied, gateTools } from '../src/index.js';
import { answerJson, type StubGate, stubGate } from './stub-gate.js';

let gate: StubGate;
let begun: unknown[];
beforeEach(async () => {
  gate = await stubGate();
  begun = [];
});
afterEach(() => gate.close());

describe('a tool that gives results on the way', () => {
  const counting = () =>
    gateTools(
      {
        count: {
          async *execute(input: { upTo: number }) {
            begun.push(input);
            for (let at = 1; at <= input.upTo; at += 1) yield at;
          },
        },
      },
      { endpoint: gate.url },
    ).count;

  it('gives its last one, once Gate allowed the call', async () => {
    gate.answer = (_, response) => answerJson(response, 200, { decision: 'allow' });
    await expect(counting().execute({ upTo: 3 })).resolves.toBe(3);
  });

  it('does not begin where the call is denied', async () => {
    gate.answer = (_, response) => answerJson(response, 403, { error: 'policy_denied', reasons: [] });
    await expect(counting().execute({ upTo: 3 })).rejects.toThrow(GateDenied);
    expect(begun).toEqual([]);
  });
});
