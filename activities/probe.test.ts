import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { answerOf } from '../api/proxy/answers.js';
import type { CallInput } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import { judgeCall } from '../domain/call/pipeline.js';
import type { UpstreamOutcome } from '../domain/upstream/upstream.js';
import { parseProbes } from '../domain/probes/probes.js';
import { uncertainCalls } from '../domain/probes/uncertain-calls.js';
import { copyOfStore } from '../test/support/put-back.js';
import { fixtureFolder, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createActivities } from '../workers/activities.js';

const PROBE = 'get_order_status';
const probes = parseProbes(
  JSON.stringify({
    contract: 'gate.probes/v1',
    probes: {
      read_file: {
        tool: PROBE,
        arguments: { reference: { from: '/arguments/reference' } },
        completed: { at: '/json/status', is: ['booked'] },
        not_run: { at: '/json/gone', is: [true] },
        attempts: 3,
      },
      by_url: {
        url: 'https://bank.example/orders',
        query: { ref: { from: '/arguments/reference' } },
        completed: { at: '/status', is: [200] },
        not_run: { at: '/status', is: [404] },
        not_run_after_secs: 0,
      },
    },
  }),
);

let now: number;
/** What the clock of the store says, where that is another one. */
let storeMs: (() => number) | null;
const clock = { now: () => now, sleep: () => new Promise<void>(() => undefined) };
let folder: string;
let gate: PipelineFixture;
/** What the probe answers. */
let says: (request: JsonObject) => UpstreamOutcome;
let held: string;
let mayCall: boolean;
let address: (url: string) => { status: number; text: string };
const reply = (json: unknown): UpstreamOutcome => ({
  kind: 'reply',
  statusCode: 200,
  failed: false,
  text: JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: JSON.stringify(json) }] } }),
});
const open = async () => {
  gate = await openPipeline({
    folder,
    clock,
    storeClockMs: () => storeMs?.() ?? null,
    probes: { of: probes, askUrl: async (url) => address(url) },
    compose: (ports) =>
      createActivities({
        ...ports,
        mayCall: () => mayCall,
        quarantine: { held: async (_caller, tools) => (tools.includes(held) ? 'the tool is in quarantine' : null) },
      }),
    script: {
      upstream: async (request) =>
        (request['params'] as JsonObject)['name'] === PROBE
          ? says(request)
          : { kind: 'unknown', cause: 'invalid_answer', reason: 'it hung up' },
    },
  });
};
beforeEach(async () => {
  now = Date.parse('2026-03-02T10:00:00Z');
  storeMs = null;
  folder = await fixtureFolder();
  says = () => reply({ status: 'open' });
  address = () => ({ status: 500, text: '' });
  held = '';
  mayCall = true;
  await open();
});
afterEach(async () => {
  await gate.close();
  await rm(folder, { recursive: true, force: true });
});

/** A call whose answer was lost, without a host that looks after it by itself. */
async function lost(given: Parameters<PipelineFixture['call']>[0] = {}): Promise<CallInput> {
  const call = await gate.call({ arguments: { reference: 'r-1' }, ...given });
  const judged = await judgeCall(call, { ...gate.activities, now: clock.now });
  if (judged.state === 'allowed') await gate.activities.callUpstream(call, now + 5_000);
  await gate.activities.appendRows(call.correlation_id);
  return call;
}
const known = <Value>(value: Value | null): Value => {
  if (value === null) throw new Error('no record');
  return value;
};
const record = async ({ correlation_id: id }: CallInput) => known(await gate.calls.find(id));
/** The next look, at its time. */
async function look({ correlation_id: id }: CallInput) {
  const first = await gate.activities.probeCall(id);
  if (first.wait_ms === null) return first;
  const looks = async () => (await gate.calls.find(id))?.outcome?.probes?.length ?? 0;
  const before = await looks();
  now += first.wait_ms;
  const second = await gate.activities.probeCall(id);
  expect(await looks()).toBeGreaterThanOrEqual(before);
  return second;
}
const rowsOf = async (call: CallInput) => {
  await gate.activities.appendRows(call.correlation_id);
  return (await gate.rows(call.correlation_id))
    .filter(({ event_kind: kind }) => kind === 'upstream.outcome')
    .map(({ policy_decision: said, authorized }): JsonObject => ({ ...said, authorized }));
};
const ranTool = () => gate.executed.filter(({ params }) => (params as JsonObject)['name'] !== PROBE).length;

describe('a call whose answer was lost', () => {
  it('is looked after once its first pause is over, and again after a longer one', async () => {
    const call = await lost();
    expect(await record(call)).toMatchObject({ state: 'uncertain', evidence: { probed: true } });
    expect(await gate.activities.probeCall(call.correlation_id)).toEqual({ state: 'uncertain', wait_ms: 1_000 });
    now += 1_000;
    expect(await gate.activities.probeCall(call.correlation_id)).toEqual({ state: 'uncertain', wait_ms: 2_000 });
    // Asked again too early, as after a crash: the look that is stored is not repeated.
    now += 500;
    expect(await gate.activities.probeCall(call.correlation_id)).toEqual({ state: 'uncertain', wait_ms: 1_500 });
    expect((await record(call)).outcome?.probes).toHaveLength(1);
    expect(await gate.calls.followUpsDue('probe', now + 1, 10)).toHaveLength(1);
  });

  it('is completed where the probe finds the effect: with an answer of Gate’s own, and never run again', async () => {
    const call = await lost();
    says = ({ params }) => {
      expect(params).toEqual({ name: PROBE, arguments: { reference: 'r-1' } });
      return reply({ status: 'booked' });
    };
    expect(await look(call)).toEqual({ state: 'completed', wait_ms: null });
    const after = await record(call);
    expect(after).toMatchObject({
      state: 'completed',
      outcome: { reconciled: { by: 'probe', decided_by: PROBE }, lost: { stage: 'uncertain' } },
    });
    const told = known(answerOf(after, await gate.calls.result(call.correlation_id), true));
    expect(told).toMatchObject({ status: 200, headers: { 'X-Gate-Server-Execution-Replayed': 'true' } });
    expect(told.headers).not.toHaveProperty('X-Gate-Server-Execution-Receipt-Sha256');
    expect(JSON.parse((told.body as Buffer).toString())).toMatchObject({
      id: 1,
      result: { isError: false, _meta: { 'gate/reconciled': { stage: 'completed', by: 'probe' } } },
    });
    expect(ranTool()).toBe(1);
    // It counts as a step of its agent from now on.
    expect((await gate.calls.history('acme', 'support-bot', 0)).last_tool).toBe('read_file');
    expect(await rowsOf(call)).toMatchObject([
      { stage: 'uncertain', authorized: false },
      { stage: 'probed', said: 'completed', probe: PROBE, look: 1, last: true, authorized: false },
      { stage: 'completed', reconciled: 'probe', decided_by: PROBE, authorized: true },
    ]);
    // The rows of before are the same rows.
    await gate.activities.appendRows(call.correlation_id);
    expect(await gate.ledger.verify()).toMatchObject({ valid: true, entries_checked: 6 });
    expect(await gate.calls.followUpsDue('probe', now + 1, 10)).toEqual([]);
  });

  it('did not run where the probe says so, once an effect would have come', async () => {
    const call = await lost();
    says = () => reply({ gone: true });
    expect(await look(call)).toMatchObject({ state: 'uncertain' });
    expect((await record(call)).outcome?.probes).toMatchObject([{ said: 'not_run_too_early' }]);
    now += 60_000;
    expect(await look(call)).toEqual({ state: 'not_run', wait_ms: null });
    const after = await record(call);
    expect(answerOf(after, null, true)).toMatchObject({ status: 409, body: { error: 'reconciled_not_run' } });
    expect((await rowsOf(call)).at(-1)).toMatchObject({ stage: 'not_run', reconciled: 'probe', authorized: false });
    // Nothing leads from there to an attempt.
    expect((await gate.calls.move(call.correlation_id, 'claim')).applied).toBe(false);
    expect(ranTool()).toBe(1);
  });

  it('is not said to have not run by a clock of the worker that is ahead of that of the store', async () => {
    let aheadMs = 0;
    storeMs = () => now - aheadMs;
    const call = await lost();
    says = () => reply({ gone: true });
    const looked = () => gate.activities.probeCall(call.correlation_id);
    for (aheadMs of [50_000, 3_600_000]) {
      now += aheadMs + 10_000;
      expect(await looked()).toMatchObject({ state: 'uncertain' });
    }
    expect((await record(call)).outcome?.probes?.map(({ said }) => said)).toEqual([
      'not_run_too_early',
      'not_run_too_early',
    ]);
    aheadMs = 0;
    now += 10_000;
    expect(await looked()).toEqual({ state: 'not_run', wait_ms: null });
  });

  it.each([
    ['is down', () => ({ kind: 'not_sent', reason: 'refused' }), 'unreachable'],
    ['hangs up', () => ({ kind: 'unknown', cause: 'timeout', reason: 'no answer' }), 'unreachable'],
    ['answers with an error', () => ({ ...reply({ status: 'booked' }), failed: true }), 'invalid'],
    ['answers garbage', () => ({ kind: 'reply', statusCode: 200, text: 'garbage', failed: false }), 'invalid'],
    ['says nothing', () => reply({ status: 'open' }), 'nothing'],
  ] as const)('stays uncertain for a person, with the evidence, where the probe %s', async (_what, answer, said) => {
    const call = await lost();
    says = answer as typeof says;
    for (let looks = 1; looks < 3; looks += 1)
      expect(await look(call)).toMatchObject({ state: 'uncertain', wait_ms: expect.any(Number) });
    expect(await look(call)).toEqual({ state: 'uncertain', wait_ms: null });
    expect((await record(call)).outcome?.probes?.map((step) => [step.said, step.last])).toEqual([
      [said, false],
      [said, false],
      [said, true],
    ]);
    expect(await look(call)).toEqual({ state: 'uncertain', wait_ms: null });
    expect((await rowsOf(call)).map(({ stage }) => stage)).toEqual(['uncertain', 'probed', 'probed', 'probed']);
    expect(await gate.calls.followUpsDue('probe', now + 1, 10)).toEqual([]);
  });

  it('is left to a person at once where the probe says both', async () => {
    const call = await lost();
    says = () => reply({ status: 'booked', gone: true });
    expect(await look(call)).toEqual({ state: 'uncertain', wait_ms: null });
    expect((await record(call)).outcome?.probes).toMatchObject([{ said: 'both', last: true }]);
  });

  it.each(['yellow', 'red'] as const)(
    'is not probed against the rules of now, which make the probe %s',
    async (tier) => {
      const call = await lost();
      Object.assign(gate.script, { tier, quotes: 'for ann@acme.example' });
      says = () => reply({ status: 'booked' });
      await look(call);
      expect((await record(call)).outcome?.probes).toMatchObject([
        { said: 'refused', detail: expect.stringContaining('for [EMAIL]') as never, answer_sha256: null },
      ]);
      expect(gate.executed).toHaveLength(1);
    },
  );

  it.each([
    ['whose definition is in quarantine', () => (held = PROBE), 'the tool is in quarantine'],
    ['where its agent may not call any more', () => (mayCall = false), 'not among those that may call'],
  ])('is not probed by a tool %s', async (_why, change, detail) => {
    const call = await lost();
    change();
    says = () => reply({ status: 'booked' });
    await look(call);
    expect((await record(call)).outcome?.probes).toMatchObject([
      { said: 'refused', detail: expect.stringContaining(detail), answer_sha256: null },
    ]);
    expect(gate.executed).toHaveLength(1);
  });

  it('is not probed where policy does not answer', async () => {
    const call = await lost();
    gate.script.policy = 'down';
    await look(call);
    expect((await record(call)).outcome?.probes).toMatchObject([{ said: 'unreachable', detail: 'policy is away' }]);
    expect(gate.executed).toHaveLength(1);
  });

  it.each([
    ['holds nothing that the probe is asked with', { arguments: { path: 'a.txt' } }],
    ['is of a tool without a probe', { tool: 'write_file' }],
  ])('waits for a person where it %s', async (_what, given) => {
    const call = await lost(given);
    expect(await look(call)).toEqual({ state: 'uncertain', wait_ms: null });
    expect((await record(call)).outcome?.probes).toBeUndefined();
    expect((await record(call)).evidence.probed).toBe(call.tool === 'read_file' ? true : undefined);
  });

  it('is asked for at an address, where not found is an answer', async () => {
    const call = await lost({ tool: 'by_url' });
    address = (url) => {
      expect(url).toBe('https://bank.example/orders?ref=r-1');
      return { status: 404, text: '' };
    };
    expect(await look(call)).toEqual({ state: 'not_run', wait_ms: null });
    expect((await rowsOf(call))[1]).toMatchObject({ probe: 'https://bank.example/orders', said: 'not_run' });
  });
});

describe('evidence', () => {
  it('is what every way out of uncertainty needs', async () => {
    const { correlation_id: id } = await lost();
    for (const move of ['found', 'ruled_out', 'probe'] as const)
      expect(await gate.calls.move(id, move)).toMatchObject({ applied: false, record: { state: 'uncertain' } });
    const step = {
      at: new Date(now).toISOString(),
      probe: PROBE,
      said: 'completed',
      detail: null,
      asked_sha256: null,
      answer_sha256: null,
      last: true,
    } as const;
    expect(await gate.calls.move(id, 'found', { reconciliation: { step } })).toMatchObject({ applied: false });
  });

  it('that was put back from an older store does not count twice: the ledger has the end', async () => {
    const call = await lost();
    const copy = await copyOfNow();
    says = () => reply({ status: 'booked' });
    await look(call);
    await rowsOf(call);
    await gate.close();
    copy.putBack();
    await open();
    expect(await record(call)).toMatchObject({
      state: 'tampered',
      outcome: { error: expect.stringContaining('an older record was put back') },
    });
  });
});

/** A copy of the calls as they are now; the store is closed for it. */
const copyOfNow = async () => {
  await gate.close();
  const copy = copyOfStore(folder, 'calls.db');
  await open();
  return copy;
};

describe('a person', () => {
  const people = () =>
    uncertainCalls({ calls: gate.calls, appendRows: (id) => gate.activities.tryAppendRows(id), now: clock.now });
  const ada = { tenant: 'acme', subject: 'operator:ada' };

  it('sees what is uncertain in the own tenant, with what a probe saw', async () => {
    const call = await lost();
    await lost({ tenant: 'globex' });
    says = () => ({ kind: 'not_sent', reason: 'refused' });
    await look(call);
    expect(await people().list('acme')).toMatchObject({
      more: false,
      calls: [{ correlation_id: call.correlation_id, tool: 'read_file', looks: 1, waits_for: 'probe' }],
    });
    expect(await people().show('acme', call.correlation_id)).toMatchObject({
      state: 'uncertain',
      arguments: { reference: 'r-1' },
      evidence: [{ said: 'unreachable', detail: 'refused' }],
      settled: null,
    });
    await expect(people().show('globex', call.correlation_id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each([
    ['completed', 'completed', 200],
    ['not_run', 'not_run', 409],
  ] as const)('settles it as %s, with a reason and a row; it runs nothing', async (outcome, state, status) => {
    const call = await lost();
    const settled = await people().settle(ada, call.correlation_id, { outcome, reason: 'the bank said so by phone' });
    expect(settled).toMatchObject({
      state,
      waits_for: 'nothing',
      settled: { by: 'person', decided_by: 'operator:ada' },
    });
    const after = await record(call);
    expect(answerOf(after, await gate.calls.result(call.correlation_id), true)?.status).toBe(status);
    expect((await rowsOf(call)).at(-1)).toMatchObject({
      stage: outcome,
      reconciled: 'person',
      decided_by: 'operator:ada',
      decision_reason: 'the bank said so by phone',
    });
    expect(ranTool()).toBe(1);
    // The probe finds that it is over.
    expect(await gate.activities.probeCall(call.correlation_id)).toEqual({ state, wait_ms: null });
    await expect(people().settle(ada, call.correlation_id, { outcome: 'not_run', reason: 'no' })).rejects.toMatchObject(
      { code: 'not_uncertain', fields: { state } },
    );
  });

  it('settles nothing of another tenant, and nothing that was never uncertain', async () => {
    const call = await lost();
    const said = { outcome: 'completed', reason: 'x' } as const;
    await expect(people().settle({ ...ada, tenant: 'globex' }, call.correlation_id, said)).rejects.toMatchObject({
      code: 'not_found',
    });
    gate.script.tier = 'red';
    const denied = await lost();
    await expect(people().settle(ada, denied.correlation_id, said)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('and a probe that end it at once: one of them does', async () => {
    const call = await lost();
    now += 1_000;
    says = () => reply({ status: 'booked' });
    const [probed, said] = await Promise.allSettled([
      gate.activities.probeCall(call.correlation_id),
      people().settle(ada, call.correlation_id, { outcome: 'not_run', reason: 'no trace of it' }),
    ]);
    expect(probed.status).toBe('fulfilled');
    const { state } = await record(call);
    expect(state).toBe(said.status === 'fulfilled' ? 'not_run' : 'completed');
    expect((await rowsOf(call)).filter((row) => 'reconciled' in row)).toHaveLength(1);
  });
});
