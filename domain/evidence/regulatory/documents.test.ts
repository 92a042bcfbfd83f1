import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { callRows } from '../../../test/support/ledger-calls.js';
import { decisionOf } from '../../../test/support/judgements.js';
import { countRow, noCounts } from '../compliance/counts.js';
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
    const input = { tenant: 'acme', window, generatedAt: window.to, counts: noCounts(), inventory };
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

describe('documentation after Annex IV, of rows that calls left', () => {
  const window = { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' };
  const documented = (rows: readonly LedgerEntry[]) => {
    const [counts, inventory] = [noCounts(), emptyInventory()];
    for (const row of rows) {
      countRow(counts, row);
      countNames(inventory, row);
    }
    const { points } = annexIvDocumentation({ tenant: 'acme', window, generatedAt: window.to, counts, inventory }) as {
      points: { point: string }[];
    };
    return (point: string) => points.find((one) => one.point === point);
  };
  const rows = [
    ...callRows({ name: 'ran', outcome: 'completed' }),
    ...callRows({ name: 'parked', tier: 'yellow', decided: 'approved', outcome: 'completed' }),
    ...callRows({ name: 'denied', tier: 'red' }),
  ] as unknown as LedgerEntry[];

  it('names the policy bundles in force by version and hash', () => {
    const { version, hash_sha256: hash } = decisionOf('green').policy_bundle;
    expect(documented(rows)('2(b)')).toMatchObject({
      policy_bundles: { names: { [`${version} ${hash}`]: 3 }, more: false },
    });
    const changed = rows.map((row) => ({
      ...row,
      policy_decision: { ...row.policy_decision, policy_bundle: { version, hash_sha256: 'sha256:other' } },
    }));
    expect(documented([...rows, ...changed])('2(b)')).toMatchObject({
      policy_bundles: { names: { [`${version} ${hash}`]: 3, [`${version} sha256:other`]: 3 } },
    });
  });

  it('leaves out calls that no bundle judged', () => {
    const unjudged = rows.map((row) => ({
      ...row,
      policy_decision: { ...row.policy_decision, policy_bundle: null },
    }));
    expect(documented(unjudged)('2(b)')).toMatchObject({ policy_bundles: { names: {}, more: false } });
  });

  it('counts as denied what was denied', () => {
    expect(documented(rows)('3')).toMatchObject({ verdicts: 3, denials: 1 });
  });
});
