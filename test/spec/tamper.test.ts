import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import type { AgentClient } from '../support/agent.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';

let stateDir: string;
let gate: TestStack;
let bot: AgentClient;
const start = async (env: Readonly<Record<string, string>> = {}) => {
  gate = await startStack({ stateDir, env });
  bot = await gate.agent('support-bot');
};
beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'gate-tamper-'));
  await start();
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await gate?.stop();
  await rm(stateDir, { recursive: true, force: true });
});

const transfer = { from: 'operating', to: 'vendor', amount: 7 };
const sql = (text: string, ...values: string[]) => {
  const connection = new DatabaseSync(join(stateDir, 'data', 'calls.db'));
  try {
    connection.exec('pragma busy_timeout=5000');
    return connection.prepare(text).all(...values);
  } finally {
    connection.close();
  }
};
const vendorHolds = async () => (await gate.tools()).balances.vendor ?? 0;

/** Two calls that wait, which somebody edits, and one that nobody does. */
async function parkedCalls() {
  const [executed, decision, other] = [randomUUID(), randomUUID(), randomUUID()];
  const parked = await bot.call('wire_transfer', transfer, { idempotencyId: executed });
  const asked = await bot.call('wire_transfer', transfer, { idempotencyId: decision, contract: 'decision' });
  const good = await bot.call('wire_transfer', { ...transfer, amount: 8 }, { idempotencyId: other });
  const edit = () =>
    [parked, asked].forEach(({ correlationId }) =>
      sql("update call_records set state = 'approved' where correlation_id = ?", correlationId),
    );
  return { executed, parked, asked, good, edit, before: await vendorHolds() };
}

async function runsNothing({ executed, parked, asked, good, before }: Awaited<ReturnType<typeof parkedCalls>>) {
  const refused = { status: 409, body: { error: 'call_tampered' } };
  expect(await bot.call('wire_transfer', transfer, { idempotencyId: executed })).toMatchObject(refused);
  expect(await bot.request('GET', `/authorizations/${asked.correlationId}`)).toMatchObject(refused);
  const kinds = await gate.rows(parked.correlationId, (seen) => seen.includes('alarm.record_tampered'));
  expect(kinds.map(({ event_kind }) => event_kind)).not.toContain('upstream.outcome');
  expect(await gate.operator.decide(parked.correlationId, 'approve')).toMatchObject({
    status: 409,
    body: { error: 'call_tampered' },
  });
  expect(await vendorHolds()).toBe(before);
  expect((await gate.operator.decide(good.correlationId, 'approve')).status).toBe(200);
  await gate.rows(good.correlationId, (seen) => seen.includes('upstream.outcome'));
  expect(await vendorHolds()).toBe(before + 800);
}

/** Calls that were approved and have ended, each with its row from before that. */
async function endedCalls() {
  const ended = [];
  for (const idempotencyId of [randomUUID(), randomUUID()]) {
    const { correlationId } = await bot.call('wire_transfer', transfer, { idempotencyId });
    const [older] = sql('select * from call_records where correlation_id = ?', correlationId);
    expect((await gate.operator.decide(correlationId, 'approve')).status).toBe(200);
    await gate.rows(correlationId, (seen) => seen.includes('upstream.outcome'));
    ended.push({ idempotencyId, correlationId, older: older as Record<string, string> });
  }
  return ended;
}

describe("update call_records set state = 'approved' in the full stack, while it runs", () => {
  it('runs nothing, signs nothing, and is told in the ledger; the other calls go on', async () => {
    const calls = await parkedCalls();
    calls.edit();
    await runsNothing(calls);
  }, 120_000);
});

// One restart for both: it takes most of the time.
describe("update call_records set state = 'approved' in the full stack, before a restart", () => {
  let put: Awaited<ReturnType<typeof endedCalls>>;
  let calls: Awaited<ReturnType<typeof parkedCalls>>;
  let askedAgain: Awaited<ReturnType<typeof bot.call>>;
  beforeAll(async () => {
    put = await endedCalls();
    calls = await parkedCalls();
    await gate.stop();
    calls.edit();
    for (const { correlationId, older } of put) {
      const set = Object.keys(older).map((column) => `${column} = ?`);
      sql(`update call_records set ${set.join(', ')} where correlation_id = ?`, ...Object.values(older), correlationId);
    }
    await start({ GATE_RECONCILE_EVERY_SECS: '1', GATE_RECONCILE_GRACE_SECS: '1' });
    // The first is asked for by its agent at once, the second is found by the schedule alone.
    askedAgain = await bot.call('wire_transfer', transfer, { idempotencyId: put[0]?.idempotencyId as string });
  }, STACK_START_LIMIT_MS);

  it('an older row of an ended call, put back before a restart, is told as tampered, whoever looks first: reconciliation does not close it as aborted', async () => {
    expect(askedAgain).toMatchObject({ status: 409, body: { error: 'call_tampered' } });
    for (const { correlationId } of put) {
      const rows = await gate.rows(correlationId, (seen) => seen.includes('alarm.record_tampered'));
      const kinds = rows.map((row) => row.event_kind);
      expect(kinds.filter((kind) => kind === 'alarm.record_tampered')).toHaveLength(1);
      expect(kinds).not.toContain('call.aborted');
      expect(kinds).not.toContain('alarm.reconciled');
    }
    expect(await vendorHolds()).toBe(calls.before);
  }, 120_000);

  it(
    'runs nothing, signs nothing, and is told in the ledger; the other calls go on',
    () => runsNothing(calls),
    120_000,
  );
});
