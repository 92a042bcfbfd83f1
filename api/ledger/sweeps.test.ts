import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { readLedgerConfig } from '../../config/ledger.js';
import type { VerifyResult } from '../../contracts/ledger.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../test/support/evidenced-ledger.js';
import type { VacuumPass } from '../../adapters/ledger/vacuum/vacuum.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../../test/support/ledger.js';
import { startLedgerSweeps } from './sweeps.js';
import { eventually } from '../../test/support/waiting.js';

const KEY = '0123456789abcdef'.repeat(4);
const config = (env: Record<string, string> = {}) =>
  readLedgerConfig({ GATE_LEDGER_SIDECAR_KEYS: `k1:${KEY}`, ...env });
const silent = pino({ level: 'silent' });

describe('what the ledger does by itself', () => {
  let place: TestLedgerPlace;
  let ledger: EvidencedLedger;
  beforeEach(async () => {
    place = await ledgerPlace('sqlite');
    ledger = await openEvidencedLedger({
      target: place.target,
      sidecarKeys: place.keys,
      checkpoints: { origin: 'gate.test', privateKey: generateKeyPairSync('ed25519').privateKey, witnesses: [] },
    });
    await ledger.append([testRow(), testRow()]);
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });
  const nextWalk = () => {
    const results: VerifyResult[] = [];
    ledger.observeWalks((result) => results.push(result));
    return async (count: number) => {
      await eventually(`${count} walks`, () => results.length >= count);
      return results.at(-1);
    };
  };

  it('walks the whole chain at the start and signs a checkpoint of what holds', async () => {
    const walked = nextWalk();
    const sweeps = startLedgerSweeps({ ledger, evidence: ledger }, config(), silent);
    expect(await walked(1)).toMatchObject({ valid: true, entries_checked: 2 });
    const signed = () => place.sql('select tree_size from ledger_checkpoints');
    await eventually('a checkpoint', async () => (await signed()).length > 0);
    await sweeps.stop();
    expect(await signed()).toHaveLength(1);
  });

  it('walks again after the interval, all of it: what changed meanwhile is found', async () => {
    const walked = nextWalk();
    const sweeps = startLedgerSweeps(
      { ledger, evidence: ledger },
      config({ GATE_LEDGER_VERIFY_EVERY_SECS: '1' }),
      silent,
    );
    await walked(1);
    await place.unlock();
    await place.sql("update ledger_entries set reasoning = 'x' where seq = 1");
    for (let count = 2; (await walked(count))?.valid; count++);
    await sweeps.stop();
    expect(await walked(1)).toMatchObject({ valid: false, first_invalid_seq: 1 });
  });

  it('stops without waiting for a walk, and does not walk where it is told not to', async () => {
    const never = { ...ledger, verifier: { verify: () => new Promise<VerifyResult>(() => undefined) } };
    await startLedgerSweeps({ ledger: never, evidence: ledger }, config(), silent).stop();
    let walks = 0;
    const counting = { ...ledger, verifier: { verify: () => Promise.resolve({ valid: ++walks > 0 } as VerifyResult) } };
    await startLedgerSweeps(
      { ledger: counting, evidence: ledger },
      config({ GATE_LEDGER_VERIFY_EVERY_SECS: '0' }),
      silent,
    ).stop();
    expect(walks).toBe(0);
  });

  describe('besides', () => {
    const QUIET = { GATE_LEDGER_VERIFY_EVERY_SECS: '0' };
    const calls = () => {
      const made: unknown[] = [];
      const fake = {
        ...ledger,
        retention: {
          ...ledger.retention,
          purgeSidecars: (periods: unknown) => Promise.resolve(made.push(periods)),
        },
        watchdogs: {
          silence: (of: unknown) => Promise.resolve(made.push(of)),
          drift: (of: unknown) => Promise.resolve(made.push(of)),
        },
        vacuum: ({ retentionMs, sinks }: VacuumPass) =>
          Promise.resolve(made.push({ retentionMs, ...(sinks && { sinks }) })),
        anchors: {
          ...ledger.anchors,
          sweep: ({ source }: { source: { source: string } }) => {
            made.push(source.source);
            return Promise.resolve({ anchored: 0, failed: 0 });
          },
        },
        cases: {
          ...ledger.cases,
          notifyAuthority: () => {
            made.push('authority');
            return Promise.resolve({ delivered: 0, failed: 0 });
          },
        },
      };
      return { made, fake };
    };

    it.each([
      ['nothing that nobody asked for', {}, []],
      [
        'reports to the authority, where there is an address',
        { GATE_LEDGER_AUTHORITY_WEBHOOK: 'https://authority.example/' },
        ['authority'],
      ],
      [
        'anchors, where there is an interval and an address',
        { GATE_LEDGER_ANCHOR_INTERVAL_SECS: '60', GATE_LEDGER_ANCHOR_WEBHOOK_URL: 'https://keeper.example/' },
        ['webhook'],
      ],
      ['no anchors without an interval', { GATE_LEDGER_ANCHOR_TSA_URL: 'https://tsa.example/' }, []],
      [
        'purges of one class, the other kept for good',
        { GATE_LEDGER_RETENTION_STANDARD_SECS: '60' },
        [{ standardMs: 60_000, extendedMs: undefined }],
      ],
      [
        'no purge under a legal hold',
        { GATE_LEDGER_RETENTION_STANDARD_SECS: '60', GATE_LEDGER_LEGAL_HOLD: 'true' },
        [],
      ],
      [
        'vacuums where there is a retention',
        { GATE_LEDGER_VACUUM_RETENTION_SECS: '15811200' },
        [{ retentionMs: 15_811_200_000 }],
      ],
      [
        'vacuums what the sinks named have confirmed',
        { GATE_LEDGER_VACUUM_RETENTION_SECS: '15811200', GATE_LEDGER_VACUUM_SINKS: 'splunk,generic' },
        [{ retentionMs: 15_811_200_000, sinks: ['splunk', 'generic'] }],
      ],
      [
        'looks for silence, where there is an interval',
        { GATE_LEDGER_SILENCE_WATCHDOG_INTERVAL_SECS: '60' },
        [{ thresholdHours: 6 }],
      ],
      [
        'looks for drift, where there is an interval',
        { GATE_LEDGER_DRIFT_WATCHDOG_INTERVAL_SECS: '60', GATE_LEDGER_DRIFT_WATCHDOG_RECENT_DAYS: '3' },
        [{ recentDays: 3, baselineDays: 14 }],
      ],
      [
        'no vacuum under a legal hold',
        { GATE_LEDGER_VACUUM_RETENTION_SECS: '15811200', GATE_LEDGER_LEGAL_HOLD: 'true' },
        [],
      ],
    ])('does %s', async (_, env, expected) => {
      const { made, fake } = calls();
      await startLedgerSweeps({ ledger: fake, evidence: fake }, config({ ...QUIET, ...env }), silent).stop();
      expect(made).toEqual(expected);
    });
  });
});
