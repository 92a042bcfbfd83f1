import { describe, expect, it } from '@jest/globals';
import type { ListedTool } from '../../contracts/tools.js';
import { suggestClasses } from './suggest.js';

const listed = (tool: string, change: Partial<ListedTool> = {}): ListedTool => ({
  tool,
  class: null,
  source: 'none',
  suspended: false,
  definition_sha256: 'a'.repeat(64),
  set_by: null,
  set_at: null,
  reason: null,
  rule: null,
  lately: { ran: 6, asked: 0, denied: 0, failed: 0 },
  ...change,
});
const proposed = (tool: ListedTool) => suggestClasses([tool])[0]?.class;

describe('what gate tools suggest proposes', () => {
  it('an ordinary change that ran often; never a read, for a name that plainly reads needs no class', () => {
    for (const name of ['save_draft', 'getRidOfCard', 'fetch_and_tag', 'list_to_archive_later'])
      expect([name, proposed(listed(name))]).not.toEqual([name, 'read']);
    expect(proposed(listed('save_draft'))).toBe('change');
  });

  it('a look at each call of what no list has shown: an agent can call any name, often', () => {
    expect(suggestClasses([listed('launch_rocket', { definition_sha256: null })])).toEqual([
      { tool: 'launch_rocket', class: 'review', why: 'no list of the upstream has shown it' },
    ]);
  });

  it.each<[string, Partial<ListedTool>, string | undefined]>([
    ['refund_order', {}, 'strict'],
    ['save_draft', { lately: { ran: 6, asked: 0, denied: 1, failed: 0 } }, 'review'],
    ['save_draft', { lately: { ran: 6, asked: 0, denied: 0, failed: 1 } }, 'review'],
    ['save_draft', { lately: { ran: 2, asked: 0, denied: 0, failed: 0 } }, 'review'],
    ['save_draft', { lately: { ran: 0, asked: 0, denied: 0, failed: 0 } }, undefined],
    ['delete_branch', { rule: { effect: 'denies', reason: 'Violation: destructive.' } }, undefined],
    ['wire_transfer', { rule: { effect: 'asks', reason: 'Review: wire.' } }, 'strict'],
    ['save_draft', { class: 'change' }, undefined],
    ['save_draft', { class: 'change', suspended: true }, undefined],
  ])('%s with %j: %s', (name, change, expected) => expect(proposed(listed(name, change))).toBe(expected));
});
