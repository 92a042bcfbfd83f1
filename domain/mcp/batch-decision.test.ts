import { describe, expect, it } from '@jest/globals';
import { decisionOf } from '../../test/support/pipeline-fixture.js';
import { worstDecision } from './batch.js';

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
});
