import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../contracts/ledger.js';
import type { CallStore } from '../domain/call-record/call-store.js';
import type { CallRecord } from '../domain/call-record/record.js';
import { GateError } from '../domain/errors.js';
import { createLedgerActivities } from './ledger.js';

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
  const calls = {
    find: () => Promise.resolve(record),
    request: () => Promise.resolve(null),
    rowsAppended: () => Promise.resolve(),
  } as unknown as CallStore;
  const offered: string[][] = [];
  let undo: () => void = () => undefined;
  let fault: (() => void) | null = null;
  const activities = createLedgerActivities({
    calls,
    ledger: {
      async append(rows: readonly NewLedgerRow[]) {
        offered.push(rows.map((row) => row.method));
        fault?.();
        return [];
      },
    },
    onUndone: (listener) => {
      undo = listener;
    },
  });
  return {
    activities,
    offered,
    id: record.correlation_id,
    undo: () => undo(),
    failWith: (next: (() => void) | null) => {
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
});
