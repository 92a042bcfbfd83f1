import { describe, expect, it } from '@jest/globals';
import type { PolicyInput } from '../../contracts/policy.js';
import { decisionOf } from '../../test/support/judgements.js';
import { judgeSiblings, worstDecision } from './batch.js';

describe('the decision on a batch', () => {
  it('keeps the event of every call in it, and a single call its own', () => {
    const [first, second] = ['list_files', 'delete_file'].map((tool_type, index) => ({
      ...decisionOf(index === 0 ? 'green' : 'red'),
      forensic_event: { tool_type },
    }));
    expect(worstDecision([first as never, second as never]).forensic_event).toEqual({
      events: [{ tool_type: 'list_files' }, { tool_type: 'delete_file' }],
    });
    expect(worstDecision([first as never]).forensic_event).toEqual({ tool_type: 'list_files' });
  });

  it('gives each call its part of what is read of a request, by size, and a single call all of it', async () => {
    const call = (text: string) => ({ method: 'tools/call', tool: 'read', params: {}, arguments: { text } });
    const shares = async (...texts: string[]): Promise<unknown[]> => {
      const seen: unknown[] = [];
      const input = { tool_type: 'x', agent_history: { last_tool: null, recent_sequence: [] }, intent_score: 0 };
      const evaluate = ({ request_share }: { request_share?: number | undefined }) => {
        seen.push(request_share);
        return decisionOf('green');
      };
      await judgeSiblings(evaluate, input, texts.map(call), 0);
      return seen;
    };
    expect(await shares('a')).toEqual([undefined]);
    const [small, large] = (await shares('a', 'x'.repeat(93))) as [number, number];
    expect(small + large).toBeCloseTo(1);
    expect(large).toBeGreaterThan(small * 10);
  });

  it('tells the rules of a call in which of its texts an order stands, and nothing of the other calls', async () => {
    const call = { method: 'tools/call', tool: 'note', params: {}, arguments: { note: 'x' } };
    const injected_at = [
      { at: '/arguments/note', call: 1 },
      { at: '/arguments/body', call: 2 },
    ];
    const told = async (calls: number, places: object[]): Promise<unknown[]> => {
      const seen: unknown[] = [];
      const input = {
        tool_type: 'x',
        agent_history: { last_tool: null, recent_sequence: [] },
        intent_score: 0,
        injected_at: places as never,
      };
      const evaluate = (given: PolicyInput) => {
        seen.push(given.injected_at);
        return decisionOf('green');
      };
      await judgeSiblings(
        evaluate,
        input,
        Array.from({ length: calls }, () => call),
        0,
      );
      return seen;
    };
    expect(await told(3, injected_at)).toEqual([[], [{ at: '/arguments/note' }], [{ at: '/arguments/body' }]]);
    expect(await told(1, [{ at: '/arguments/note' }])).toEqual([[{ at: '/arguments/note' }]]);
  });
});
