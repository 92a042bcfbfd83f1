import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import { batchRequest } from '../../../test/support/batch-request.js';
import { leavesIn } from './arguments.js';

const replaceable = (row: { readonly method: string; readonly request_payload: JsonObject }): string[] =>
  leavesIn(row).flatMap(({ path, replaceable: may }) => (may ? [path.join('.')] : []));

describe('what an approver may change of a batch', () => {
  it.each(['bare', 'sdk'] as const)(
    'is the arguments of its calls, and nothing that says which calls they are: %s',
    (shape) => {
      const request_payload = batchRequest(
        [
          { id: 'a', name: 'pay', arguments: { amount: 5, to: ['x'], note: { text: 'hi' } } },
          { id: 'b', name: 'tell', arguments: {} },
        ],
        shape,
      );
      expect(replaceable({ method: 'gate/tools.batch', request_payload })).toEqual([
        'calls.0.arguments.amount',
        'calls.0.arguments.note.text',
      ]);
    },
  );

  it('is of any other call what no list leads to', () => {
    const request_payload = { method: 'tools/call', params: { name: 'pay', arguments: { amount: 5, to: ['x'] } } };
    expect(replaceable({ method: 'tools/call', request_payload })).toEqual(['amount']);
  });
});
