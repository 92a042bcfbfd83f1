import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { type WholeLedger, openLedger } from '../../../test/support/whole-ledger.js';
import { maskedParams } from '../../../domain/evidence/reports/call-rows.js';

const DAY = 86_400_000;
const START = Date.parse('2026-01-02T03:04:05.006Z');
const id = (name: string) => uuidFromDigest('test', name);

describe.each(STORES)('retention of what lies beside entries, on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  let now: number;
  beforeEach(async () => {
    now = START;
    place = await ledgerPlace(kind);
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  const committed = (name: string, change: Partial<NewLedgerRow> = {}): NewLedgerRow => {
    const payload = `{"name":"${name}"}`;
    return testRow({
      id: id(name),
      correlation_id: name,
      payload_sha256: sha256Hex(payload),
      payload_canonical_json: payload,
      ...change,
    });
  };
  const evaluated = (correlation_id: string, retention_class: string, tenant = 'acme') =>
    testRow({ correlation_id, tenant, event_kind: 'policy.evaluated', policy_decision: { retention_class } });
  const kept = async (...names: string[]) => {
    const found: string[] = [];
    for (const name of names) if ((await ledger.sidecar(id(name)))?.text) found.push(name);
    return found;
  };

  it('purges each class when its time has come, and leaves the chain valid', async () => {
    await ledger.append([committed('s'), evaluated('s', 'standard')]);
    await ledger.append([committed('x'), evaluated('x', 'extended')]);
    const periods = { standardMs: 10 * DAY, extendedMs: 20 * DAY };
    now += 10 * DAY;
    expect(await ledger.purgeSidecars(periods)).toBe(0);
    now += 1;
    expect(await ledger.purgeSidecars(periods)).toBe(1);
    expect(await kept('s', 'x')).toEqual(['x']);
    now += 10 * DAY;
    expect(await ledger.purgeSidecars(periods)).toBe(1);
    expect(await ledger.purgeSidecars(periods)).toBe(0);
    expect(await kept('s', 'x')).toEqual([]);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 4, sidecars: { purged: 2 } });
    expect(await ledger.byCorrelation('s')).toHaveLength(2);
  });

  it('takes a row without a class, and one whose class only another tenant was given, for the longer-lived', async () => {
    await ledger.append([committed('none'), committed('theirs'), evaluated('theirs', 'standard', 'other')]);
    await ledger.append([committed('own', { policy_decision: { retention_class: 'standard' } })]);
    now += 30 * DAY;
    expect(await ledger.purgeSidecars({ standardMs: DAY })).toBe(1);
    expect(await kept('none', 'theirs', 'own')).toEqual(['none', 'theirs']);
    expect(await ledger.purgeSidecars({ standardMs: DAY, extendedMs: 29 * DAY })).toBe(2);
  });

  it('takes the longer-lived of two classes, in whatever order and row they were given, as does who asks for it', async () => {
    const own = { policy_decision: { retention_class: 'standard' } };
    await ledger.append([committed('up'), evaluated('up', 'standard'), evaluated('up', 'extended')]);
    await ledger.append([committed('down'), evaluated('down', 'extended'), evaluated('down', 'standard')]);
    await ledger.append([committed('both', own), evaluated('both', 'extended')]);
    now += 30 * DAY;
    expect(await ledger.purgeSidecars({ standardMs: DAY })).toBe(0);
    expect(await kept('up', 'down', 'both')).toEqual(['up', 'down', 'both']);
    for (const name of ['up', 'down', 'both'])
      expect(await maskedParams(ledger, id(name), {})).toMatchObject({ retention_class: 'extended' });
  });

  it('keeps everything where nothing is said', async () => {
    await ledger.append([committed('a'), evaluated('a', 'standard')]);
    now += 9_999 * DAY;
    expect(await ledger.purgeSidecars({})).toBe(0);
    expect(await kept('a')).toEqual(['a']);
  });

  it('goes through more rows than fit into one look', async () => {
    for (let round = 0; round < 3; round++)
      await ledger.append(Array.from({ length: 400 }, (_, index) => committed(`${round}-${index}`)));
    now += DAY;
    expect(await ledger.purgeSidecars({ extendedMs: 1 })).toBe(1_200);
    expect(await ledger.verify()).toMatchObject({ valid: true, sidecars: { purged: 1_200 } });
  });
});
