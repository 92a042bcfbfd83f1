import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { callRows, type TestCall } from '../../../test/support/ledger-calls.js';
import { countRow, noCounts } from './counts.js';

/** An entry with only the fields that are counted. */
const entry = (fields: Partial<LedgerEntry>): LedgerEntry =>
  ({ seq: 1, policy_decision: null, authorized: false, event_kind: 'proxy.verdict', ...fields }) as LedgerEntry;

describe('what rows say is counted by any text that is in them', () => {
  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('a signal or a provenance named %s', (text) => {
    const counts = noCounts();
    for (let row = 0; row < 2; row++) {
      countRow(counts, entry({ signal: text }));
      countRow(counts, entry({ event_kind: 'hil.approved', policy_decision: { approver_provenance: text } }));
    }
    for (const each of [counts.signals.byKey(), counts.provenance.byKey()]) {
      expect(Object.entries(each)).toEqual([[text, 2]]);
      expect(JSON.stringify(each)).toBe(`{${JSON.stringify(text)}:2}`);
    }
  });

  it('more texts than fit are counted together', () => {
    const counts = noCounts();
    for (let row = 0; row < 6_000; row++) countRow(counts, entry({ signal: `signal-${row}` }));
    expect(counts.signals.size()).toBe(5_000);
    expect(counts.signals.byKey()).toMatchObject({ 'signal-0': 1, 'signal-4999': 1, '(others)': 1_000 });
    expect(counts.signals.others()).toBe(1_000);
    expect(counts.denySignals.count).toBe(6_000);
  });
});

/** The entries that the pipeline itself writes about these calls, in chain order. */
const entriesOf = (...calls: readonly Omit<TestCall, 'name'>[]): LedgerEntry[] =>
  calls
    .flatMap((call, index) => callRows({ name: `call ${index}`, ...call }))
    .map((row, index) => ({ ...row, seq: index + 1 }) as unknown as LedgerEntry);

function factsOf(...calls: readonly Omit<TestCall, 'name'>[]) {
  const counts = noCounts();
  const rows = entriesOf(...calls);
  for (const row of rows) countRow(counts, row);
  const kindsAt = (seqs: readonly number[]) => seqs.map((seq) => rows[seq - 1]?.event_kind);
  return { counts, kindsAt };
}

const REFUSED = { tier: 'yellow', decided: 'denied' } as const;

describe('a call counts as denied by what became of it', () => {
  it.each<[string, Omit<TestCall, 'name'>, string[]]>([
    ['refused', { tier: 'red' }, ['proxy.verdict']],
    ['allowed and executed', { outcome: 'completed' }, []],
    ['still waiting for a person', { tier: 'yellow' }, []],
    ['parked, approved and executed', { tier: 'yellow', decided: 'approved', outcome: 'completed' }, []],
    ['parked and denied by a person', { tier: 'yellow', decided: 'denied' }, ['hil.denied']],
    ['parked and taken back by its agent', { ...REFUSED, decidedBy: 'system:withdrawn-by-agent' }, []],
    ['parked when its tenant left', { ...REFUSED, decidedBy: 'system:tenant-offboard' }, []],
    ['parked until nobody decided', { tier: 'yellow', decided: 'expired' }, []],
    ['executed while observed, which enforcing had denied', { tier: 'red', mode: 'observe', outcome: 'completed' }, []],
    ['executed while observed, which enforcing had parked', { tier: 'yellow', mode: 'observe' }, []],
    ['executed while observed, with an injection', { injected: true, mode: 'observe', outcome: 'completed' }, []],
    ['refused for an injection', { injected: true }, ['proxy.verdict']],
  ])('%s', (_what, call, denials) => {
    const { counts, kindsAt } = factsOf(call);
    expect(counts.verdicts.count).toBe(1);
    expect(counts.denials.count).toBe(denials.length);
    expect(kindsAt(counts.denials.samples)).toEqual(denials);
  });

  it('and what people decided without a call is neither a denial nor oversight', () => {
    const rehearsal = { tier: 'yellow', contract: 'gate.review/v1' } as const;
    const { counts, kindsAt } = factsOf(
      { ...rehearsal, decided: 'approved' },
      { ...rehearsal, decided: 'denied' },
      { tier: 'yellow', decided: 'denied' },
    );
    const decided = counts.humanDecisions.count + counts.otherDecisions.count;
    expect([decided, counts.denials.count, Object.keys(counts.provenance.byKey())]).toEqual([1, 1, ['system']]);
    expect(kindsAt(counts.denials.samples)).toEqual(['hil.denied']);
  });

  it('a parked call with a signal is no denial with a signal, and a refused one is', () => {
    const counts = noCounts();
    for (const row of entriesOf({ tier: 'yellow' }, { tier: 'red', mode: 'observe' }, { tier: 'red' }))
      countRow(counts, { ...row, ...(row.event_kind === 'proxy.verdict' && { signal: 'scope_tool' }), signature: 's' });
    expect(counts).toMatchObject({ denials: { count: 1 }, signedDenials: { count: 1 }, denySignals: { count: 1 } });
    expect(counts.signals.byKey()).toEqual({ scope_tool: 1 });
  });
});
