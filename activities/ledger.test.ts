import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../contracts/ledger.js';
import type { CallRecord } from '../domain/call/record.js';
import { ledgerRowId } from '../domain/call/rows.js';
import { GateError } from '../domain/errors.js';
import { createLedgerActivities } from './ledger.js';
import type { CallStore } from '../domain/call/ports.js';

const OUTCOME = {
  stage: 'completed',
  status_code: 200,
  duration_ms: 1,
  result_sha256: 'b'.repeat(64),
  error: null,
  at: '2026-11-18T10:00:00.000Z',
} as const;

/** One call, its record as it stands, and what the ledger was offered. */
function scene() {
  let record = {
    correlation_id: randomUUID(),
    state: 'intended',
    updated_ms: 1,
    evidence: { call: { agent: 'bot', tenant: 'acme', tool: 'read_file' }, verdict: null },
    decision: null,
    outcome: OUTCOME,
  } as unknown as CallRecord;
  let lost = false;
  const calls = {
    find() {
      if (!lost) return Promise.resolve(record);
      lost = false;
      return Promise.reject(new Error('the record cannot be read'));
    },
    request: () => Promise.resolve(null),
    rowsAppended: () => Promise.resolve(void (due = false)),
  } as unknown as CallStore;
  const offered: string[][] = [];
  let undo: () => void = () => undefined;
  let fault: ((rows: readonly NewLedgerRow[]) => void) | null = null;
  const alarms: string[] = [];
  let due = true;
  const taken: NewLedgerRow[] = [];
  const activities = createLedgerActivities({
    calls,
    ledger: {
      async append(rows: readonly NewLedgerRow[]) {
        offered.push(rows.map((row) => row.method));
        fault?.(rows);
        taken.push(...rows);
        return [];
      },
    },
    onAlarm: (_id, reason, kind) => alarms.push(`${kind}: ${reason}`),
    onUndone: (listener) => {
      undo = listener;
    },
  });
  return {
    activities,
    offered,
    alarms,
    taken,
    due: () => due,
    id: record.correlation_id,
    loseTheRecordOnce: () => {
      lost = true;
    },
    undo: () => undo(),
    failWith: (next: ((rows: readonly NewLedgerRow[]) => void) | null) => {
      fault = next;
    },
    decide: () => {
      record = { ...record, decision: { status: 'approved', principal: null, reason: null } as never };
    },
  };
}

describe('appending the rows of a call', () => {
  it('offers a row the ledger has confirmed no second time', async () => {
    const { activities, offered, id, decide } = scene();
    await activities.appendRows(id);
    decide();
    expect(await activities.tryAppendRows(id)).toBe(true);
    expect(await activities.tryAppendRows(id)).toBe(true);
    expect(offered).toEqual([['upstream.outcome'], ['hil.approved']]);
  });

  it('leaves a ledger that failed alone for a while, and no other: a call that cannot be read is not its fault', async () => {
    const { activities, offered, id, failWith, loseTheRecordOnce, decide } = scene();
    loseTheRecordOnce();
    expect(await activities.tryAppendRows(id)).toBe(false);
    expect(await activities.tryAppendRows(id)).toBe(true);
    decide();
    failWith(() => {
      throw new GateError('store_unavailable');
    });
    expect(await activities.tryAppendRows(id)).toBe(false);
    failWith(null);
    expect(await activities.tryAppendRows(id)).toBe(false);
    expect(offered).toHaveLength(2);
  });

  it('offers rows again that the ledger did not confirm', async () => {
    const { activities, offered, id, failWith } = scene();
    failWith(() => {
      throw new GateError('store_unavailable');
    });
    await expect(activities.appendRows(id)).rejects.toThrow();
    failWith(null);
    await activities.appendRows(id);
    expect(offered).toEqual([['upstream.outcome'], ['upstream.outcome']]);
  });

  it('offers rows again that the ledger took and undid, also while it was taking them', async () => {
    const { activities, offered, id, undo, failWith } = scene();
    await activities.appendRows(id);
    undo();
    failWith(undo);
    await expect(activities.appendRows(id)).rejects.toThrow('undid');
    failWith(null);
    await activities.appendRows(id);
    expect(offered).toHaveLength(3);
  });

  const refuse =
    (code: 'invalid_log_request' | 'ledger_entry_conflict', kind: string) => (rows: readonly NewLedgerRow[]) => {
      if (rows.some(({ method }) => method === kind)) throw new GateError(code, `${kind} cannot be taken`);
    };

  it('puts an alarm row in the place of a row the ledger refuses for good, takes the others, and owes nothing more', async () => {
    const { activities, id, decide, failWith, taken, alarms, due, offered } = scene();
    decide();
    failWith(refuse('invalid_log_request', 'hil.approved'));
    await activities.appendRows(id);
    expect(taken.map(({ method }) => method)).toEqual(['alarm.row_refused', 'upstream.outcome']);
    expect(taken[0]).toMatchObject({
      correlation_id: id,
      tenant: 'acme',
      authorized: false,
      reasoning: 'the ledger refused the row hil.approved: hil.approved cannot be taken',
      policy_decision: {
        row_kind: 'hil.approved',
        row_id: ledgerRowId(id, 'hil.approved'),
        code: 'invalid_log_request',
        refused_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    expect(due()).toBe(false);
    expect(alarms).toEqual([
      'alarm.row_refused: the ledger refused the row hil.approved: hil.approved cannot be taken',
    ]);
    // Told once: neither the call itself nor reconciliation offers it again.
    const before = offered.length;
    expect(await activities.tryAppendRows(id)).toBe(true);
    expect(offered).toHaveLength(before);
  });

  it('takes the rows beside one that is known with other content; the ledger itself has raised the alarm', async () => {
    const { activities, id, decide, failWith, taken, alarms, due } = scene();
    decide();
    failWith(refuse('ledger_entry_conflict', 'hil.approved'));
    expect(await activities.tryAppendRows(id)).toBe(true);
    expect(taken.map(({ method }) => method)).toEqual(['upstream.outcome']);
    expect(due()).toBe(false);
    expect(alarms).toHaveLength(1);
  });

  it('ends also where the ledger refuses the alarm row', async () => {
    const { activities, id, failWith, due, alarms } = scene();
    failWith(() => {
      throw new GateError('invalid_log_request', 'no row at all');
    });
    await activities.appendRows(id);
    expect(due()).toBe(false);
    expect(alarms).toHaveLength(1);
  });

  it.each(['unauthorized', 'capability_denied', 'ledger_store_unavailable'] as const)(
    'keeps the rows due while the ledger answers %s: that says nothing about a row, and is tried again',
    async (code) => {
      const { activities, id, failWith, taken, due, alarms } = scene();
      failWith(() => {
        throw new GateError(code);
      });
      await expect(activities.appendRows(id)).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
      expect([due(), alarms]).toEqual([true, []]);
      failWith(null);
      await activities.appendRows(id);
      expect(taken.map(({ method }) => method)).toEqual(['upstream.outcome']);
    },
  );
});
