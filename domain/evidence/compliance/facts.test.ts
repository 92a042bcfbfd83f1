import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { countFact, noFacts } from './facts.js';

/** As much of an entry as is counted. */
const entry = (fields: Partial<LedgerEntry>): LedgerEntry =>
  ({ seq: 1, policy_decision: null, authorized: false, event_kind: 'proxy.verdict', ...fields }) as LedgerEntry;

describe('what rows say is counted by any text that is in them', () => {
  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('a signal or a provenance named %s', (text) => {
    const facts = noFacts();
    for (let row = 0; row < 2; row++) {
      countFact(facts, entry({ signal: text }));
      countFact(facts, entry({ event_kind: 'hil.approved', policy_decision: { approver_provenance: text } }));
    }
    for (const counts of [facts.signals.byKey(), facts.provenance.byKey()]) {
      expect(Object.entries(counts)).toEqual([[text, 2]]);
      expect(JSON.stringify(counts)).toBe(`{${JSON.stringify(text)}:2}`);
    }
  });

  it('more texts than fit are counted together', () => {
    const facts = noFacts();
    for (let row = 0; row < 6_000; row++) countFact(facts, entry({ signal: `signal-${row}` }));
    expect(facts.signals.size()).toBe(5_000);
    expect(facts.signals.byKey()).toMatchObject({ 'signal-0': 1, 'signal-4999': 1, '(others)': 1_000 });
    expect(facts.signals.others()).toBe(1_000);
    expect(facts.denySignals.count).toBe(6_000);
  });
});
