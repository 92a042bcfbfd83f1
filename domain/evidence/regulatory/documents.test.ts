import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { noFacts } from '../compliance/facts.js';
import { annexIvDocumentation, countNames, emptyInventory, postMarketMonitoringPlan } from './documents.js';

describe('names in the documents of a bundle', () => {
  it('are listed up to a bound, and those beyond it counted together', () => {
    const inventory = emptyInventory();
    for (let row = 0; row < 1_500; row++)
      countNames(inventory, {
        event_kind: 'proxy.verdict',
        agent_id: `agent-${row}`,
        tool_name: row % 2 === 0 ? 'constructor' : 'read_file',
        policy_decision: null,
      } as unknown as LedgerEntry);
    const window = { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' };
    const input = { tenant: 'acme', window, generatedAt: window.to, facts: noFacts(), inventory };
    expect(annexIvDocumentation(input)).toMatchObject({
      points: expect.arrayContaining([
        expect.objectContaining({
          agents: { names: expect.objectContaining({ 'agent-999': 1, '(others)': 500 }), more: true },
          tools: { names: { constructor: 750, read_file: 750 }, more: false },
        }),
      ]),
    });
    expect(postMarketMonitoringPlan(input)).toMatchObject({
      collected: expect.arrayContaining([expect.objectContaining({ what: 'agents in use', names: 1_000 })]),
    });
  });
});
