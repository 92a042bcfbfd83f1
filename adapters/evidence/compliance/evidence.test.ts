import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { createComplianceEvidence, type EvidenceOptions } from './evidence.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const WINDOW = { from: '2026-01-02T00:00:00.000Z', to: '2026-01-03T00:00:00.000Z' };

describe.each(STORES)('the compliance register on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: EvidencedLedger;
  const register = (verifyAssured: EvidenceOptions['assurance']['verifyAssured']) =>
    createComplianceEvidence({
      reader: ledger,
      assurance: { verifyAssured },
      head: ledger.head,
      coldExports: () => Promise.resolve(0),
      goneFrom: () => Promise.resolve(null),
      clock: () => AT,
    })(WINDOW);

  beforeEach(async () => {
    place = await ledgerPlace(kind);
    ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => AT });
    await ledger.append([testRow(), testRow()]);
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  it('counts no row that was appended behind the end of its walk', async () => {
    const { row_count, chain_verify } = await register(async () => {
      const walk = await ledger.verifyAssured();
      await ledger.append([testRow()]);
      return walk;
    });
    expect([row_count, chain_verify.entries_checked]).toEqual([2, 2]);
  });

  it('walks once more where the walk was begun before its last row', async () => {
    const earlier = await ledger.verifyAssured();
    await ledger.append([testRow()]);
    const walks = [earlier];
    const { row_count, chain_verify } = await register(async () => walks.pop() ?? ledger.verifyAssured());
    expect([row_count, chain_verify.entries_checked]).toEqual([3, 3]);
  });

  it('counts what there was when it was asked for where the chain does not hold', async () => {
    await place.unlock();
    await place.sql('update ledger_entries set authorized = 0 where seq = 2');
    const { row_count, chain_verify } = await register(async () => {
      const walk = await ledger.verifyAssured();
      await ledger.append([testRow()]);
      return walk;
    });
    expect(row_count).toBe(2);
    expect(chain_verify).toMatchObject({ valid: false, entries_checked: 1, first_invalid_seq: 2 });
  });
});
